import { GatewayError } from "../../errors.ts";
import type { EntryReader } from "../../stellar/entries.ts";
import type { Head } from "../../stellar/head.ts";
import type { ContractCalls } from "../../stellar/transactions/contract_call.ts";
import type { ContractCodes } from "../contracts/codes.ts";
import type { ContractIds } from "../contracts/errors.ts";
import type { AgentPolicy } from "../decode.ts";
import type { LedgerClock, LedgerTimes } from "../../stellar/ledger_clock.ts";
import { createAnswerCache } from "./answer_cache.ts";
import type { AsOf, Card, Pending, ReadSource } from "./read_source.ts";
import { createCallSource } from "./reads_by_calls.ts";
import { createEntrySource } from "./reads_by_entries.ts";
import { createSourceChoice, READ_KINDS, type ReadKind } from "./source_choice.ts";

/** A policy in an answer. */
export interface Policy {
  agent: string;
  /** Decimal; "0" for no cap. */
  maxAmount: string;
  asset: string;
  /** Unix seconds. Null for never, or for a time that a JSON number cannot hold; then `note` has the time. */
  expiresAt: number | null;
  note?: string;
}

/** A card in an answer; the fields of its policy are null without an agent. */
export interface Device {
  deviceHash: string;
  owner: string;
  policy: Policy | { agent: null; maxAmount: null; asset: null; expiresAt: null };
  /** Decimal. */
  escrowBalance: string;
}

/** The payments that a merchant can claim. */
export interface PendingAnswer {
  /** The sum, decimal. */
  pending: string;
  /** The oldest first; null when read by calls, because the contract returns the sum only. */
  payments: PendingPaymentAnswer[] | null;
  /** Present when there are more payments than listed. */
  more?: true;
}

export interface PendingPaymentAnswer {
  deviceHash: string;
  /** Decimal. */
  amount: string;
  /** Unix seconds. */
  authorizedAt: number;
  /** About when it expires unless claimed, Unix seconds; null when the node does not report it. */
  expiresAt: number | null;
}

/**
 * The contracts' state. An answer cached for the newest ledger is returned without a promise, as the same object each
 * time. Every method throws or rejects with `upstream_error` when the node fails.
 */
export interface EscrowReads {
  /** @throws {GatewayError} `device_not_found` */
  device(deviceHash: string): Device | Promise<Device>;
  /** Also of a device that the device registry does not know. @throws {GatewayError} `agent_not_found` */
  policy(deviceHash: string): Policy | Promise<Policy>;
  /** In the registry's order. */
  walletDevices(wallet: string): string[] | Promise<string[]>;
  /** The number of a wallet's devices: one entry, however many there are. */
  walletSize(wallet: string): number | Promise<number>;
  /** The payments that a merchant can claim; lists at most 500. */
  pending(merchant: string): PendingAnswer | Promise<PendingAnswer>;
  /** The state of one card, with undefined for absent parts. */
  card(deviceHash: string): AsOf<Card> | Promise<AsOf<Card>>;
  /** As `ways().device`, for the contracts' code in the newest ledger. Compares new code first, with this card. */
  wayOfCards(deviceHash: string): Promise<ReturnType<EscrowReads["ways"]>["device"]>;
  /**
   * The last nonce of an agent for a card. Undefined before its first payment, and when reading by calls, because the
   * contract has no getter for it. Not cached.
   */
  lastNonce(deviceHash: string, agent: string): Promise<bigint | undefined>;
  /** The number of payments for a merchant since its last claim, expired ones included; undefined when reading by calls. */
  paidSinceClaim(merchant: string): Promise<number | undefined>;
  /** The way of each kind of read. */
  ways(): Record<ReadKind, "entries" | "calls" | "not_compared">;
}

export interface EscrowReadsParts {
  entries: EntryReader;
  calls: ContractCalls;
  contracts: ContractIds;
  codes: ContractCodes;
  head: Head;
  now: () => number;
  ledgerTimes: LedgerClock["times"];
  /** How long a cached answer holds when no new ledger arrives; 6 000 when absent. */
  maxAgeMs?: number;
  onProblem?: (message: string) => void;
  /** Called when a read finds that the contracts run other code than before. */
  onNewCodes?: () => void;
}

/** One read, of either source. */
type Ask<T> = (source: ReadSource) => Promise<AsOf<T>>;

/** The number of a wallet's devices to compare; each costs a simulation. */
const COMPARED_DEVICES = 8;

