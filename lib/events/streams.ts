import type { Clock } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import { createLoop } from "../loop.ts";
import type { Head } from "../stellar/head.ts";
import type { HistoryGap, Store, WatcherState } from "../store/store.ts";
import type { CursorParts } from "./cursor.ts";
import type { History } from "./history.ts";
import { createLogReader, type Start, type Subjects } from "./log_reader.ts";
import { isPartOf } from "./notices.ts";
import { createStream, type EventStream, type FedStream, MOST_WAITING, type StreamFrame } from "./stream.ts";

export interface StreamRequest extends Omit<Start, "order"> {
  subjects: Subjects;
  /** The cursor of the last frame that a former stream has sent: beats the rest. */
  lastEventId?: string;
  /** Whose key opens it: each has so many at most. */
  keyId: string;
  /** Why the key no longer stands; undefined: it does. Asked several times a second. */
  refusal(): string | undefined | Promise<string | undefined>;
}

/** The history, pushed: what is held, and then what comes. */
export interface EventStreams {
  /**
   * Opens a stream. Throws `invalid_request` as a page of history does, `rate_limited` when the key has as many as it may,
   * `unavailable` when the gateway has, or is about to stop. A `lastEventId` from before what is held is no mistake: the
   * stream begins with a gap that says so.
   */
  open(request: StreamRequest): Promise<EventStream>;
  /** The log may have grown. */
  wake(): void;
  /** Ends all that is open and opens no more. */
  drain(): void;
  stop(): Promise<void>;
  /** How many are open. */
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
/** How often streams are looked at: what became of their keys, and whether they are read. */
const LOOK_MS = 300;
/** Streams that were not looked at for so long stood still with this process. */
const STANDSTILL_MS = 1_000;
const LEDGER_MS = 5_000;
/** A reader that has not taken what it was sent for so long is ended; it comes back with `Last-Event-ID`. */
const UNREAD_MS = 30_000;
const OPEN_AGAIN_SECONDS = 5;

/** What is known of a stream beside itself. */
interface Entry {
  keyId: string;
  refusal: StreamRequest["refusal"];
  vetting: Promise<void> | undefined;
  /** When its key was asked for last, monotonic. */
  vettedAtMs: number;
  /** How much its reader had taken when it was looked at last, and since when it has taken no more, monotonic. */
  taken: number;
  takenAtMs: number;
}

/**
 * Feeds all live streams: what is new of the log is read once, and handed to those that have read what was before. Who is
 * behind reads by itself. Without streams it rests.
 */
export function createEventStreams({ store, history, head, clock, onProblem }: StreamsParts): EventStreams {
  const { events: log } = store;
  const reader = createLogReader(store);
  const streams = new Map<FedStream, Entry>();
  /** Those that are handed what is new after `tail`. */
  const live = new Set<FedStream>();
  /** Keys of streams that are about to be open. */
  const opening: string[] = [];
  let tail = 0;
  let gaps: readonly HistoryGap[] = [];
  let storedLedger = 0;
  let hasNews = false;
  let isFailing = false;
  let readAtMs = -Infinity;
  let toldLedgerAtMs = -Infinity;
  let lookedAtMs = -Infinity;
  let isDraining = false;

  const latestLedger = () => head.sequence || storedLedger;

  // --- opening -------------------------------------------------------------------------------------------------------

  async function begin(request: StreamRequest): Promise<{ place: CursorParts; first: StreamFrame[] }> {
    const { fromLedger, cursor, lastEventId } = request;
    const [state, bounds] = await Promise.all([log.watcherState(), log.bounds()]);
    learn(state);
    const first: StreamFrame[] = [];
    // What was forgotten since is told by the stream itself.
    const place = lastEventId === undefined
      ? await reader.begin({ fromLedger, cursor }, state?.epoch ?? 0, bounds)
      : await reader.begin({ cursor: lastEventId }, 0, { ...bounds, forgotten: 0 });
    if (place.order === "desc") {
      const message = "cursor is of a descending page, and a stream ascends";
      throw new GatewayError("invalid_request", message, { param: "cursor" });
    }
    if (place.ceiling !== 0) {
      const message =
        "cursor is of a page with toLedger, and has passed over what is beyond: begin again with fromLedger";
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
      const message = `as many streams are open as the gateway has: ${STREAM_LIMITS.inAll}`;
      throw new GatewayError("unavailable", message, { headers });
    }
    if (keys.filter((id) => id === keyId).length >= STREAM_LIMITS.perKey) {
      const message = `this key has as many streams open as it may: ${STREAM_LIMITS.perKey}`;
      throw new GatewayError("rate_limited", message, { headers });
    }
  }

  /** Whoever has read all that is held hears what is new; not one that has to read what the others were handed meanwhile. */
  function join(stream: FedStream): boolean {
    if (!streams.has(stream)) return false;
    if (live.size === 0) {
      tail = stream.sequence;
      // While nobody was live nobody read what is beyond it.
      hasNews = true;
      loop.wake();
    }
    if (stream.sequence < tail) return false;
    live.add(stream);
    return true;
  }

  // --- feeding -------------------------------------------------------------------------------------------------------

  async function readNews(): Promise<void> {
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

  function leaveAll(): void {
    for (const stream of live) stream.fallBehind();
    live.clear();
  }

  function learn(state: WatcherState | undefined): void {
    if (state === undefined) return;
    const known = gaps;
    gaps = state.gaps;
    storedLedger = state.latestLedger;
    for (const gap of gaps) {
      if (known.some((one) => isPartOf(gap, one))) continue;
      for (const stream of streams.keys()) stream.tellGap(gap);
    }
  }

  async function tryReadNews(nowMs: number): Promise<void> {
    // Where several gateways share a store and none of this one's loops looks, as in isolates, nothing else would wake it.
    if (!hasNews && !(store.isShared && nowMs - readAtMs >= LEDGER_MS)) return;
    hasNews = false;
    readAtMs = nowMs;
    try {
      await readNews();
      isFailing = false;
    } catch (cause) {
      if (!isFailing) onProblem("what is new of the log cannot be read for live streams; trying on", cause);
      isFailing = hasNews = true;
    }
  }

  // --- looking after -------------------------------------------------------------------------------------------------

  /**
   * Ends a stream whose key no longer stands. While that cannot be told, as when the store fails, it goes on. What was asked
   * for long ago is asked for again: a late answer is an old one.
   */
  function vet(stream: FedStream, entry: Entry): void {
    const nowMs = clock.monotonicMs();
    if (entry.vetting !== undefined && nowMs - entry.vettedAtMs < STANDSTILL_MS) return;
    entry.vettedAtMs = nowMs;
    const judge = (refusal: string | undefined) => refusal !== undefined && stream.end({ revoked: refusal });
    const refusal = entry.refusal();
    if (!(refusal instanceof Promise)) return void judge(refusal);
    const vetting: Promise<void> = refusal.then(judge, () => {}).then(() => {
      if (entry.vetting === vetting) entry.vetting = undefined;
    });
    entry.vetting = vetting;
  }

  /** While this gateway stood still any key may have been disabled: nothing is told of what happened since before that is known. */
  async function vetAfterStandstill(nowMs: number): Promise<void> {
    if (nowMs - lookedAtMs >= STANDSTILL_MS) {
      for (const [stream, entry] of streams) vet(stream, entry);
      await Promise.all(Array.from(streams.values(), ({ vetting }) => vetting));
    }
    lookedAtMs = nowMs;
  }

  /** Who reads on by itself may do so before the others are looked at, or have been opened while the store was slow. */
  async function vetReader(stream: FedStream): Promise<void> {
    const entry = streams.get(stream);
    if (entry === undefined) return;
    if (clock.monotonicMs() - entry.vettedAtMs >= STANDSTILL_MS) vet(stream, entry);
    await entry.vetting;
  }

  function lookAfter(nowMs: number): void {
    const isTime = nowMs - toldLedgerAtMs >= LEDGER_MS;
    if (isTime) toldLedgerAtMs = nowMs;
    for (const [stream, entry] of streams) {
      vet(stream, entry);
      if (stream.isAsked || stream.taken !== entry.taken) entry.takenAtMs = nowMs;
      else if (nowMs - entry.takenAtMs >= UNREAD_MS) stream.end("cut");
      entry.taken = stream.taken;
      if (isTime) stream.tellLedger(latestLedger());
    }
  }

  const loop = createLoop({
    wait: clock.wait,
    onProblem: (cause) => onProblem("live streams cannot be fed; trying on", cause),
    async step() {
      if (streams.size === 0) return Infinity;
      await vetAfterStandstill(clock.monotonicMs());
      await tryReadNews(clock.monotonicMs());
      lookAfter(clock.monotonicMs());
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
          join,
          vet: vetReader,
          latestLedger,
          gaps: () => gaps,
          onClose() {
            streams.delete(stream);
            live.delete(stream);
          },
        });
        const takenAtMs = clock.monotonicMs();
        streams.set(stream, { keyId, refusal, vetting: undefined, vettedAtMs: -Infinity, taken: 0, takenAtMs });
        loop.start();
        loop.wake();
        return stream;
      } finally {
        opening.splice(opening.indexOf(keyId), 1);
      }
    },
    wake() {
      if (streams.size === 0) return;
      hasNews = true;
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
