import { GatewayError } from "../../errors.ts";
import type { Clock } from "../../clock.ts";
import {
  ESCROW_MOVEMENTS,
  type EscrowMovement,
  heldAtMost,
  type Holdings,
  holdingsOf,
  UNKNOWN_ASSET,
} from "./holdings.ts";

/** The fields of a logged event that this file uses. */
export interface EscrowEvent extends EscrowMovement {
  sequence: number;
  /** Ascends with the ledgers. */
  id: string;
  deviceHash?: string;
  /** ISO 8601 UTC. */
  ledgerClosedAt: string;
}

/** The log of the contracts' events, and its watcher. */
export interface EventLog {
  /** The last ledger read, undefined before the first. */
  reach(): Promise<{ scannedLedger: number; completeFromHeight: number } | undefined>;
  /** By sequence, the newest first. */
  read(query: {
    filter: { types: string[]; deviceHash?: string; merchant?: string; fromHeight?: number };
    /** Inclusive. */
    upTo?: number;
    order: "desc";
    limit: number;
  }): Promise<EscrowEvent[]>;
  /** Makes the watcher poll now, and resolves after that poll. Never rejects. */
  catchUp(): Promise<unknown>;
}

/** The assets in the escrow contract by the log, because the contract does not record them. */
export interface EscrowLog {
  /**
   * The assets in this balance of a card, as far back as the log reaches. The balance before the newest hundred movements
   * counts as the asset of the last funding before them.
   */
  holdings(deviceHash: string, balance: bigint): Promise<Holdings>;
  /** The asset of a card's last funding. */
  lastFunded(deviceHash: string): Promise<string | undefined>;
  /** Whether a recent funding of the card was in another asset. Only then may its escrow hold another asset. */
  mayHoldOthers(deviceHash: string, asset: string): Promise<boolean>;
  /** The most of a card's balance that it can pay in this asset: all but the known amounts of other assets. */
  spendable(deviceHash: string, asset: string, balance: bigint): Promise<bigint>;
  /** The payments authorised for a merchant since its last claim, the newest first, expired ones included. */
  unclaimed(merchant: string): Promise<EscrowEvent[]>;
  /**
   * Resolves when the log has all events up to this ledger; at once without a log.
   * @throws {GatewayError} `upstream_error` when that takes too long
   */
  reaches(ledger: number): Promise<void>;
}

type ReadFilter = Parameters<EventLog["read"]>[0]["filter"];

const MOST_MOVEMENTS = 100;
const MOST_FUNDINGS = 20;
/** More payments than one transaction can claim. */
const MOST_PAYMENTS = 500;
const LONGEST_WAIT_MS = 5_000;
const PAUSE_MS = 250;

/** Answers from the log alone. Without a log no asset is known. */
export function createEscrowLog({ log, clock }: {
  log: EventLog | undefined;
  clock: Pick<Clock, "wait" | "monotonicMs">;
}): EscrowLog {
  async function newest(filter: ReadFilter, limit: number, upTo?: number): Promise<EscrowEvent[]> {
    return await log!.read({ filter, upTo, order: "desc", limit });
  }

  const escrow: EscrowLog = {
    async holdings(deviceHash, balance) {
      if (balance === 0n) return new Map();
      const unknown = new Map([[UNKNOWN_ASSET, balance]]);
      const reach = await log?.reach();
      if (reach === undefined) return unknown;
      const filter = { types: ESCROW_MOVEMENTS, deviceHash, fromHeight: reach.completeFromHeight };
      const movements = await newest(filter, MOST_MOVEMENTS);
      const inOrder = movements.toSorted(newestLedgerFirst);
      const found = holdingsOf(balance, inOrder);
      if (found === undefined) return unknown;
      if (!found.has(UNKNOWN_ASSET) || movements.length < MOST_MOVEMENTS) return found;
      const before = movements.at(-1)!.sequence - 1;
      const [funded] = await newest({ ...filter, types: ["escrow.funded"] }, 1, before);
      return holdingsOf(balance, inOrder, funded?.asset)!;
    },

    async lastFunded(deviceHash) {
      if (log === undefined) return undefined;
      const [funded] = await newest({ types: ["escrow.funded"], deviceHash }, 1);
      return funded?.asset;
    },

    async mayHoldOthers(deviceHash, asset) {
      if (log === undefined) return false;
      const funded = await newest({ types: ["escrow.funded"], deviceHash }, MOST_FUNDINGS);
      return funded.some((event) => event.asset !== undefined && event.asset !== asset);
    },

    async spendable(deviceHash, asset, balance) {
      const isMixed = await escrow.mayHoldOthers(deviceHash, asset);
      return isMixed ? heldAtMost(await escrow.holdings(deviceHash, balance), asset) : balance;
    },

    async unclaimed(merchant) {
      if (log === undefined) return [];
      const filter = { types: ["payment.authorized", "payment.claimed"], merchant };
      const events = (await newest(filter, MOST_PAYMENTS)).toSorted(newestLedgerFirst);
      const claimed = events.findIndex(({ type }) => type === "payment.claimed");
      return events.slice(0, claimed === -1 ? undefined : claimed);
    },

    async reaches(ledger) {
      const endsAtMs = clock.monotonicMs() + LONGEST_WAIT_MS;
      for (let isFirst = true;; isFirst = false) {
        const reach = await log?.reach();
        if (reach === undefined || reach.scannedLedger >= ledger) return;
        if (clock.monotonicMs() >= endsAtMs) throw notReadYet(ledger);
        if (!isFirst) await clock.wait(PAUSE_MS);
        await log!.catchUp();
      }
    },
  };
  return escrow;
}

/** Sorts by ledger, because late events are at the log's end. Ids ascend with ledgers, and those of later epochs are longer. */
export function newestLedgerFirst(a: { id: string }, b: { id: string }): number {
  return b.id.length - a.id.length || (a.id < b.id ? 1 : -1);
}

function notReadYet(ledger: number): GatewayError {
  return new GatewayError(
    "upstream_error",
    `the gateway has not read the events of ledger ${ledger} yet, and needs them to know which asset the escrow holds; ` +
      "retry in a few seconds",
  );
}
