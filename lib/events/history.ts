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
import { type HeldRange, heldRanges } from "./coverage.ts";
import { type CursorParts, encodeCursor } from "./cursor.ts";
import { createLogReader, requireInteger, type Start, type Subjects } from "./log_reader.ts";

export interface HistoryQuery extends Start {
  /** Only events of this ledger of the current epoch or earlier ones. A cursor that was made with it goes on with it. */
  toLedger?: number;
  /** 1 to 1 000. */
  limit: number;
  filter?: Subjects;
}

export interface HistoryPage {
  /** In the order in which the gateway learnt of them. Fewer than `limit`: all that is held has been answered. */
  events: PublicEvent[];
  /** Goes on after all that was looked through, whatever the filters; ascending it is good for asking again. */
  cursor: string;
  /** The newest ledger that is believed. */
  latestLedger: number;
  /** The first ledger of the current epoch from which on events are held, gaps apart; null before the first commit. */
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
  gaps: Omit<HistoryGap, "reason">[];
  /** How many events are kept raw because they could not be decoded; 100 stands for 100 or more. */
  undecodedEvents: number;
  /** By how many seconds the network's time is ahead of this machine's clock; null when they agree within a minute. */
  clockDisagreesBySeconds: number | null;
}

export interface History {
  /** One page of the events held. Throws `invalid_request` for a query out of bounds, and for a cursor that is not good. */
  page(query: HistoryQuery): Promise<HistoryPage>;
  /** One event. Throws `not_found`. */
  event(id: string): Promise<PublicEvent>;
  /** What is held and what is missing. */
  status(): Promise<HistoryStatus>;
  /** As in a page. */
  oldestLedger(): Promise<number | null>;
}

const MAX_PAGE_EVENTS = 1_000;
const MAX_UNDECODED_COUNTED = 100;

/** The event history as callers pull it: from the log alone, by sequence, so that what becomes known late comes next. */
export function createHistory({ store, head }: { store: Pick<Store, "id" | "events">; head: Head }): History {
  const { events: log } = store;
  const reader = createLogReader(store);

  const latestLedger = (state: WatcherState | undefined) => head.sequence || (state?.latestLedger ?? 0);

  /** @param bounds of after the events were read: what was forgotten meanwhile is not said to be held */
  async function held(state: WatcherState | undefined, bounds?: LogBounds): Promise<HeldRange[]> {
    if (state === undefined) return [];
    const ranges = heldRanges(state);
    const { forgotten } = bounds ?? await log.bounds();
    if (forgotten === 0) return ranges;
    const [oldest] = await log.read({ filter: {}, after: forgotten, order: "asc", limit: 1 });
    if (oldest === undefined) return [];
    // Of its own ledger some may be forgotten already.
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
    // All that happened was forgotten: what comes next is the first that is surely held.
    return (bounds ?? await log.bounds()).forgotten > 0 ? state.scannedLedger + 1 : null;
  }

  return {
    async page(query) {
      const { toLedger, limit, filter: subjects = {} } = query;
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
      const { events, place } = await reader.read(from, { subjects, limit }, bounds);
      const boundsAfter = await log.bounds();
      // A cursor that was good may have become too old while the events after it were read.
      if (query.cursor !== undefined) reader.requireHeld(from, boundsAfter);
      return {
        events: events.map(publicEvent),
        cursor: encodeCursor(place),
        latestLedger: latestLedger(state),
        oldestLedger: await oldestLedger(state, boundsAfter),
      };
    },

    async event(id) {
      const event = parseEventId(id) === undefined ? undefined : await log.get(id);
      if (event === undefined) {
        throw new GatewayError("not_found", `event ${JSON.stringify(id.slice(0, 40))} is not held`);
      }
      return publicEvent(event);
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
        lagLedgers: state === undefined ? null : Math.max(0, latest - state.scannedLedger),
        held: await held(state),
        gaps: (state?.gaps ?? []).map(({ reason: _reason, ...gap }) => gap),
        undecodedEvents: undecoded.length,
        clockDisagreesBySeconds: head.clockDisagreement() ?? null,
      };
    },

    oldestLedger: async () => await oldestLedger(await log.watcherState()),
  };
}

/**
 * Up to where a page reads. Another `toLedger` than that of its cursor is refused, and none, too, where it would ask for what
 * is beyond: the cursor has passed over it.
 */
function ceilingOf({ ceiling, order }: CursorParts, toLedger: number | undefined, epoch: number): number {
  const asked = toLedger === undefined ? 0 : heightOf(epoch, toLedger);
  if (ceiling === 0 || asked === ceiling) return asked;
  if (asked === 0 && order === "desc") return ceiling;
  const was = ledgerOfHeight(ceiling);
  if (heightOf(epoch, was) !== ceiling) {
    const message =
      `cursor is of a page up to ledger ${was} of the network before its reset: begin again with fromLedger`;
    throw new GatewayError("invalid_request", message, { param: "cursor" });
  }
  throw new GatewayError(
    "invalid_request",
    `toLedger must be ${was}, as it was for this cursor, which has passed over what is beyond: begin again with ` +
      `fromLedger for that; got ${toLedger ?? "none"}`,
    { param: "toLedger" },
  );
}
