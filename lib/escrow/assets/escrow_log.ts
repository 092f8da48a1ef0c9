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

/** The fields of a logged event that are used here. */
export interface EscrowEvent extends EscrowMovement {
  sequence: number;
  /** In the order of the ledgers. */
  id: string;
  deviceHash?: string;
  /** ISO 8601 UTC. */
  ledgerClosedAt: string;
}

/** The log of the contracts' events, and who writes it. */
export interface EventLog {
  /** How far it has come, undefined before its first ledger. */
  reach(): Promise<{ scannedLedger: number; completeFromHeight: number } | undefined>;
  /** By sequence, the newest first. */
  read(query: {
    filter: { types: string[]; deviceHash?: string; merchant?: string; fromHeight?: number };
    /** Inclusive. */
    upTo?: number;
    order: "desc";
    limit: number;
  }): Promise<EscrowEvent[]>;
  /** Has the watcher look at once, and waits until it has. Never rejects. */
  catchUp(): Promise<unknown>;
}

/** The log's knowledge of the assets in the escrow contract, which keeps none itself. */
export interface EscrowLog {
  /**
   * The assets of this balance of a card, as far back as the log reaches. Money from before the newest hundred
   * movements counts as the asset that was funded last before them.
   */
  holdings(deviceHash: string, balance: bigint): Promise<Holdings>;
  /** The asset that a card was funded in last. */
  lastFunded(deviceHash: string): Promise<string | undefined>;
  /** Whether one of a card's newest fundings was in another asset: only then its escrow may hold another one. */
  mayHoldOthers(deviceHash: string, asset: string): Promise<boolean>;
  /** The most of a card's balance that can be paid in this asset: all of it as far as nothing else is known. */
  spendable(deviceHash: string, asset: string, balance: bigint): Promise<bigint>;
  /** The payments authorised for a merchant since the last claim, the newest first, whether they have expired or not. */
  unclaimed(merchant: string): Promise<EscrowEvent[]>;
  /**
   * Resolves when the log has all up to this ledger; at once when there is no watcher that writes it.
   * @throws {GatewayError} `upstream_error` when that takes too long
   */
  reaches(ledger: number): Promise<void>;
}

type ReadFilter = Parameters<EventLog["read"]>[0]["filter"];

const MOST_MOVEMENTS = 100;
const MOST_FUNDINGS = 20;
/** More than one transaction can claim. */
const MOST_PAYMENTS = 500;
const LONGEST_WAIT_MS = 5_000;
const PAUSE_MS = 250;

/** Answers from the log alone. Without one nothing is known. */
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

/** The log has what came late at its end; ids are in the order of the ledgers, those of later lives of the network longer. */
export function newestLedgerFirst(a: { id: string }, b: { id: string }): number {
  return b.id.length - a.id.length || (a.id < b.id ? 1 : -1);
}

function notReadYet(ledger: number): GatewayError {
  return new GatewayError(
    "upstream_error",
    `ledger ${ledger} changed what the escrow holds, and its events have not been read yet: which asset is there is not ` +
      "known; try again in a few seconds",
  );
}
