/*
 * Opens live streams, limits their number, and runs one loop for all. `stream.ts` is one stream, and `stream_feed.ts`
 * passes new events.
 */

import { setImmediate } from "node:timers";
import type { Clock } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import { createLoop } from "../loop.ts";
import type { Head } from "../stellar/head.ts";
import type { Store } from "../store/store.ts";
import type { CursorParts } from "./cursor.ts";
import type { History } from "./history.ts";
import { createLogReader, type Start, type Subjects } from "./log_reader.ts";
import { EventStream, type StreamFrame } from "./stream.ts";
import { createStreamFeed } from "./stream_feed.ts";

export interface StreamRequest extends Omit<Start, "order"> {
  subjects: Subjects;
  /** The cursor of the last frame of an earlier stream. Overrides the other fields. */
  lastEventId?: string;
  /** The key that opens it. Each may have a limited number. */
  keyId: string;
  /** Why the key is no longer valid; undefined while it is. Called several times a second. */
  refusal(): string | undefined | Promise<string | undefined>;
}

export interface StreamsParts {
  store: Pick<Store, "id" | "events" | "references">;
  history: Pick<History, "oldestLedger">;
  head: Pick<Head, "sequence">;
  clock: Clock;
  onProblem(message: string, cause?: unknown): void;
}

export const STREAM_LIMITS = { perKey: 20, inAll: 1_000 } as const;
/** How often the loop checks keys and clients, and reads the log without a wake-up: other processes write to it too. */
const LOOK_MS = 500;
const LEDGER_MS = 5_000;
/** Longer than a check of a key takes. After that the process was suspended, or the store is slow. */
const STANDSTILL_MS = 1_000;
/** A client that takes nothing for this long is cut off. It reconnects with `Last-Event-ID`. */
const UNREAD_MS = 30_000;
const OPEN_AGAIN_SECONDS = 5;

/** The event history as live streams: stored events, then new ones. Without any, the loop rests. */
export function createEventStreams({ store, history, head, clock, onProblem }: StreamsParts) {
  const { events: log } = store;
  const reader = createLogReader(store);
  /** Open streams, and the id of the key of each. */
  const streams = new Map<EventStream, string>();
  /** Keys of streams that are opening. */
  const opening: string[] = [];
  let isDraining = false;
  let toldLedgerAtMs = clock.monotonicMs();
  let isFailing = false;
  const feed = createStreamFeed(store, streams);
  const latestLedger = () => head.sequence || (feed.log.watcher?.latestLedger ?? 0);

  async function begin(request: StreamRequest): Promise<{ place: CursorParts; first: StreamFrame[] }> {
    const { fromLedger, cursor, lastEventId } = request;
    const bounds = await feed.look();
    const first: StreamFrame[] = [];
    // The stream itself reports events that were deleted since.
    const place = lastEventId === undefined
      ? await reader.begin({ fromLedger, cursor }, feed.log.watcher?.epoch ?? 0, bounds)
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
    const keys = [...streams.values(), ...opening];
    if (keys.length >= STREAM_LIMITS.inAll) {
      const message = `the gateway has ${STREAM_LIMITS.inAll} streams open, its limit; retry later`;
      throw new GatewayError("unavailable", message, { headers });
    }
    if (keys.filter((id) => id === keyId).length >= STREAM_LIMITS.perKey) {
      const message = `this key has ${STREAM_LIMITS.perKey} streams open, its limit; close one first`;
      throw new GatewayError("rate_limited", message, { headers });
    }
  }

  /** Checks all keys, again when that took long: an answer may be from before a suspension. A slow store delays no event. */
  async function checkKeys(stopping: AbortSignal): Promise<void> {
    for (const isLast of [false, true]) {
      const begunAtMs = clock.monotonicMs();
      const checked = new AbortController();
      const checks = Promise.all(Array.from(streams.keys(), (stream) => stream.checkKey()));
      const timeUp = clock.wait(STANDSTILL_MS, AbortSignal.any([checked.signal, stopping]));
      await Promise.race([checks, timeUp]).finally(() => checked.abort());
      if (isLast || clock.monotonicMs() - begunAtMs < STANDSTILL_MS) return;
    }
  }

  /** Reads new events. A store that fails is reported once, and the next pass reads again. */
  async function readFeed(): Promise<void> {
    try {
      await feed.read();
      isFailing = false;
    } catch (cause) {
      if (!isFailing) onProblem("new events for live streams cannot be read; retrying", cause);
      isFailing = true;
    }
  }

  const loop = createLoop({
    wait: clock.wait,
    onProblem: (cause) => onProblem("live streams cannot go on; retrying", cause),
    async step(stopping) {
      if (streams.size === 0) return Infinity;
      // First, because a key may have been disabled while this process was suspended.
      await checkKeys(stopping);
      await readFeed();
      const nowMs = clock.monotonicMs();
      const isTime = nowMs - toldLedgerAtMs >= LEDGER_MS;
      if (isTime) toldLedgerAtMs = nowMs;
      for (const stream of streams.keys()) {
        if (nowMs - stream.unreadSinceMs >= UNREAD_MS) stream.end("cut");
        else if (isTime) stream.tellLedger(latestLedger());
      }
      return LOOK_MS;
    },
  });

  function drain(): void {
    isDraining = true;
    for (const stream of streams.keys()) stream.end("drained");
  }

  return {
    /**
     * Opens a stream. A `lastEventId` older than the stored events is no error: the stream begins with a gap.
     * @throws {GatewayError} `invalid_request` as a page of history does; `rate_limited` when the key has too many open
     * @throws {GatewayError} `unavailable` when the gateway has too many open, or stops
     */
    async open(request: StreamRequest): Promise<EventStream> {
      const { keyId, refusal, subjects } = request;
      refuseTooMany(keyId);
      opening.push(keyId);
      try {
        const { place, first } = await begin(request);
        if (isDraining) throw new GatewayError("unavailable", "the gateway is shutting down");
        const stream = new EventStream({
          reader,
          bounds: () => log.bounds(),
          oldestLedger: history.oldestLedger,
          place,
          subjects,
          keyId,
          first,
          join: feed.join,
          refusal,
          monotonicMs: clock.monotonicMs,
          latestLedger,
          gaps: () => feed.log.watcher?.gaps ?? [],
          onClose(closed) {
            streams.delete(closed);
            feed.leave(closed);
          },
        });
        streams.set(stream, keyId);
        loop.start();
        // The stream reads the log first.
        setImmediate(loop.wake);
        return stream;
      } finally {
        opening.splice(opening.indexOf(keyId), 1);
      }
    },
    /** Call it when the log may have grown. */
    wake: loop.wake,
    /** Ends all streams and opens no more. */
    drain,
    async stop(): Promise<void> {
      drain();
      await loop.stop();
    },
    /** How many streams are open. */
    get size(): number {
      return streams.size;
    },
  };
}

export type EventStreams = ReturnType<typeof createEventStreams>;
