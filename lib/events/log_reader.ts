/*
 * Reads the log for pages and streams, from a cursor or a ledger. It refuses a cursor that could miss events.
 * `history.ts` pulls, `stream.ts` pushes, and `cursor.ts` has the cursor's form.
 */

import { GatewayError } from "../errors.ts";
import { type EventFilter, heightOf, type LoggedEvent } from "../store/event.ts";
import type { LogBounds, Store } from "../store/store.ts";
import { MAX_UINT32 } from "../ledger_numbers.ts";
import { type CloseTimes, type Heights, isWithin } from "./close_times.ts";
import { type CursorParts, decodeCursor, markOf, type Order } from "./cursor.ts";

/** Where a reader starts. */
export interface Start {
  /** Only events from this ledger of the current epoch on. Excludes `cursor`. With neither, all events. */
  fromLedger?: number;
  /** From an earlier page or stream frame. */
  cursor?: string;
  /** Order of sequences. Absent: the cursor's, or ascending. */
  order?: Order;
}

/** The subjects of a filter. Its heights come from the cursor. */
export type Subjects = Omit<EventFilter, "fromHeight" | "toHeight">;

/**
 * The filter of a request. An unknown condition does not compile: it would have no effect, and all events would come.
 */
export function subjectsOf<T extends Subjects>(asked: T & Record<Exclude<keyof T, keyof Subjects>, never>): Subjects {
  return asked;
}

/** Close times, and the heights that hold every event within them. */
export interface Span {
  times: CloseTimes;
  heights: Heights;
}

/** Events of the log with their references, and how far they reach. */
export interface ReadOn {
  events: LoggedEvent[];
  /** After all events that were read, whether they matched or not. */
  place: CursorParts;
  /** Whether this was the end of the log. */
  isAtEnd: boolean;
}

/** The one query for pages and streams. */
export interface LogReader {
  /**
   * @param epoch the current one
   * @throws {GatewayError} `invalid_request` for a query out of bounds, and for a cursor that could miss events, saying why
   */
  begin(start: Start, epoch: number, bounds: LogBounds): Promise<CursorParts>;
  /** @throws {GatewayError} `invalid_request` for a place from a cursor that could miss events, with bounds of now */
  requireHeld(place: CursorParts, bounds: LogBounds): void;
  /** @param query `limit` at most 1 000 */
  read(
    place: CursorParts,
    query: { subjects: Subjects; limit: number; span?: Span },
    bounds: LogBounds,
  ): Promise<ReadOn>;
}

export function createLogReader(
  { id, events: log, references }: Pick<Store, "id" | "events" | "references">,
): LogReader {
  async function markAt(sequence: number): Promise<number> {
    if (sequence === 0) return 0;
    const [event] = await log.read({
      filter: {},
      withOwn: true,
      after: sequence - 1,
      upTo: sequence,
      order: "asc",
      limit: 1,
    });
    // An event that retention deleted proves nothing.
    return event === undefined ? 0 : markOf(event);
  }

  async function requireSame({ sequence, mark }: CursorParts): Promise<void> {
    if (mark === 0) return;
    const found = await markAt(sequence);
    if (found !== 0 && found !== mark) {
      throw refused("cursor", "cursor is of a log that continued differently, " + AFTER_A_RESTORE);
    }
  }

  return {
    async begin({ fromLedger, cursor, order }, epoch, bounds) {
      if (fromLedger !== undefined) requireInteger("fromLedger", fromLedger, MAX_UINT32);
      if (fromLedger !== undefined && cursor !== undefined) {
        throw refused("fromLedger", "fromLedger and cursor exclude each other, got both");
      }
      if (cursor !== undefined) {
        const parts = decodeCursor(cursor);
        requireHeld(parts, id, bounds);
        await requireSame(parts);
        if (order !== undefined && order !== parts.order) {
          throw refused("order", `order must be ${parts.order}, as it was for this cursor, got ${order}`);
        }
        return parts;
      }
      const floor = fromLedger === undefined ? 0 : heightOf(epoch, fromLedger);
      if (order === "desc") return { storeId: id, sequence: bounds.last, floor, ceiling: 0, mark: 0, order };
      const sequence = floor === 0 ? 0 : await log.before(floor);
      return { storeId: id, sequence: Math.max(sequence, bounds.forgotten), floor, ceiling: 0, mark: 0, order: "asc" };
    },

    requireHeld: (place, bounds) => requireHeld(place, id, bounds),

    async read(place, { subjects, limit, span }, { last }) {
      const isAscending = place.order === "asc";
      const filter = { ...subjects, ...heightsOf(place, span) };
      const events: LoggedEvent[] = [];
      let { sequence: reached } = place;
      let isAtEnd = false;
      // Without a span, and in nearly every one, the first read has only matches.
      while (!isAtEnd && events.length < limit) {
        const bounds = isAscending ? { after: reached, upTo: last } : { upTo: reached };
        const read = await log.read({ filter, ...bounds, order: place.order, limit });
        const matching = span === undefined ? read : read.filter((event) => isWithin(span.times, event));
        const room = limit - events.length;
        isAtEnd = read.length < limit && matching.length <= room;
        events.push(...matching.slice(0, room));
        if (!isAtEnd) reached = read.at(-1)!.sequence - (isAscending ? 0 : 1);
      }
      await references.attach(events);
      const lastRead = events.at(-1);
      if (!isAscending) {
        const sequence = isAtEnd ? 0 : lastRead!.sequence - 1;
        return { events, place: { ...place, sequence }, isAtEnd };
      }
      const sequence = isAtEnd ? Math.max(place.sequence, last) : lastRead!.sequence;
      if (sequence === place.sequence) return { events, place, isAtEnd };
      const mark = lastRead?.sequence === sequence ? markOf(lastRead) : await markAt(sequence);
      return { events, place: { ...place, sequence, mark }, isAtEnd };
    },
  };
}

/** The heights of a place and of a span. */
function heightsOf({ floor, ceiling }: CursorParts, span?: Span): { fromHeight?: number; toHeight?: number } {
  const { fromHeight = 0, toHeight = Infinity } = span?.heights ?? {};
  const [from, to] = [Math.max(floor, fromHeight), Math.min(ceiling || Infinity, toHeight)];
  return { fromHeight: from || undefined, toHeight: to === Infinity ? undefined : to };
}

const AFTER_A_RESTORE = "as after a restore from an older backup. Begin again with fromLedger; events keep their ids";

/** Refuses a cursor that could miss events, with the reason. */
function requireHeld({ storeId, sequence, order }: CursorParts, ownId: string, { last, forgotten }: LogBounds): void {
  if (storeId !== ownId) throw refused("cursor", "cursor is of another store: begin again with fromLedger");
  if (sequence > last) {
    throw refused("cursor", "cursor is ahead of the log, " + AFTER_A_RESTORE);
  }
  // In descending order the deleted events would come last.
  if (order === "asc" && sequence < forgotten) {
    throw refused(
      "cursor",
      "cursor is older than the oldest stored event; begin again with fromLedger",
    );
  }
}

/** @throws {GatewayError} `invalid_request` unless the value is an integer from 1 to `max` */
export function requireInteger(field: string, value: number, max: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= max) return;
  throw refused(field, `${field} must be an integer from 1 to ${max}, got ${value}`);
}

function refused(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}
