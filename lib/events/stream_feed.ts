import type { Clock } from "../clock.ts";
import type { HistoryGap, Store, WatcherState } from "../store/store.ts";
import { isPartOf } from "./notices.ts";
import { type FedStream, MOST_WAITING } from "./stream.ts";

/** Hands live streams what is new of the log, which is read once for all of them. */
export interface StreamFeed {
  /** Of now. */
  readonly gaps: readonly HistoryGap[];
  /** The head of what is stored; 0 before any. */
  readonly storedLedger: number;
  /** The log may have grown. */
  hasNotification(): void;
  /** Takes in what is known of the history, and tells streams of gaps that have come. */
  learn(state: WatcherState | undefined): void;
  /**
   * Whoever has read all that is held hears what is new; not one that has to read what the others were handed meanwhile:
   * false.
   */
  join(stream: FedStream): boolean;
  leave(stream: FedStream): void;
  /** Reads what is new, where there may be some. Never rejects. */
  read(): Promise<void>;
}

export interface StreamFeedParts {
  store: Pick<Store, "events" | "isShared">;
  clock: Pick<Clock, "monotonicMs">;
  /** All that are open. */
  streams: ReadonlyMap<FedStream, unknown>;
  /** There is something to be read at once. */
  onNotification(): void;
  onProblem(message: string, cause?: unknown): void;
}

/** Where several gateways share a store and none of this one's loops looks, as in isolates, nothing else would tell of news. */
const SHARED_LOOK_MS = 5_000;

export function createStreamFeed({ store, clock, streams, onNotification, onProblem }: StreamFeedParts): StreamFeed {
  const { events: log } = store;
  /** Those that are handed what is new after `tail`. */
  const live = new Set<FedStream>();
  let tail = 0;
  const known: { gaps: readonly HistoryGap[]; storedLedger: number } = { gaps: [], storedLedger: 0 };
  let hasNotification = false;
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

  async function readNotification(): Promise<void> {
    const [state, { last }] = await Promise.all([log.watcherState(), log.bounds()]);
    learn(state);
    while (live.size > 0 && tail < last) {
      const from = tail;
      const events = await log.read({ filter: {}, after: from, upTo: last, order: "asc", limit: MOST_WAITING });
      // Sequences have no holes: what is missing was forgotten already, and each stream says so where it reads on.
      if (events.length !== Math.min(last - from, MOST_WAITING)) return leaveAll();
      const upTo = events.length === MOST_WAITING ? events.at(-1)!.sequence : last;
      for (const stream of live) {
        // One that joined while this was read may have been further back than where it began.
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
    hasNotification: () => void (hasNotification = true),
    learn,
    join(stream) {
      if (!streams.has(stream)) return false;
      if (live.size === 0) {
        tail = stream.sequence;
        // While nobody was live nobody read what is beyond it.
        hasNotification = true;
        onNotification();
      }
      if (stream.sequence < tail) return false;
      live.add(stream);
      return true;
    },
    leave: (stream) => void live.delete(stream),
    async read() {
      const nowMs = clock.monotonicMs();
      if (!hasNotification && !(store.isShared && nowMs - readAtMs >= SHARED_LOOK_MS)) return;
      hasNotification = false;
      readAtMs = nowMs;
      try {
        await readNotification();
        isFailing = false;
      } catch (cause) {
        if (!isFailing) onProblem("what is new of the log cannot be read for live streams; trying on", cause);
        isFailing = hasNotification = true;
      }
    },
  };
}