/** Reads ledger entries, or calls the contracts where the two differ. Caches answers until the next ledger. */
export function createEscrowReads(parts: EscrowReadsParts): EscrowReads {
  const { codes, head, now } = parts;
  const byEntries = createEntrySource(parts);
  const byCalls = createCallSource(parts);
  const choice = createSourceChoice(parts);
  const cache = <T>() => createAnswerCache<T>({ head, now, maxAgeMs: parts.maxAgeMs ?? 6_000 });
  const cards = cache<AsOf<Card>>();
  const devices = cache<Device>();
  const policies = cache<Policy>();
  const wallets = cache<string[]>();
  const walletSizes = cache<number>();
  const pendings = cache<PendingAnswer>();

  /** @param compared what is compared first; the read itself when absent */
  async function read<T>(kind: ReadKind, ask: Ask<T>, compared = ask): Promise<AsOf<T>> {
    // Started before the read of the codes, so that both share one call of the node.
    const ahead = choice.way(kind) === "entries" ? ask(byEntries) : undefined;
    ahead?.catch(() => {});
    await choose(kind, compared);
    if (choice.way(kind) === "calls") return await ask(byCalls);
    return await (ahead ?? ask(byEntries));
  }

  async function choose<T>(kind: ReadKind, ask: Ask<T>): Promise<void> {
    const running = await codes.of(kind);
    await choice.choose(kind, running, { byEntries: () => ask(byEntries), byCalls: () => ask(byCalls) });
  }

  const readWallet = (wallet: string, atMost?: number) =>
    read(
      "walletDevices",
      (source) => source.walletDevices(wallet, atMost),
      (source) => source.walletDevices(wallet, COMPARED_DEVICES),
    );

  const card = (deviceHash: string) =>
    cards.get(deviceHash, async () => {
      const found = await read("device", (source) => source.card(deviceHash));
      return { ledger: found.ledger, value: found };
    });

  return {
    card,
    device(deviceHash) {
      return devices.get(deviceHash, async () => {
        const { ledger, value } = await card(deviceHash);
        return { ledger, value: deviceAnswer(deviceHash, value) };
      });
    },
    policy(deviceHash) {
      return policies.get(deviceHash, async () => {
        const { ledger, value } = await read("policy", (source) => source.policy(deviceHash));
        if (value === undefined) throw new GatewayError("agent_not_found", `no agent is registered for ${deviceHash}`);
        return { ledger, value: policyAnswer(value) };
      });
    },
    walletDevices(wallet) {
      return wallets.get(wallet, async () => {
        const { ledger, value } = await readWallet(wallet);
        return { ledger, value: value.devices };
      });
    },
    walletSize(wallet) {
      return walletSizes.get(wallet, async () => {
        const { ledger, value } = await readWallet(wallet, 0);
        return { ledger, value: value.count };
      });
    },
    pending(merchant) {
      return pendings.get(merchant, async () => {
        const [{ ledger, value }, time] = await Promise.all([
          read("pending", (source) => source.pending(merchant), (source) => sumOnly(source.pending(merchant))),
          parts.ledgerTimes(),
        ]);
        return { ledger, value: pendingAnswer(value, ledger, time) };
      });
    },
    async wayOfCards(deviceHash) {
      await choose("device", (source) => source.card(deviceHash));
      return choice.way("device");
    },
    lastNonce: async (deviceHash, agent) =>
      choice.way("device") === "calls" ? undefined : await byEntries.lastNonce(deviceHash, agent),
    paidSinceClaim: async (merchant) =>
      choice.way("pending") === "calls" ? undefined : await byEntries.paidSinceClaim(merchant),
    ways: () =>
      Object.fromEntries(READ_KINDS.map((kind) => [kind, choice.way(kind)])) as ReturnType<EscrowReads["ways"]>,
  };
}

const MOST_PAYMENTS = 500;

/** The sum without the payments, to compare with the contract's function, which returns no more. */
async function sumOnly(asked: Promise<AsOf<Pending>>): Promise<AsOf<Pending>> {
  const { value: { total }, ...of } = await asked;
  return { ...of, value: { total } };
}

function pendingAnswer({ total, payments }: Pending, ledger: number, { seconds, pace }: LedgerTimes): PendingAnswer {
  const pending = total.toString();
  if (payments === undefined) return { pending, payments: null };
  const listed = payments.slice(0, MOST_PAYMENTS).map((payment) => ({
    deviceHash: payment.deviceHash,
    amount: payment.amount.toString(),
    authorizedAt: Number(payment.timestamp),
    expiresAt: payment.liveUntilLedger === undefined
      ? null
      : Math.round(seconds + (payment.liveUntilLedger - ledger) * pace),
  }));
  return { pending, payments: listed, ...(payments.length > MOST_PAYMENTS ? { more: true } : {}) };
}

function policyAnswer({ agent, maxAmount, asset, expiresAt }: AgentPolicy): Policy {
  const policy = { agent, maxAmount: maxAmount.toString(), asset };
  if (expiresAt <= BigInt(Number.MAX_SAFE_INTEGER)) {
    return { ...policy, expiresAt: expiresAt === 0n ? null : Number(expiresAt) };
  }
  return { ...policy, expiresAt: null, note: `expires at ${expiresAt}, which is more than a JSON number holds` };
}

function deviceAnswer(deviceHash: string, { device, policy, balance }: Card): Device {
  if (device === undefined) {
    throw new GatewayError("device_not_found", `the device registry does not know ${deviceHash}`);
  }
  return {
    deviceHash,
    owner: device.owner,
    policy: policy === undefined
      ? { agent: null, maxAmount: null, asset: null, expiresAt: null }
      : policyAnswer(policy),
    escrowBalance: balance.toString(),
  };
}
