import type { LoggedEvent } from "../store/event.ts";
import { LogTail } from "../store/log_tail.ts";
import type { HistoryGap, LogBounds, Store } from "../store/store.ts";
import { isPartOf } from "./notices.ts";
import type { EventStream } from "./stream.ts";

/**
 * Passes new events and gaps to live streams, with one read of the log for all. `stream.ts` decides when a stream joins,
 * and what it does when it falls behind.
 */
export function createStreamFeed(
  store: Pick<Store, "events" | "references">,
  streams: ReadonlyMap<EventStream, unknown>,
) {
  // A client that reconnects learns that its cursor is ahead of the log.
  const log = new LogTail(store, () => {
    for (const stream of streams.keys()) stream.end("cut");
  });
  /** The streams that receive events after `log.tail`. */
  const live = new Set<EventStream>();
  let toldGaps: readonly HistoryGap[] = [];

  /** Reads the ends of the log, and sends new gaps to the streams. */
  async function look(): Promise<LogBounds> {
    const bounds = await log.look();
    const gaps = log.watcher?.gaps ?? [];
    for (const gap of gaps) {
      if (toldGaps.some((one) => isPartOf(gap, one))) continue;
      for (const stream of streams.keys()) stream.tellGap(gap);
    }
    toldGaps = gaps;
    return bounds;
  }

  function distribute(from: number, events: LoggedEvent[], upTo: number): void {
    // Sequences have no holes: retention deleted a missing event. Each stream reports that when it reads the log.
    const isWhole = events[0]?.sequence === from + 1;
    for (const stream of live) {
      // A stream that joined meanwhile may be behind the start of this read.
      if (isWhole && stream.sequence >= from && stream.enqueue(events, upTo)) continue;
      live.delete(stream);
      stream.fallBehind();
    }
  }

  return {
    log,
    look,
    /**
     * Adds a stream that has read the whole log. False when the feed has passed on events that the stream has not read.
     */
    join(stream: EventStream): boolean {
      if (!streams.has(stream)) return false;
      if (live.size === 0) log.tail = Math.max(log.tail, stream.sequence);
      if (stream.sequence < log.tail) return false;
      live.add(stream);
      return true;
    },
    leave: (stream: EventStream) => void live.delete(stream),
    /** Reads new events. */
    async read(): Promise<void> {
      const { last } = await look();
      while (log.tail < last) {
        const from = log.tail;
        await log.readOn(last, live.size === 0 ? undefined : (events, upTo) => distribute(from, events, upTo));
      }
    },
  };
}
