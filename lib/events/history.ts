import { GatewayError } from "../errors.ts";
import type { LedgerView } from "../stellar/ledger/ledger_view.ts";
import {
  type EventFilter,
  heightOf,
  heightOfEvent,
  ledgerOfHeight,
  parseEventId,
  type PublicEvent,
  publicEvent,
} from "../store/event.ts";
import type { HistoryGap, LogBounds, Store, WatcherState } from "../store/store.ts";
import { type HeldRange, heldRanges } from "./coverage.ts";
import { type CursorParts, decodeCursor, encodeCursor, type Order } from "./cursor.ts";

export interface HistoryQuery {
  /** Only events of this ledger of the current epoch or later ones. Either this or `cursor`, or neither: all that is held. */
  fromLedger?: number;
  /** From an earlier page. */
  cursor?: string;
  /** Only events of this ledger of the current epoch or earlier ones. */
  toLedger?: number;
  /** In which order of sequences; the cursor's, or ascending, when absent. */
  order?: Order;
  /** 1 to 1 000. */
  limit: number;
  filter?: Omit<EventFilter, "fromHeight" | "toHeight">;
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
  gaps: HistoryGap[];
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
}

export const MAX_PAGE_EVENTS = 1_000;
const MAX_UINT32 = 0xffff_ffff;
const MAX_UNDECODED_COUNTED = 100;

/** The event history as callers pull it: from the log alone, by sequence, so that what becomes known late comes next. */
export function createHistory({ store, view }: { store: Pick<Store, "id" | "events">; view: LedgerView }): History {
  const { events: log } = store;

  const latestLedger = (state: WatcherState | undefined) => view.sequence || (state?.latestLedger ?? 0);

  /** To be asked after the events were read: what was forgotten meanwhile is not said to be held. */
  async function held(state: WatcherState | undefined): Promise<HeldRange[]> {
    if (state === undefined) return [];
    const ranges = heldRanges(state);
    const { forgotten } = await log.bounds();
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

  async function oldestLedger(state: WatcherState | undefined): Promise<number | null> {
    return (await held(state)).find(({ epoch }) => epoch === state!.epoch)?.fromLedger ?? null;
  }

  /** Where a page begins: what the cursor says, or what stands for it at the first page. */
  async function begin(query: HistoryQuery, epoch: number, bounds: LogBounds): Promise<CursorParts> {
    const { fromLedger, cursor, order } = query;
    if (cursor !== undefined) {
      const parts = decodeCursor(cursor);
      requireGood(parts, store.id, bounds);
      if (order !== undefined && order !== parts.order) {
        throw refused(`order must be ${parts.order}, as it was for this cursor, got ${order}`);
      }
      return parts;
    }
    const floor = fromLedger === undefined ? 0 : heightOf(epoch, fromLedger);
    if (order === "desc") return { storeId: store.id, sequence: bounds.last, floor, order };
    const sequence = floor === 0 ? 0 : await log.before(floor);
    return { storeId: store.id, sequence: Math.max(sequence, bounds.forgotten), floor, order: "asc" };
  }

  return {
    async page(query) {
      const { fromLedger, toLedger, limit, filter = {} } = query;
      requireInteger("limit", limit, MAX_PAGE_EVENTS);
      if (fromLedger !== undefined) requireInteger("fromLedger", fromLedger, MAX_UINT32);
      if (toLedger !== undefined) requireInteger("toLedger", toLedger, MAX_UINT32);
      if (fromLedger !== undefined && query.cursor !== undefined) {
        throw refused("fromLedger and cursor exclude each other, got both");
      }
      const [state, bounds] = await Promise.all([log.watcherState(), log.bounds()]);
      const epoch = state?.epoch ?? 0;
      const from = await begin(query, epoch, bounds);
      const isAscending = from.order === "asc";
      const events = await log.read({
        filter: {
          ...filter,
          fromHeight: from.floor || undefined,
          toHeight: toLedger === undefined ? undefined : heightOf(epoch, toLedger),
        },
        after: isAscending ? from.sequence : undefined,
        upTo: isAscending ? bounds.last : from.sequence,
        order: from.order,
        limit,
      });
      const last = events.length === limit ? events.at(-1)!.sequence : undefined;
      const sequence = isAscending ? last ?? Math.max(from.sequence, bounds.last) : (last ?? 1) - 1;
      return {
        events: events.map(publicEvent),
        cursor: encodeCursor({ ...from, sequence }),
        latestLedger: latestLedger(state),
        oldestLedger: await oldestLedger(state),
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
        gaps: state?.gaps ?? [],
        undecodedEvents: undecoded.length,
        clockDisagreesBySeconds: view.clockDisagreement() ?? null,
      };
    },
  };
}

/** A cursor that could miss events is refused, saying why. */
function requireGood({ storeId, sequence, order }: CursorParts, ownId: string, { last, forgotten }: LogBounds): void {
  if (storeId !== ownId) throw refused("cursor is of another store: begin again with fromLedger");
  if (sequence > last) {
    throw refused(
      "cursor is ahead of the log, as after a restore from an older backup: begin again with fromLedger, " +
        "events keep their ids",
    );
  }
  // Descending, what is forgotten is what would come last.
  if (order === "asc" && sequence < forgotten) {
    throw refused("cursor is older than what is held, events after it were forgotten: begin again with fromLedger");
  }
}

function requireInteger(field: string, value: number, max: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= max) return;
  throw refused(`${field} must be an integer from 1 to ${max}, got ${value}`);
}

function refused(message: string): GatewayError {
  return new GatewayError("invalid_request", message);
}
