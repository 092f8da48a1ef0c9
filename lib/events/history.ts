import { GatewayError } from "../errors.ts";
import type { Head } from "../stellar/head.ts";
import {
  heightOf,
  heightOfEvent,
  ledgerOfHeight,
  parseEventId,
  type PublicEvent,
  publicEvent,
} from "../store/event.ts";
import type { HistoryGap, LogBounds, Store, WatcherState } from "../store/store.ts";
import { MAX_UINT32 } from "../ledger_numbers.ts";
import { type CloseTimes, heightsWithin } from "./close_times.ts";
import { type HeldRange, heldRanges } from "./coverage.ts";
import { type CursorParts, encodeCursor } from "./cursor.ts";
import { createLogReader, requireInteger, type Start, type Subjects } from "./log_reader.ts";

export interface HistoryQuery extends Start {
  /** Only events up to this ledger of the current epoch. A cursor keeps it. */
  toLedger?: number;
  /** Only events of ledgers that closed within these times. A cursor does not keep them, as other filters. */
  times?: CloseTimes;
  /** 1 to 1 000. */
  limit: number;
  filter?: Subjects;
  /** The API key that sees its references in the events. */
  keyId?: string;
}

export interface HistoryPage {
  /** In the order of the log. Fewer than `limit`: the log holds no more. */
  events: PublicEvent[];
  /**
   * Continues after all events that were read, whether they matched or not. An ascending one also polls for new events.
   */
  cursor: string;
  /** The head. */
  latestLedger: number;
  /** The first ledger of the current epoch with stored events, gaps apart; null before the first commit. */
  oldestLedger: number | null;
}

export interface HistoryStatus {
  /** Counts network resets. */
  epoch: number;
  latestLedger: number;
  /** The log holds all events up to this ledger, gaps apart; null before the first commit. */
  scannedLedger: number | null;
  /** The close time of that ledger, or of a known one before it, Unix seconds; null before the first commit. */
  scannedCloseTime: number | null;
  lagLedgers: number | null;
  /** The held ranges, ascending, without gaps. */
  held: HeldRange[];
  gaps: HistoryGap[];
  /** How many events are stored raw, not decoded; 100 means 100 or more. */
  undecodedEvents: number;
  /** Seconds by which network time is ahead of this machine's clock; null when they agree within a minute. */
  clockDisagreesBySeconds: number | null;
}

export interface History {
  /** Returns one page of events. Throws `invalid_request` for a query out of bounds or a bad cursor. */
  page(query: HistoryQuery): Promise<HistoryPage>;
  /** Returns one event, as this API key sees it. Throws `not_found`. */
  event(id: string, keyId?: string): Promise<PublicEvent>;
  /** Returns the held ranges and the gaps. */
  status(): Promise<HistoryStatus>;
  /** As in a page. */
  oldestLedger(): Promise<number | null>;
}

const MAX_PAGE_EVENTS = 1_000;
const MAX_UNDECODED_COUNTED = 100;

