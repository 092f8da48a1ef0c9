import { MAX_LEDGER } from "../ledger_numbers.ts";
import { heightOf, heightOfEvent, type PublicEvent } from "../store/event.ts";
import type { Store } from "../store/store.ts";

/** Bounds of the close time of an event's ledger, Unix seconds. */
export interface CloseTimes {
  /** Inclusive. */
  from?: number;
  /** Exclusive. */
  to?: number;
}

/** Heights, both inclusive. */
export interface Heights {
  fromHeight: number;
  toHeight: number;
}

type Log = Pick<Store["events"], "read" | "before">;

/** An event's height and close time. */
interface Point {
  height: number;
  time: number;
}

export function isWithin({ from = -Infinity, to = Infinity }: CloseTimes, event: PublicEvent): boolean {
  const time = closeTimeOf(event);
  return time >= from && time < to;
}

/**
 * The heights that hold every event within these times, and hardly another one: close times rise within an epoch. A network
 * may begin at an earlier time than the one before it, so each event must still be compared.
 *
 * The search takes some reads of one event in every epoch, however long the log is.
 */
export async function heightsWithin(log: Log, times: CloseTimes, epochs: number): Promise<Heights> {
  const ranges = await Promise.all(Array.from({ length: epochs }, (_, epoch) => rangeOf(log, times, epoch)));
  if (epochs === 1) return ranges[0]!;
  const found = await Promise.all(ranges.map((range) => log.read({ filter: range, order: "asc", limit: 1 })));
  const held = ranges.filter((_, epoch) => found[epoch]!.length > 0);
  if (held.length === 0) return ranges.at(-1)!;
  return { fromHeight: held[0]!.fromHeight, toHeight: held.at(-1)!.toHeight };
}

async function rangeOf(log: Log, { from, to }: CloseTimes, epoch: number): Promise<Heights> {
  const whole = { fromHeight: heightOf(epoch, 0), toHeight: heightOf(epoch, MAX_LEDGER) };
  const [fromHeight, toHeight] = await Promise.all([
    from === undefined ? whole.fromHeight : around(log, from, whole).then(({ before }) => before + 1),
    to === undefined ? whole.toHeight : around(log, to, whole).then(({ after }) => after - 1),
  ]);
  return { fromHeight, toHeight };
}

/**
 * The height of an event that closed before the time, and of one that closed at the time or later. Hardly an event lies between
 * them. Where there is none, the height outside of the range.
 *
 * Ledgers close evenly, so the search first goes to where the time should be. Then it looks at the events beside the one it
 * found. Every third step halves what is left.
 */
async function around(log: Log, time: number, whole: Heights): Promise<{ before: number; after: number }> {
  let before: Point = { height: whole.fromHeight - 1, time: -Infinity };
  let after: Point = { height: whole.toHeight + 1, time: Infinity };
  /** The search finds no event between this height and `after`. */
  let top = after.height;

  /** Returns whether the event lies below `top` and closed before the time. */
  function learn(event: PublicEvent | undefined): boolean {
    if (event === undefined) return false;
    const point = { height: heightOfEvent(event), time: closeTimeOf(event) };
    if (point.height < whole.fromHeight) return false;
    const isBefore = point.height < top && point.time < time;
    if (isBefore && point.height > before.height) before = point;
    if (point.time >= time && point.height < after.height) after = point;
    top = Math.min(top, after.height);
    return isBefore;
  }

  async function look(height: number): Promise<void> {
    const [event] = await log.read({ filter: { fromHeight: height }, order: "asc", limit: 1 });
    if (!learn(event)) top = Math.min(top, height);
  }

  async function lookBelow(height: number): Promise<void> {
    const [event] = await log.read({ filter: {}, upTo: await log.before(height), order: "desc", limit: 1 });
    learn(event);
  }

  // The search needs both ends to know how evenly ledgers close.
  await look(whole.fromHeight);
  await lookBelow(whole.toHeight + 1);
  for (let step = 0; top - before.height > 1; step++) {
    if (step % 3 === 0) {
      const share = (time - before.time) / (after.time - before.time);
      await look(Math.min(top - 1, before.height + Math.max(1, Math.floor((after.height - before.height) * share))));
    } else if (step % 3 === 1) {
      await lookBelow(after.height);
      if (top - before.height > 1) await look(before.height + 1);
    } else await look(before.height + Math.floor((top - before.height) / 2));
  }
  return { before: before.height, after: after.height };
}

const closeTimeOf = ({ ledgerClosedAt }: PublicEvent) => Date.parse(ledgerClosedAt) / 1_000;
