import type { AgentPolicy, DeviceInfo, Payment } from "../decode.ts";

/** A value and its ledger. */
export interface AsOf<T> {
  ledger: number;
  value: T;
  /** Whether a part of the value ends with this ledger, so that another node may no longer have it. */
  isEdge?: boolean;
}

/** The state of one card. */
export interface Card {
  /** Undefined when the device registry does not know the card. */
  device: DeviceInfo | undefined;
  /** Undefined when the card has no agent. */
  policy: AgentPolicy | undefined;
  /** The balance of its escrow. */
  balance: bigint;
}

/** A wallet's devices in the registry's order: their number, and the first of them. */
export interface WalletDevices {
  count: number;
  devices: string[];
}

/** The payments that a merchant can claim. */
export interface Pending {
  total: bigint;
  /** In the order of authorisation; undefined when read by calls, because the contract returns the sum only. */
  payments?: PendingPayment[];
}

/** A payment that a merchant has not claimed. */
export interface PendingPayment extends Payment {
  /** The last ledger of its life; undefined when the node does not report it. */
  liveUntilLedger: number | undefined;
}

/** Reads the contracts' state. All parts of one answer are of one ledger. */
export interface ReadSource {
  /** @throws {GatewayError} `upstream_error`, as every method here */
  card(deviceHash: string): Promise<AsOf<Card>>;
  policy(deviceHash: string): Promise<AsOf<AgentPolicy | undefined>>;
  /** @param atMost how many devices to read; all when absent */
  walletDevices(wallet: string, atMost?: number): Promise<AsOf<WalletDevices>>;
  pending(merchant: string): Promise<AsOf<Pending>>;
}

/** Tries of an answer that needs several requests. */
export const TRIES = 3;
