/*
 * One live stream: it pages through the log, then receives new events. A slow one falls behind and reads the log again.
 * `stream_feed.ts` passes new events, `stream_watch.ts` ends streams, and `streams.ts` opens them.
 */

import {
  type EventFilter,
  heightOf,
  type LoggedEvent,
  matches,
  type PublicEvent,
  publicEvent,
} from "../store/event.ts";
import type { HistoryGap, LogBounds } from "../store/store.ts";
import { type CursorParts, encodeCursor, markOf } from "./cursor.ts";
import type { LogReader, Subjects } from "./log_reader.ts";

/** Events that a client may have missed. */
export type StreamGap =
  /** The client asked for events before the oldest stored one, or retention deleted some before they were sent. */
  | { reason: "not_held"; oldestLedger: number | null }
  /** No node holds the events of these ledgers. They come late, or never. */
  | ({ reason: "not_read" } & Omit<HistoryGap, "reason">);

/** One frame of a live stream. A page or stream from `cursor` continues right after it. */
export type StreamFrame =
  | { kind: "event"; cursor: string; event: PublicEvent }
  /** The stream has sent all stored events; new ones follow. Sent once in a stream. */
  | { kind: "caught_up"; cursor: string; latestLedger: number }
  /** Sent every few seconds as a sign of life, with the latest ledger. */
  | { kind: "ledger"; cursor: string; latestLedger: number }
  | { kind: "gap"; gap: StreamGap }
  /** The last frame: the key is no longer valid, and why. */
  | { kind: "revoked"; reason: string };

/** A stream for its client. */
export interface EventStream {
  /** The next frames, at most a page; undefined at the end. Call it again after sending them. */
  next(): Promise<StreamFrame[] | undefined>;
  /** The client has left. */
  close(): void;
}

/** A stream for the feed. */
export interface FedStream extends EventStream {
  /** The stream has read all up to this sequence. */
  readonly sequence: number;
  /** Whether the client waits for frames. */
  readonly isAsked: boolean;
  /** How many pages of frames the client has taken. */
  readonly taken: number;
  /** Passes new events up to a sequence. False when the queue is full; the stream then reads the log itself. */
  hand(events: readonly LoggedEvent[], upTo: number): boolean;
  /** Makes the stream read the log itself. */
  fallBehind(): void;
  tellGap(gap: HistoryGap): void;
  /** Sends a `ledger` frame, unless other frames wait. */
  tellLedger(latestLedger: number): void;
  /** Ends it after its waiting frames, without them, or with a `revoked` frame alone. */
  end(how: "drained" | "cut" | { revoked: string }): void;
}

export interface StreamParts {
  reader: LogReader;
  bounds(): Promise<LogBounds>;
  oldestLedger(): Promise<number | null>;
  place: CursorParts;
  subjects: Subjects;
  /** The first frames. */
  first: StreamFrame[];
  /** Joins the feed of new events. Returns false while there is more to read. */
  join(stream: FedStream): boolean;
  /** Ends it when its key is no longer valid, unless that was checked just now. */
  checkKey(stream: FedStream): Promise<void>;
  latestLedger(): number;
  /** The current gaps. */
  gaps(): readonly HistoryGap[];
  onClose(): void;
}

/**
 * `catching_up`: reads the stored events for the first time. `live`: receives new events. `behind`: was slow and reads
 * the log itself again. `over`: has ended.
 */
type Phase = "catching_up" | "live" | "behind" | "over";

/** Stored events per read. */
const PAGE_EVENTS = 100;
/** The most events that wait for a client. A slower client reads the log again. */
export const MOST_WAITING = 256;

/**
 * Creates a stream. It reads stored events page by page as the client takes them, and then receives new ones. Its
 * memory is bounded: a slow stream reads the log itself again.
 */
