import type { Endpoints } from "./api_types.ts";
import { type Connection, type Failure, pause, type Result } from "./request.ts";
import { serverSentEvents } from "./server_sent_events.ts";

/** One event of the contracts. */
export type GatewayEvent = Endpoints["GET /v1/events/:id"]["answer"];
export type EventType = GatewayEvent["type"];

/** The filters of event pages and streams. */
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
  /** The history ends here; all further events are new. */
  | { type: "caught_up"; latestLedger: number }
  /** The latest ledger, every few seconds while the stream is open. */
  | { type: "ledger"; latestLedger: number }
  /** Events may be missing: see `GET /v1/events/stream`. */
  | { type: "gap"; reason: string; [field: string]: unknown }
  /** The gateway does not answer, and the feed retries. No event of this time is lost. */
  | { type: "away"; failure: Failure };

export interface EventFeedOptions extends EventSubjects {
  /** The first ledger. Without this and `cursor` the feed begins at the oldest event. */
  fromLedger?: number;
  /** Only events of ledgers that closed at this time or later: ISO 8601 with its zone, or Unix seconds. */
  from?: string | number;
  /** Only events of ledgers that closed before this time. The feed ends after the history. */
  to?: string | number;
  /** Where to continue: `feed.cursor` of an earlier feed, or the cursor of a page. */
  cursor?: string;
  /** Whether the feed goes on after the history; true when absent, and never with `to`. */
  live?: boolean;
  /** Called with each notice between events. When it throws, the feed ends with that error. */
  onNotice?(notice: EventNotice): void;
  /** Ends the feed, without an error. */
  signal?: AbortSignal;
  /** How long to retry a gateway that does not answer before the feed fails, milliseconds; for ever when absent. */
  maxAwayMs?: number;
}

/** Events in the order of the log, each exactly once. Read it with one `for await`. */
export interface EventFeed extends AsyncIterable<GatewayEvent> {
  /**
   * The position after the last event; store it together with the event's result. Undefined before the first event. At a
   * gateway without streams it is the position after the last whole page.
   */
  readonly cursor: string | undefined;
}

/** The feed cannot go on: the gateway refuses, or did not answer for too long. */
export class FeedError extends Error {
  override name = "FeedError";

  constructor(readonly failure: Failure) {
    super(`${failure.reason}: ${failure.message}`);
  }
}

interface Frame {
  event: string;
  id: string;
  // deno-lint-ignore no-explicit-any -- the event's parsed data
  data: any;
}

type Page = Endpoints["GET /v1/events"]["answer"];

const PAGE_EVENTS = 1_000;
/** The pause between pages of a gateway without streams. */
const POLL_MS = 1_000;
/** The gateway sends something every five seconds. */
const SILENCE_MS = 30_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/** Creates a feed, whose iterator throws `FeedError` when it cannot go on. */
export function createEventFeed(connection: Connection, options: EventFeedOptions): EventFeed {
  const { signal, onNotice = () => {}, from, to } = options;
  const live = (options.live ?? true) && to === undefined;
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

  /** Waits before the next try. @throws {FeedError} when there is none */
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

  /** @param then what follows the history */
  async function* pages(then: "polls" | "stream" | "end"): AsyncGenerator<GatewayEvent> {
    let hasCaughtUp = false;
    while (!signal?.aborted) {
      const path = `/v1/events${query({ limit: PAGE_EVENTS, from, to })}`;
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
      if (then === "stream") return;
      if (!hasCaughtUp) onNotice({ type: "caught_up", latestLedger: page.latestLedger });
      hasCaughtUp = true;
      if (then === "end") return;
      await pause(POLL_MS, signal);
    }
  }

  /** Reads one stream to its end, and returns how to go on. */
  async function* stream(): AsyncGenerator<GatewayEvent, "again" | "by pages" | "done"> {
    const silent = new AbortController();
    let timer = setTimeout(() => silent.abort(new Error("the stream is silent")), SILENCE_MS);
    const resetTimer = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(new Error("the stream is silent")), SILENCE_MS);
    };
    const either = signal === undefined ? silent.signal : AbortSignal.any([signal, silent.signal]);
    try {
      const headers: Record<string, string> = { accept: "text/event-stream" };
      const opened = await connection.open(`/v1/events/stream${query()}`, headers, either);
      if ("reason" in opened) {
        // A gateway without streams reads "stream" as an event's id.
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
        resetTimer();
        isBack();
        if (event === "revoked") throw new FeedError(revoked(data.reason));
        if (event === "message") {
          // The time that the reader takes for an event does not count as silence.
          clearTimeout(timer);
          cursor = id;
          if (!isEarlier(data)) yield data;
          resetTimer();
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

  /** Whether an event is from before `from`. The gateway's stream may send such an event late. */
  function isEarlier({ ledgerClosedAt }: GatewayEvent): boolean {
    if (from === undefined) return false;
    const fromMs = /^\d+$/.test(String(from)) ? Number(from) * 1_000 : Date.parse(String(from));
    return Date.parse(ledgerClosedAt) < fromMs;
  }

  async function* all(): AsyncGenerator<GatewayEvent> {
    // Only pages select by time.
    if (from !== undefined || to !== undefined) {
      yield* pages(live ? "stream" : "end");
      if (!live) return;
    }
    let next: "again" | "by pages" | "done" = "again";
    while (next === "again" && !signal?.aborted) next = yield* stream();
    if (next === "by pages" && !signal?.aborted) yield* pages(live ? "polls" : "end");
  }

  return {
    get cursor() {
      return cursor;
    },
    [Symbol.asyncIterator]: all,
  };
}

/** The frames of a stream, and last the failure that ended it, so that an error in the reading loop is the reader's own. */
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
  return { ok: false, reason: "unauthorized", message: `the API key is no longer valid: ${reason}`, retry: "never" };
}
