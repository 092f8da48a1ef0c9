/*
 * Reads new events of the log once for all live streams and passes them on. `stream.ts` decides when a stream joins,
 * and what it does when it falls behind.
 */

import type { Clock } from "../clock.ts";
import type { HistoryGap, Store, WatcherState } from "../store/store.ts";
import { isPartOf } from "./notices.ts";
import { type FedStream, MOST_WAITING } from "./stream.ts";

/** Passes new events to live streams, with one read of the log for all. */
export interface StreamFeed {
  /** The current gaps. */
  readonly gaps: readonly HistoryGap[];
  /** The stored head; 0 before the first commit. */
  readonly storedLedger: number;
  /** Call it when the log may have grown. */
  notify(): void;
  /** Takes the stored state, and sends new gaps to the streams. */
  learn(state: WatcherState | undefined): void;
  /**
   * Adds a stream that has read the whole log. False when the feed has passed on events that the stream has not read.
   */
  join(stream: FedStream): boolean;
  leave(stream: FedStream): void;
  /** Reads new events if there may be some. Never rejects. */
  read(): Promise<void>;
}

export interface StreamFeedParts {
  store: Pick<Store, "events" | "isShared">;
  clock: Pick<Clock, "monotonicMs">;
  /** All open streams. */
  streams: ReadonlyMap<FedStream, unknown>;
  /** Called when there is something to read at once. */
  wake(): void;
  onProblem(message: string, cause?: unknown): void;
}

/** With a shared store and no loop of this gateway, as in isolates, no other signal arrives. */
const SHARED_LOOK_MS = 5_000;

export function createStreamFeed({ store, clock, streams, wake, onProblem }: StreamFeedParts): StreamFeed {
  const { events: log } = store;
  /** The streams that receive events after `tail`. */
  const live = new Set<FedStream>();
  let tail = 0;
  const known: { gaps: readonly HistoryGap[]; storedLedger: number } = { gaps: [], storedLedger: 0 };
  let mayHaveNew = false;
  let isFailing = false;
  let readAtMs = -Infinity;

  function learn(state: WatcherState | undefined): void {
    if (state === undefined) return;
    const { gaps: before } = known;
    Object.assign(known, { gaps: state.gaps, storedLedger: state.latestLedger });
    for (const gap of state.gaps) {
      if (before.some((one) => isPartOf(gap, one))) continue;
      for (const stream of streams.keys()) stream.tellGap(gap);
    }
  }

  function leaveAll(): void {
    for (const stream of live) stream.fallBehind();
    live.clear();
  }

  async function readNew(): Promise<void> {
    const [state, { last }] = await Promise.all([log.watcherState(), log.bounds()]);
    learn(state);
    while (live.size > 0 && tail < last) {
      const from = tail;
      const events = await log.read({ filter: {}, after: from, upTo: last, order: "asc", limit: MOST_WAITING });
      // Sequences have no holes: retention deleted a missing event. Each stream reports that as a gap when it reads the
      // log.
      if (events.length !== Math.min(last - from, MOST_WAITING)) return leaveAll();
      const upTo = events.length === MOST_WAITING ? events.at(-1)!.sequence : last;
      for (const stream of live) {
        // A stream that joined meanwhile may be behind the start of this read.
        const isFed = stream.sequence >= from && stream.hand(events, upTo);
        if (isFed) continue;
        live.delete(stream);
        stream.fallBehind();
      }
      tail = upTo;
    }
  }

  return {
    get gaps() {
      return known.gaps;
    },
    get storedLedger() {
      return known.storedLedger;
    },
    notify: () => void (mayHaveNew = true),
    learn,
    join(stream) {
      if (!streams.has(stream)) return false;
      if (live.size === 0) {
        tail = stream.sequence;
        // Without live streams the feed read nothing of what comes after.
        mayHaveNew = true;
        wake();
      }
      if (stream.sequence < tail) return false;
      live.add(stream);
      return true;
    },
    leave: (stream) => void live.delete(stream),
    async read() {
      const nowMs = clock.monotonicMs();
      if (!mayHaveNew && !(store.isShared && nowMs - readAtMs >= SHARED_LOOK_MS)) return;
      mayHaveNew = false;
      readAtMs = nowMs;
      try {
        await readNew();
        isFailing = false;
      } catch (cause) {
        if (!isFailing) onProblem("new events for live streams cannot be read; retrying", cause);
        isFailing = mayHaveNew = true;
      }
    },
  };
}
