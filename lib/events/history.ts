import { GatewayError } from "../errors.ts";
import type { LedgerTip } from "../stellar/ledger/tip.ts";
import type { HistoryGap, Store, WatcherState } from "../store/store.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import { createHeldRanges, firstWholeLedger, type HeldRange } from "./held_ranges.ts";
import { endOfLedger, MAX_LEDGER } from "./position.ts";
import { type PublicEvent, publicEvent } from "./public_event.ts";

export interface HistoryQuery {
  /** From the first event of this ledger on, in the current epoch. Either this or `cursor`, or neither: the oldest held. */
  fromLedger?: number;
  /** From an earlier page. */
  cursor?: string;
  /** 1 to 1 000. */
  limit: number;
  /** Any of these types. */
  types?: string[];
  deviceHash?: string;
  merchant?: string;
}

export interface HistoryPage {
  /** Oldest first. Fewer than `limit`: all that is held has been answered. */
  events: PublicEvent[];
  /** Goes on after all that was looked through, whatever the filters; good for asking again. */
  cursor: string;
  /** The newest ledger seen. */
  latestLedger: number;
  /**
   * The first ledger of the current epoch whose events are all held; null before the first commit. Who asked for earlier
   * ones, by ledger or with an old cursor, got the page from here on.
   */
  oldestLedger: number | null;
}

export interface HistoryStatus {
  /** Counts network resets. */
  epoch: number;
  latestLedger: number;
  /** All events up to this ledger are held, gaps apart; null before the first commit. */
  scannedLedger: number | null;
  lagLedgers: number | null;
  /** What is held, ascending, without the gaps. */
  held: HeldRange[];
  gaps: HistoryGap[];
  /** How many events are kept raw because they could not be decoded; 100 stands for 100 or more. */
  undecodedEvents: number;
}

export interface History {
  /** One page of the events held. Throws `invalid_request` for a query out of bounds. */
  page(query: HistoryQuery): Promise<HistoryPage>;
  /** What is held and what is missing. */
  status(): Promise<HistoryStatus>;
}

export const MAX_PAGE_EVENTS = 1_000;
const MAX_UINT32 = 0xffff_ffff;
const MAX_UNDECODED_COUNTED = 100;

/**
 * The event history as callers pull it, from the store alone. Only ledgers that were scanned to their end are shown, so
 * nothing can be committed later at a place a cursor has passed.
 */
export function createHistory({ store, tip }: { store: Store; tip: LedgerTip }): History {
  const heldRanges = createHeldRanges(store);

  /** The tip counts its epochs from the start of this process at least; another replica's watcher may be ahead of it. */
  function latestLedger(state: WatcherState | undefined): number {
    if (state === undefined || tip.epoch > state.epoch) return tip.sequence;
    return tip.epoch < state.epoch ? state.latestLedger : Math.max(tip.sequence, state.latestLedger);
  }

  /** To be asked after the events were read: what was forgotten meanwhile is not said to be held. */
  async function oldestLedger(state: WatcherState | undefined): Promise<number | null> {
    return state === undefined ? null : firstWholeLedger(state.epoch, state.oldestLedger, await store.prunedUpTo());
  }

  return {
    async page({ fromLedger, cursor, limit, types, deviceHash, merchant }) {
      requireInteger("limit", limit, MAX_PAGE_EVENTS);
      if (fromLedger !== undefined) requireInteger("fromLedger", fromLedger, MAX_UINT32);
      if (fromLedger !== undefined && cursor !== undefined) {
        throw new GatewayError("invalid_request", "fromLedger and cursor exclude each other, got both");
      }
      const asked = cursor === undefined ? undefined : decodeCursor(cursor);
      const [state, prunedUpTo = ""] = await Promise.all([store.watcherState(), store.prunedUpTo()]);
      const epoch = state?.epoch ?? 0;
      const start = fromLedger === undefined
        ? endOfLedger(0, 0)
        : endOfLedger(epoch, Math.min(fromLedger - 1, MAX_LEDGER));
      // What is kept of the time before for a delivery alone would look like all there was.
      const after = [asked ?? start, prunedUpTo].sort().at(-1)!;
      const upTo = state === undefined ? after : endOfLedger(epoch, state.scannedLedger);
      // Beyond what is held there is nothing to look through: the page waits where it is.
      const events = after < upTo ? await store.readEvents({ after, upTo, limit, types, deviceHash, merchant }) : [];
      const end = events.length === limit ? events.at(-1)!.position : after < upTo ? upTo : after;
      return {
        events: events.map(publicEvent),
        cursor: encodeCursor(end),
        latestLedger: latestLedger(state),
        oldestLedger: await oldestLedger(state),
      };
    },

    async status() {
      const [state, gaps, undecoded] = await Promise.all([
        store.watcherState(),
        store.gaps(),
        store.undecodedEvents({ limit: MAX_UNDECODED_COUNTED }),
      ]);
      const latest = latestLedger(state);
      return {
        epoch: state?.epoch ?? 0,
        latestLedger: latest,
        scannedLedger: state?.scannedLedger ?? null,
        lagLedgers: state === undefined ? null : Math.max(0, latest - state.scannedLedger),
        held: state === undefined ? [] : await heldRanges(state, gaps),
        gaps,
        undecodedEvents: undecoded.length,
      };
    },
  };
}

function requireInteger(field: string, value: number, max: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= max) return;
  throw new GatewayError("invalid_request", `${field} must be an integer from 1 to ${max}, got ${value}`);
}
