import { GatewayError } from "../errors.ts";
import { type EventFilter, heightOf, type LoggedEvent } from "../store/event.ts";
import type { LogBounds, Store } from "../store/store.ts";
import { MAX_UINT32 } from "../ledger_numbers.ts";
import { type CursorParts, decodeCursor, markOf, type Order } from "./cursor.ts";

/** Where a reader begins. */
export interface Start {
  /** Only events of this ledger of the current epoch or later ones. Either this or `cursor`, or neither: all that is held. */
  fromLedger?: number;
  /** From an earlier page, or a frame of the stream. */
  cursor?: string;
  /** In which order of sequences; the cursor's, or ascending, when absent. */
  order?: Order;
}

/** What subjects a reader wants to hear of; heights come from its place. */
export type Subjects = Omit<EventFilter, "fromHeight" | "toHeight">;

/**
 * What is asked for, as a filter. A condition that is none of a filter's does not compile: it would be passed over in
 * silence, and all events answered.
 */
export function subjectsOf<T extends Subjects>(asked: T & Record<Exclude<keyof T, keyof Subjects>, never>): Subjects {
  return asked;
}

/** What was read of the log, and how far. */
export interface ReadOn {
  events: LoggedEvent[];
  /** After all that was looked through, whatever the filters. */
  place: CursorParts;
  /** Whether all that is held has been looked through. */
  isAtEnd: boolean;
}

/** The one query by which events are pulled, page by page, and pushed, as a stream. */
export interface LogReader {
  /**
   * @param epoch the current one
   * @throws {GatewayError} `invalid_request` for a query out of bounds, and for a cursor that could miss events, saying why
   */
  begin(start: Start, epoch: number, bounds: LogBounds): Promise<CursorParts>;
  /** @throws {GatewayError} `invalid_request` for a place from a cursor that could miss events, with bounds of now */
  requireHeld(place: CursorParts, bounds: LogBounds): void;
  /** @param query `limit` at most 1 000 */
  read(place: CursorParts, query: { subjects: Subjects; limit: number }, bounds: LogBounds): Promise<ReadOn>;
}

export function createLogReader({ id, events: log }: Pick<Store, "id" | "events">): LogReader {
  async function markAt(sequence: number): Promise<number> {
    if (sequence === 0) return 0;
    const [event] = await log.read({ filter: {}, after: sequence - 1, upTo: sequence, order: "asc", limit: 1 });
    // What was forgotten tells nothing any more.
    return event === undefined ? 0 : markOf(event);
  }

  async function requireSame({ sequence, mark }: CursorParts): Promise<void> {
    if (mark === 0) return;
    const found = await markAt(sequence);
    if (found !== 0 && found !== mark) {
      throw refused("cursor", "cursor is of a log that has gone on otherwise since, " + AFTER_A_RESTORE);
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

    async read(place, { subjects, limit }, { last }) {
      const isAscending = place.order === "asc";
      const events = await log.read({
        filter: { ...subjects, fromHeight: place.floor || undefined, toHeight: place.ceiling || undefined },
        after: isAscending ? place.sequence : undefined,
        upTo: isAscending ? last : place.sequence,
        order: place.order,
        limit,
      });
      const isAtEnd = events.length < limit;
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

const AFTER_A_RESTORE = "as after a restore from an older backup: begin again with fromLedger, events keep their ids";

/** A cursor that could miss events is refused, saying why. */
function requireHeld({ storeId, sequence, order }: CursorParts, ownId: string, { last, forgotten }: LogBounds): void {
  if (storeId !== ownId) throw refused("cursor", "cursor is of another store: begin again with fromLedger");
  if (sequence > last) {
    throw refused("cursor", "cursor is ahead of the log, " + AFTER_A_RESTORE);
  }
  // Descending, what is forgotten is what would come last.
  if (order === "asc" && sequence < forgotten) {
    throw refused(
      "cursor",
      "cursor is older than what is held, events after it were forgotten: begin again with fromLedger",
    );
  }
}

/** @throws {GatewayError} `invalid_request` for what is no integer from 1 to `max` */
export function requireInteger(field: string, value: number, max: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= max) return;
  throw refused(field, `${field} must be an integer from 1 to ${max}, got ${value}`);
}

function refused(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}
