/*
 * Opens live streams, limits their number, and runs one loop for all. `stream.ts` is one stream; `stream_feed.ts` and
 * `stream_watch.ts` do the work of the loop.
 */

import type { Clock } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import { createLoop } from "../loop.ts";
import type { Head } from "../stellar/head.ts";
import type { Store } from "../store/store.ts";
import type { CursorParts } from "./cursor.ts";
import type { History } from "./history.ts";
import { createLogReader, type Start, type Subjects } from "./log_reader.ts";
import { createStream, type EventStream, type FedStream, type StreamFrame } from "./stream.ts";
import { createStreamFeed } from "./stream_feed.ts";
import { createStreamWatch, type WatchedStream } from "./stream_watch.ts";

export interface StreamRequest extends Omit<Start, "order"> {
  subjects: Subjects;
  /** The cursor of the last frame of an earlier stream. Overrides the other fields. */
  lastEventId?: string;
  /** The key that opens it. Each may have a limited number. */
  keyId: string;
  /** Why the key is no longer valid; undefined while it is. Called several times a second. */
  refusal(): string | undefined | Promise<string | undefined>;
}

/** The event history as live streams: stored events, then new ones. */
export interface EventStreams {
  /**
   * Opens a stream. A `lastEventId` older than the stored events is no error: the stream begins with a gap.
   * @throws {GatewayError} `invalid_request` as a page of history does; `rate_limited` when the key has too many open
   * @throws {GatewayError} `unavailable` when the gateway has too many open, or stops
   */
  open(request: StreamRequest): Promise<EventStream>;
  /** Call it when the log may have grown. */
  wake(): void;
  /** Ends all streams and opens no more. */
  drain(): void;
  stop(): Promise<void>;
  /** How many streams are open. */
  readonly size: number;
}

export interface StreamsParts {
  store: Pick<Store, "id" | "events" | "isShared">;
  history: Pick<History, "oldestLedger">;
  head: Pick<Head, "sequence">;
  clock: Clock;
  onProblem(message: string, cause?: unknown): void;
}

export const STREAM_LIMITS = { perKey: 20, inAll: 1_000 } as const;
/** How often the loop checks keys and clients. */
const LOOK_MS = 300;
const OPEN_AGAIN_SECONDS = 5;

/** Creates the streams. Without any, the loop rests. */
export function createEventStreams({ store, history, head, clock, onProblem }: StreamsParts): EventStreams {
  const { events: log } = store;
  const reader = createLogReader(store);
  const streams = new Map<FedStream, WatchedStream>();
  /** Keys of streams that are opening. */
  const opening: string[] = [];
  let isDraining = false;
  const feed = createStreamFeed({ store, clock, streams, onProblem, wake: () => loop.wake() });
  const latestLedger = () => head.sequence || feed.storedLedger;
  const watch = createStreamWatch({ streams, latestLedger, clock });

  async function begin(request: StreamRequest): Promise<{ place: CursorParts; first: StreamFrame[] }> {
    const { fromLedger, cursor, lastEventId } = request;
    const [state, bounds] = await Promise.all([log.watcherState(), log.bounds()]);
    feed.learn(state);
    const first: StreamFrame[] = [];
    // The stream itself reports events that were deleted since.
    const place = lastEventId === undefined
      ? await reader.begin({ fromLedger, cursor }, state?.epoch ?? 0, bounds)
      : await reader.begin({ cursor: lastEventId }, 0, { ...bounds, forgotten: 0 });
    if (place.order === "desc") {
      const message = "cursor must be of an ascending page or a stream; got one of a descending page";
      throw new GatewayError("invalid_request", message, { param: "cursor" });
    }
    if (place.ceiling !== 0) {
      const message = "cursor is of a page with toLedger, which has skipped later events; begin again with fromLedger";
      throw new GatewayError("invalid_request", message, { param: "cursor" });
    }
    if (lastEventId === undefined && fromLedger !== undefined) {
      const oldestLedger = await history.oldestLedger();
      const isHeld = oldestLedger === null || oldestLedger <= fromLedger;
      if (!isHeld) first.push({ kind: "gap", gap: { reason: "not_held", oldestLedger } });
    }
    return { place, first };
  }

  function refuseTooMany(keyId: string): void {
    const headers = { "Retry-After": String(OPEN_AGAIN_SECONDS) };
    if (isDraining) throw new GatewayError("unavailable", "the gateway is shutting down", { headers });
    const keys = [...Array.from(streams.values(), (entry) => entry.keyId), ...opening];
    if (keys.length >= STREAM_LIMITS.inAll) {
      const message = `the gateway has ${STREAM_LIMITS.inAll} streams open, its limit; retry later`;
      throw new GatewayError("unavailable", message, { headers });
    }
    if (keys.filter((id) => id === keyId).length >= STREAM_LIMITS.perKey) {
      const message = `this key has ${STREAM_LIMITS.perKey} streams open, its limit; close one first`;
      throw new GatewayError("rate_limited", message, { headers });
    }
  }

  const loop = createLoop({
    wait: clock.wait,
    onProblem: (cause) => onProblem("the loop of live streams fails; retrying", cause),
    async step() {
      if (streams.size === 0) return Infinity;
      await watch.afterStandstill();
      await feed.read();
      watch.look();
      return LOOK_MS;
    },
  });

  function drain(): void {
    isDraining = true;
    for (const stream of streams.keys()) stream.end("drained");
  }

  return {
    async open(request) {
      const { keyId, refusal, subjects } = request;
      refuseTooMany(keyId);
      opening.push(keyId);
      try {
        const { place, first } = await begin(request);
        if (isDraining) throw new GatewayError("unavailable", "the gateway is shutting down");
        const stream: FedStream = createStream({
          reader,
          bounds: () => log.bounds(),
          oldestLedger: history.oldestLedger,
          place,
          subjects,
          first,
          join: feed.join,
          checkKey: watch.beforeReading,
          latestLedger,
          gaps: () => feed.gaps,
          onClose() {
            streams.delete(stream);
            feed.leave(stream);
          },
        });
        const takenAtMs = clock.monotonicMs();
        streams.set(stream, { keyId, refusal, asking: undefined, askedAtMs: -Infinity, taken: 0, takenAtMs });
        loop.start();
        loop.wake();
        return stream;
      } finally {
        opening.splice(opening.indexOf(keyId), 1);
      }
    },
    wake() {
      if (streams.size === 0) return;
      feed.notify();
      loop.wake();
    },
    drain,
    async stop() {
      drain();
      await loop.stop();
    },
    get size() {
      return streams.size;
    },
  };
}