export function createStream(parts: StreamParts): FedStream {
  const { reader, subjects, join, onClose } = parts;
  let place = parts.place;
  let waiting: StreamFrame[] = parts.first;
  let phase: Phase = "catching_up";
  const taking = { isAsked: false, taken: 0 };
  let wake = () => {};

  const filter: EventFilter = { ...subjects, fromHeight: place.floor || undefined };
  const placeAt = (event: LoggedEvent) => ({ ...place, sequence: event.sequence, mark: markOf(event) });

  const isOver = () => phase === "over";

  function leave(): void {
    if (phase === "live") phase = "behind";
  }

  function say(frame: StreamFrame): void {
    waiting.push(frame);
    wake();
  }

  /**
   * Reads stored events after its place, again when retention deleted some meanwhile. At the end of the log the stream
   * is live.
   */
  async function readLog(): Promise<StreamFrame[]> {
    const frames: StreamFrame[] = [];
    const bounds = await parts.bounds();
    if (place.sequence < bounds.forgotten) {
      frames.push({ kind: "gap", gap: { reason: "not_held", oldestLedger: await parts.oldestLedger() } });
      place = { ...place, sequence: bounds.forgotten, mark: 0 };
    }
    const read = await reader.read(place, { subjects, limit: PAGE_EVENTS }, bounds);
    const mayMiss = place.sequence < bounds.last;
    if (mayMiss && place.sequence < (await parts.bounds()).forgotten) return [...frames, ...await readLog()];
    place = read.place;
    frames.push(...read.events.map(frameOf));
    if (!read.isAtEnd || !join(stream)) return frames;
    const isFirst = phase === "catching_up";
    phase = "live";
    if (!isFirst) return frames;
    const latestLedger = parts.latestLedger();
    return [...frames, ...parts.gaps().flatMap(gapFrames), {
      kind: "caught_up",
      cursor: encodeCursor(place),
      latestLedger,
    }];
  }

  /** Only a gap in the stream's range. */
  function gapFrames(gap: HistoryGap): StreamFrame[] {
    const isConcerned = heightOf(gap.epoch, gap.toLedger) >= place.floor;
    return isConcerned ? [{ kind: "gap", gap: { ...gap, reason: "not_read" } }] : [];
  }

  function frameOf(event: LoggedEvent): StreamFrame {
    return { kind: "event", cursor: encodeCursor(placeAt(event)), event: publicEvent(event) };
  }

  async function untilSomething(): Promise<StreamFrame[] | undefined> {
    while (true) {
      if (waiting.length > 0) return waiting.splice(0);
      if (phase === "over") return undefined;
      if (phase === "live") await new Promise<void>((resolve) => wake = resolve);
      else {
        const frames = await readLog();
        await parts.checkKey(stream);
        // An ended stream drops the frames just read: only `revoked` remains.
        if (isOver()) waiting = waiting.filter(({ kind }) => kind === "revoked");
        else if (frames.length > 0) return [...frames, ...waiting.splice(0)];
      }
    }
  }

  const stream: FedStream = {
    get sequence() {
      return place.sequence;
    },
    get isAsked() {
      return taking.isAsked;
    },
    get taken() {
      return taking.taken;
    },
    async next() {
      taking.isAsked = true;
      try {
        return await untilSomething();
      } finally {
        taking.isAsked = false;
        taking.taken++;
      }
    },
    hand(events, upTo) {
      for (const event of events) {
        if (event.sequence <= place.sequence || !matches(filter, event)) continue;
        if (waiting.length >= MOST_WAITING) {
          leave();
          return false;
        }
        place = placeAt(event);
        say(frameOf(event));
      }
      if (upTo <= place.sequence) return true;
      const lastRead = events.at(-1);
      place = lastRead?.sequence === upTo ? placeAt(lastRead) : { ...place, sequence: upTo, mark: 0 };
      return true;
    },
    fallBehind() {
      leave();
      wake();
    },
    tellGap(gap) {
      // While it catches up, gaps come with `caught_up`.
      if (phase !== "catching_up") { for (const frame of gapFrames(gap)) say(frame); }
    },
    tellLedger(latestLedger) {
      if (phase === "live" && waiting.length === 0) say({ kind: "ledger", cursor: encodeCursor(place), latestLedger });
    },
    end(how) {
      if (isOver()) return;
      phase = "over";
      if (how !== "drained") waiting = [];
      if (typeof how === "object") waiting = [{ kind: "revoked", reason: how.revoked }];
      onClose();
      wake();
    },
    close: () => stream.end("cut"),
  };
  return stream;
}
