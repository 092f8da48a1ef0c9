import { GatewayError } from "../../errors.ts";
import type { Clock } from "../../clock.ts";
import { type EventFilter, heightOf, heightOfEvent, type LoggedEvent } from "../../store/event.ts";
import type { EventStore, WatcherState } from "../../store/store.ts";
import { ESCROW_MOVEMENTS, heldAtMost, type Holdings, holdingsOf, UNKNOWN_ASSET } from "./holdings.ts";

/** The store's log of events. */
export type EventLog = Pick<EventStore, "watcherState" | "read">;

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
  unclaimed(merchant: string): Promise<LoggedEvent[]>;
  /** Their sum in this asset, or in an unknown one, since the log's last gap, in which there may be a claim. */
  pending(merchant: string, asset: string): Promise<bigint>;
  /**
   * Resolves when the log has all events up to this ledger; at once before the watcher's first commit.
   * @throws {GatewayError} `upstream_error` when that takes too long
   */
  reaches(ledger: number): Promise<void>;
}

const MOST_MOVEMENTS = 100;
const MOST_FUNDINGS = 20;
/** More payments than one transaction can claim. */
const MOST_PAYMENTS = 500;
/** Of the claims that come last in the log, the one of the newest ledger counts, because events may be late. */
const MOST_CLAIMS = 20;
const LONGEST_WAIT_MS = 5_000;
const PAUSE_MS = 250;

/** Answers from the log alone. It leaves out events of a former escrow contract. */
export function createEscrowLog({ events, paymentEscrow, catchUp, clock }: {
  events: EventLog;
  paymentEscrow: string;
  /** Makes the watcher poll now, and resolves after that poll. Never rejects. */
  catchUp(): Promise<unknown>;
  clock: Pick<Clock, "wait" | "monotonicMs">;
}): EscrowLog {
  async function newest(filter: EventFilter, limit: number, upTo?: number): Promise<LoggedEvent[]> {
    const found = await events.read({ filter, upTo, order: "desc", limit });
    return found.filter(({ contractId }) => contractId === paymentEscrow);
  }

  async function unclaimedSince(merchant: string, fromHeight: number): Promise<LoggedEvent[]> {
    const claims = await newest({ types: ["payment.claimed"], merchant, fromHeight }, MOST_CLAIMS);
    const [claim] = claims.sort(newestLedgerFirst);
    const since = claim === undefined ? fromHeight : heightOfEvent(claim);
    const paid = await newest({ types: ["payment.authorized"], merchant, fromHeight: since }, MOST_PAYMENTS);
    return paid.filter((one) => claim === undefined || newestLedgerFirst(one, claim) < 0).sort(newestLedgerFirst);
  }

  const escrow: EscrowLog = {
    async holdings(deviceHash, balance) {
      if (balance === 0n) return new Map();
      const unknown = new Map([[UNKNOWN_ASSET, balance]]);
      const state = await events.watcherState();
      if (state === undefined) return unknown;
      const filter = { types: ESCROW_MOVEMENTS, deviceHash, fromHeight: completeFrom(state, paymentEscrow) };
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
      const [funded] = await newest({ types: ["escrow.funded"], deviceHash }, 1);
      return funded?.asset;
    },

    async mayHoldOthers(deviceHash, asset) {
      const funded = await newest({ types: ["escrow.funded"], deviceHash }, MOST_FUNDINGS);
      return funded.some((event) => event.asset !== undefined && event.asset !== asset);
    },

    async spendable(deviceHash, asset, balance) {
      const isMixed = await escrow.mayHoldOthers(deviceHash, asset);
      return isMixed ? heldAtMost(await escrow.holdings(deviceHash, balance), asset) : balance;
    },

    unclaimed: (merchant) => unclaimedSince(merchant, 0),

    async pending(merchant, asset) {
      const state = await events.watcherState();
      if (state === undefined) return 0n;
      const payments = await unclaimedSince(merchant, completeFrom(state, paymentEscrow));
      return payments.reduce((sum, one) => sum + ((one.asset ?? asset) === asset ? BigInt(one.amount ?? 0) : 0n), 0n);
    },

    async reaches(ledger) {
      const endsAtMs = clock.monotonicMs() + LONGEST_WAIT_MS;
      for (let isFirst = true;; isFirst = false) {
        const state = await events.watcherState();
        if (state === undefined || state.scannedLedger >= ledger) return;
        if (clock.monotonicMs() >= endsAtMs) throw notReadYet(ledger);
        if (!isFirst) await clock.wait(PAUSE_MS);
        await catchUp();
      }
    },
  };
  return escrow;
}

/** The height from which the log has all events of this contract: after its last gap. */
function completeFrom({ epoch, gaps }: WatcherState, contract: string): number {
  const ends = gaps.filter((gap) => gap.epoch === epoch && gap.contractIds.includes(contract))
    .map(({ toLedger }) => toLedger + 1);
  return heightOf(epoch, Math.max(0, ...ends));
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
