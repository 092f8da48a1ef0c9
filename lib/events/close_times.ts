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

type Log = Pick<Store["events"], "read">;

export function isWithin({ from = -Infinity, to = Infinity }: CloseTimes, event: PublicEvent): boolean {
  const time = closeTimeOf(event);
  return time >= from && time < to;
}

/**
 * The heights that hold every event within these times, and hardly another one: close times rise within an epoch. A network
 * may begin at an earlier time than the one before it, so each event must still be compared.
 *
 * The search takes at most 33 reads of one event for each bound and epoch, however long the log is.
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
 * Looks for the time by halves. Returns the height of an event that closed before it, and of one that closed at it or later.
 * Hardly an event lies between them. Where there is none, the height outside of the range.
 */
async function around(log: Log, time: number, whole: Heights): Promise<{ before: number; after: number }> {
  let [before, after] = [whole.fromHeight - 1, whole.toHeight + 1];
  for (let [low, high] = [whole.fromHeight, whole.toHeight + 1]; low < high;) {
    const middle = low + Math.floor((high - low) / 2);
    const filter = { fromHeight: middle, toHeight: whole.toHeight };
    const [event] = await log.read({ filter, order: "asc", limit: 1 });
    if (event !== undefined && closeTimeOf(event) < time) {
      before = Math.max(before, heightOfEvent(event));
      low = before + 1;
    } else {
      // The first event in the log from this height on need not be the lowest: a late one may come after it.
      if (event !== undefined) after = Math.min(after, heightOfEvent(event));
      high = middle;
    }
  }
  return { before, after };
}

const closeTimeOf = ({ ledgerClosedAt }: PublicEvent) => Date.parse(ledgerClosedAt) / 1_000;
