import type { AgentPolicy, DeviceInfo, Payment } from "../decode.ts";

/** A value, and the ledger it is true of. */
export interface AsOf<T> {
  ledger: number;
  value: T;
}

/** Everything about one card. */
export interface Card {
  /** Undefined: the device registry does not know it. */
  device: DeviceInfo | undefined;
  /** Undefined: no agent is registered for it. */
  policy: AgentPolicy | undefined;
  /** The content of its escrow. */
  balance: bigint;
}

/** A wallet's devices in the registry's order: how many there are, and the first of them. */
export interface WalletDevices {
  count: number;
  devices: string[];
}

/** The payments that a merchant can claim. */
export interface Pending {
  total: bigint;
  /** A payment counted here lives in this ledger and in no later one: another reader may already miss it. */
  ending: boolean;
  /** In the order in which they were authorised; undefined where the functions are asked, which tell the sum only. */
  payments?: PendingPayment[];
}

/** A payment that a merchant has not claimed. */
export interface PendingPayment extends Payment {
  /** The last ledger it lives in; undefined when the node does not say. */
  liveUntilLedger: number | undefined;
}

/** The reads of the contracts. Everything in one answer is true of one ledger. */
export interface ReadSource {
  /** @throws {GatewayError} `upstream_error`, as every method here */
  card(deviceHash: string): Promise<AsOf<Card>>;
  policy(deviceHash: string): Promise<AsOf<AgentPolicy | undefined>>;
  /** `atMost` bounds how many devices are read; all when absent. */
  walletDevices(wallet: string, atMost?: number): Promise<AsOf<WalletDevices>>;
  pending(merchant: string): Promise<AsOf<Pending>>;
}

/** How often an answer that is put together from several requests is tried before it fails. */
export const TRIES = 3;