/** The event history that clients page through. It reads the log alone, by sequence, so late events come next. */
export function createHistory(
  { store, head }: { store: Pick<Store, "id" | "events" | "references">; head: Head },
): History {
  const { events: log } = store;
  const reader = createLogReader(store);

  const latestLedger = (state: WatcherState | undefined) => head.sequence || (state?.latestLedger ?? 0);

  /** @param bounds read after the events, so that deleted events do not count as held */
  async function held(state: WatcherState | undefined, bounds?: LogBounds): Promise<HeldRange[]> {
    if (state === undefined) return [];
    const ranges = heldRanges(state);
    const { forgotten } = bounds ?? await log.bounds();
    if (forgotten === 0) return ranges;
    const [oldest] = await log.read({ filter: {}, withOwn: true, after: forgotten, order: "asc", limit: 1 });
    if (oldest === undefined) return [];
    // Retention may have deleted a part of this ledger.
    const first = heightOfEvent(oldest) + 1;
    return ranges
      .filter(({ epoch, toLedger }) => heightOf(epoch, toLedger) >= first)
      .map((range) => {
        const isCut = heightOf(range.epoch, range.fromLedger) < first;
        return isCut ? { ...range, fromLedger: ledgerOfHeight(first) } : range;
      });
  }

  async function oldestLedger(state: WatcherState | undefined, bounds?: LogBounds): Promise<number | null> {
    const first = (await held(state, bounds)).find(({ epoch }) => epoch === state!.epoch)?.fromLedger;
    if (first !== undefined || state === undefined) return first ?? null;
    // All events are deleted. The next ledger is the first that is surely held.
    return (bounds ?? await log.bounds()).forgotten > 0 ? state.scannedLedger + 1 : null;
  }

  return {
    async page(query) {
      const { toLedger, limit, filter: subjects = {}, times = {} } = query;
      requireInteger("limit", limit, MAX_PAGE_EVENTS);
      if (toLedger !== undefined) requireInteger("toLedger", toLedger, MAX_UINT32);
      const [state, bounds] = await Promise.all([log.watcherState(), log.bounds()]);
      const epoch = state?.epoch ?? 0;
      const begun = await reader.begin(query, epoch, bounds);
      const from = { ...begun, ceiling: ceilingOf(begun, toLedger, epoch) };
      if (from.ceiling !== 0 && from.ceiling < from.floor) {
        const message = `toLedger must not be before fromLedger ${ledgerOfHeight(from.floor)}, got ${toLedger}`;
        throw new GatewayError("invalid_request", message, { param: "toLedger" });
      }
      const isTimed = times.from !== undefined || times.to !== undefined;
      const span = isTimed ? { times, heights: await heightsWithin(log, times, epoch + 1) } : undefined;
      const { events, place } = await reader.read(from, { subjects, limit, span }, bounds);
      const boundsAfter = await log.bounds();
      // Retention may have deleted events behind the cursor while this page was read.
      if (query.cursor !== undefined) reader.requireHeld(from, boundsAfter);
      return {
        events: events.map((event) => publicEvent(event, query.keyId)),
        cursor: encodeCursor(place),
        latestLedger: latestLedger(state),
        oldestLedger: await oldestLedger(state, boundsAfter),
      };
    },

    async event(id, keyId) {
      const event = parseEventId(id) === undefined ? undefined : await log.get(id);
      if (event === undefined) {
        throw new GatewayError("not_found", `event ${JSON.stringify(id.slice(0, 40))} is not held`);
      }
      await store.references.attach([event]);
      return publicEvent(event, keyId);
    },

    async status() {
      const [state, undecoded] = await Promise.all([
        log.watcherState(),
        log.undecoded({ limit: MAX_UNDECODED_COUNTED }),
      ]);
      const latest = latestLedger(state);
      return {
        epoch: state?.epoch ?? 0,
        latestLedger: latest,
        scannedLedger: state?.scannedLedger ?? null,
        scannedCloseTime: state === undefined ? null : closeTimeOfScanned(state),
        lagLedgers: state === undefined ? null : Math.max(0, latest - state.scannedLedger),
        held: await held(state),
        gaps: state?.gaps ?? [],
        undecodedEvents: undecoded.length,
        clockDisagreesBySeconds: head.clockDisagreement() ?? null,
      };
    },

    oldestLedger: async () => await oldestLedger(await log.watcherState()),
  };
}

function closeTimeOfScanned({ scannedLedger, latestLedger, latestLedgerCloseTime, checkpoints }: WatcherState): number {
  if (scannedLedger >= latestLedger) return latestLedgerCloseTime;
  return checkpoints.findLast(({ ledger }) => ledger <= scannedLedger)?.closeTime ?? 0;
}

/**
 * The height up to which a page reads. When the cursor has a `toLedger`, the query's must be equal. It may be absent
 * only when descending: ascending, the cursor has skipped events above it.
 */
function ceilingOf({ ceiling, order }: CursorParts, toLedger: number | undefined, epoch: number): number {
  const asked = toLedger === undefined ? 0 : heightOf(epoch, toLedger);
  if (ceiling === 0 || asked === ceiling) return asked;
  if (asked === 0 && order === "desc") return ceiling;
  const was = ledgerOfHeight(ceiling);
  if (heightOf(epoch, was) !== ceiling) {
    const message =
      `cursor is of a page up to ledger ${was} of the network before its reset; begin again with fromLedger`;
    throw new GatewayError("invalid_request", message, { param: "cursor" });
  }
  throw new GatewayError(
    "invalid_request",
    `toLedger must be ${was}, as for this cursor, which has skipped later events; got ${
      toLedger ?? "none"
    }. Begin again with ` +
      `fromLedger for another range`,
    { param: "toLedger" },
  );
}
