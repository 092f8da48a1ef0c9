import type { Endpoints } from "./api_types.ts";
import { type Connection, type Failure, pause, type Result } from "./request.ts";
import { serverSentEvents } from "./server_sent_events.ts";

/** One event of the contracts. */
export type GatewayEvent = Endpoints["GET /v1/events/:id"]["answer"];
export type EventType = GatewayEvent["type"];

/** Which events, as pages and streams take them. */
export interface EventSubjects {
  types?: readonly EventType[];
  deviceHash?: string;
  merchant?: string;
  agent?: string;
  /** Only the events of this transaction. */
  txHash?: string;
}

/** A notice between events. */
export type EventNotice =
  /** The history is complete; only new events follow. */
  | { type: "caught_up"; latestLedger: number }
  /** The network's height, every few seconds while the stream lives. */
  | { type: "ledger"; latestLedger: number }
  /** Events may be missing: see `GET /v1/events/stream`. */
  | { type: "gap"; reason: string; [field: string]: unknown }
  /** The gateway is unreachable, and the client retries. Events of that time are not lost. */
  | { type: "away"; failure: Failure };

export interface EventFeedOptions extends EventSubjects {
  /** From this ledger on; everything that is held when neither this nor `cursor` is there. */
  fromLedger?: number;
  /** Right after what this cursor stands for: `feed.cursor` of an earlier feed, or of a page. */
  cursor?: string;
  /** Whether to go on after the history; true when absent. */
  live?: boolean;
  /** Told what is said between events; what it throws ends the feed. */
  onNotice?(notice: EventNotice): void;
  /** Ends the feed, without an error. */
  signal?: AbortSignal;
  /** How long the gateway may be away before the feed fails, milliseconds; for ever when absent. */
  maxAwayMs?: number;
}

/** Events in the order of the log, each exactly once; `for await` reads it, once. */
export interface EventFeed extends AsyncIterable<GatewayEvent> {
  /**
   * The position after the last event: store it together with your result of that event. Absent before the first. Of a
   * gateway that has no stream it is that of the last whole page.
   */
  readonly cursor: string | undefined;
}

/** A feed that cannot go on: the gateway refuses, or was away too long. */
export class FeedError extends Error {
  override name = "FeedError";

  constructor(readonly failure: Failure) {
    super(`${failure.reason}: ${failure.message}`);
  }
}

interface Frame {
  event: string;
  id: string;
  // deno-lint-ignore no-explicit-any -- what the event says
  data: any;
}

type Page = Endpoints["GET /v1/events"]["answer"];

const PAGE_EVENTS = 1_000;
/** How often a gateway without a stream is asked. */
const POLL_MS = 1_000;
/** The gateway says something every five seconds. */
const SILENCE_MS = 30_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/** @throws {FeedError} from its iterator, when it cannot go on */
export function createEventFeed(connection: Connection, options: EventFeedOptions): EventFeed {
  const { signal, onNotice = () => {}, live = true } = options;
  let cursor = options.cursor;
  let awaySince: number | undefined;
  let pauses = 0;

  function query(more: Record<string, string | number | undefined> = {}): string {
    const { types, deviceHash, merchant, agent, txHash } = options;
    const start = cursor === undefined ? { fromLedger: options.fromLedger } : { cursor };
    const all = { ...start, types: types?.join(","), deviceHash, merchant, agent, txHash, ...more };
    const given = Object.entries(all).filter(([, value]) => value !== undefined);
    return given.length === 0 ? "" : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
  }

  /** Waits before the next try; throws when there is none. */
  async function away(failure: Failure): Promise<void> {
    if (signal?.aborted) return;
    awaySince ??= Date.now();
    const isHopeless = failure.retry === "never" || failure.reason === "unauthorized";
    if (isHopeless || Date.now() - awaySince > (options.maxAwayMs ?? Infinity)) throw new FeedError(failure);
    onNotice({ type: "away", failure });
    await pause(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** pauses++), signal);
  }

  function isBack(): void {
    awaySince = undefined;
    pauses = 0;
  }

  async function* pages(): AsyncGenerator<GatewayEvent> {
    let hasCaughtUp = false;
    while (!signal?.aborted) {
      const path = `/v1/events${query({ limit: PAGE_EVENTS })}`;
      const page: Result<Page> = await connection.request("GET", path, undefined, { signal });
      if (!page.ok) {
        await away(page);
        continue;
      }
      isBack();
      for (const event of page.events) {
        if (signal?.aborted) return;
        yield event;
      }
      cursor = page.cursor;
      if (page.events.length === PAGE_EVENTS) continue;
      if (!hasCaughtUp) onNotice({ type: "caught_up", latestLedger: page.latestLedger });
      hasCaughtUp = true;
      if (!live) return;
      await pause(POLL_MS, signal);
    }
  }

  /** Reads one stream to its end, and answers how it goes on. */
  async function* stream(): AsyncGenerator<GatewayEvent, "again" | "by pages" | "done"> {
    const silent = new AbortController();
    let timer = setTimeout(() => silent.abort(new Error("the stream is silent")), SILENCE_MS);
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(new Error("the stream is silent")), SILENCE_MS);
    };
    const either = signal === undefined ? silent.signal : AbortSignal.any([signal, silent.signal]);
    try {
      const headers: Record<string, string> = { accept: "text/event-stream" };
      const opened = await connection.open(`/v1/events/stream${query()}`, headers, either);
      if ("reason" in opened) {
        // A gateway from before there were streams takes the word for the id of an event.
        if (isUnknown(opened)) return "by pages";
        await away(opened);
        return "again";
      }
      for await (const frame of framesOf(opened.body!)) {
        if ("reason" in frame) {
          await away(frame);
          break;
        }
        const { event, id, data } = frame;
        heard();
        isBack();
        if (event === "revoked") throw new FeedError(revoked(data.reason));
        if (event === "message") {
          // A slow consumer does not count as a silent stream.
          clearTimeout(timer);
          cursor = id;
          yield data;
          heard();
        } else {
          if (id !== "") cursor = id;
          onNotice({ type: event, ...data });
          if (event === "caught_up" && !live) return "done";
        }
        if (signal?.aborted) return "done";
      }
      return "again";
    } finally {
      clearTimeout(timer);
    }
  }

  async function* all(): AsyncGenerator<GatewayEvent> {
    let next: "again" | "by pages" | "done" = "again";
    while (next === "again" && !signal?.aborted) next = yield* stream();
    if (next === "by pages" && !signal?.aborted) yield* pages();
  }

  return {
    get cursor() {
      return cursor;
    },
    [Symbol.asyncIterator]: all,
  };
}

/** The frames of a stream, and at the end its outcome. Errors thrown by the consumer are the consumer's own. */
async function* framesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame | Failure> {
  let end = "the stream ended";
  try {
    for await (const { event, id, data } of serverSentEvents(body)) yield { event, id, data: JSON.parse(data) };
  } catch (cause) {
    end = cause instanceof Error ? cause.message : String(cause);
  }
  yield lost(end);
}

function isUnknown({ status, param }: Failure): boolean {
  return status === 404 || (status === 400 && param === "id");
}

function lost(message: string): Failure {
  return { ok: false, reason: "unreachable", message, retry: "same" };
}

function revoked(reason: string): Failure {
  return { ok: false, reason: "unauthorized", message: `the API key no longer stands: ${reason}`, retry: "never" };
}
