/*
 * One live stream: it pages through the log, then receives new events. A slow one falls behind and reads the log again.
 * `stream_feed.ts` passes new events, and `streams.ts` opens and ends streams.
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

export interface StreamParts {
  reader: LogReader;
  bounds(): Promise<LogBounds>;
  oldestLedger(): Promise<number | null>;
  place: CursorParts;
  subjects: Subjects;
  /** The API key that sees its references in the events. */
  keyId: string;
  /** The first frames. */
  first: StreamFrame[];
  /** Why the key is no longer valid; undefined while it is. */
  refusal(): string | undefined | Promise<string | undefined>;
  /** Joins the feed of new events. Returns false while there is more to read. */
  join(stream: EventStream): boolean;
  monotonicMs(): number;
  latestLedger(): number;
  /** The current gaps. */
  gaps(): readonly HistoryGap[];
  onClose(stream: EventStream): void;
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
 * A live stream. It reads stored events page by page as the client takes them, and then receives new ones. Its memory is
 * bounded: a slow stream reads the log itself again.
 */
export class EventStream {
  /** Since when the client has taken no frames (monotonic ms); Infinity while it waits for some. */
  unreadSinceMs: number;
  readonly #parts: StreamParts;
  readonly #filter: EventFilter;
  #place: CursorParts;
  #waiting: StreamFrame[];
  #phase: Phase = "catching_up";
  #wake = () => {};

  constructor(parts: StreamParts) {
    this.#parts = parts;
    this.#place = parts.place;
    this.#waiting = parts.first;
    this.#filter = { ...parts.subjects, fromHeight: parts.place.floor || undefined };
    this.unreadSinceMs = parts.monotonicMs();
  }

  /** The stream has read all up to this sequence. */
  get sequence(): number {
    return this.#place.sequence;
  }

  /** The next frames, at most a page; undefined at the end. Call it again after sending them. */
  async next(): Promise<StreamFrame[] | undefined> {
    this.unreadSinceMs = Infinity;
    try {
      while (true) {
        if (this.#waiting.length > 0) return this.#waiting.splice(0);
        if (this.#phase === "over") return undefined;
        if (this.#phase === "live") await new Promise<void>((resolve) => this.#wake = resolve);
        else {
          const frames = await this.#readLog();
          await this.checkKey();
          // An ended stream drops the frames just read: only `revoked` remains.
          if (this.#isOver()) this.#waiting = this.#waiting.filter(({ kind }) => kind === "revoked");
          else if (frames.length > 0) return [...frames, ...this.#waiting.splice(0)];
        }
      }
    } finally {
      this.unreadSinceMs = this.#parts.monotonicMs();
    }
  }

  /** The client has left. */
  close(): void {
    this.end("cut");
  }

  /** Ends it when its key is no longer valid. While that is unknown, as when the store fails, it goes on. */
  async checkKey(): Promise<void> {
    const refusal = await Promise.resolve(this.#parts.refusal()).catch(() => undefined);
    if (refusal !== undefined) this.end({ revoked: refusal });
  }

  /** Passes new events up to a sequence. False when the queue is full; the stream then reads the log itself. */
  enqueue(events: readonly LoggedEvent[], upTo: number): boolean {
    for (const event of events) {
      if (event.sequence <= this.sequence || !matches(this.#filter, event)) continue;
      if (this.#waiting.length >= MOST_WAITING) return false;
      this.#place = this.#placeAt(event);
      this.#say(this.#frameOf(event));
    }
    if (upTo <= this.sequence) return true;
    const lastRead = events.at(-1);
    const isEvent = lastRead?.sequence === upTo;
    this.#place = isEvent ? this.#placeAt(lastRead) : { ...this.#place, sequence: upTo, mark: 0 };
    return true;
  }

  /** Makes it read the log itself. */
  fallBehind(): void {
    if (this.#phase === "live") this.#phase = "behind";
    this.#wake();
  }

  tellGap(gap: HistoryGap): void {
    // While it catches up, gaps come with `caught_up`.
    if (this.#phase !== "catching_up") { for (const frame of this.#gapFrames(gap)) this.#say(frame); }
  }

  /** Sends a `ledger` frame, unless other frames wait. */
  tellLedger(latestLedger: number): void {
    if (this.#phase !== "live" || this.#waiting.length > 0) return;
    this.#say({ kind: "ledger", cursor: encodeCursor(this.#place), latestLedger });
  }

  /** Ends it after its waiting frames, without them, or with a `revoked` frame alone. */
  end(how: "drained" | "cut" | { revoked: string }): void {
    if (this.#isOver()) return;
    this.#phase = "over";
    if (how !== "drained") this.#waiting = [];
    if (typeof how === "object") this.#waiting = [{ kind: "revoked", reason: how.revoked }];
    this.#parts.onClose(this);
    this.#wake();
  }

  /**
   * Reads stored events after its place, again when retention deleted some meanwhile. At the end of the log the stream
   * is live.
   */
  async #readLog(): Promise<StreamFrame[]> {
    const { reader, subjects, ...parts } = this.#parts;
    const frames: StreamFrame[] = [];
    const bounds = await parts.bounds();
    if (this.sequence < bounds.forgotten) {
      frames.push({ kind: "gap", gap: { reason: "not_held", oldestLedger: await parts.oldestLedger() } });
      this.#place = { ...this.#place, sequence: bounds.forgotten, mark: 0 };
    }
    const read = await reader.read(this.#place, { subjects, limit: PAGE_EVENTS }, bounds);
    const mayMiss = this.sequence < bounds.last;
    if (mayMiss && this.sequence < (await parts.bounds()).forgotten) return [...frames, ...await this.#readLog()];
    this.#place = read.place;
    frames.push(...read.events.map((event) => this.#frameOf(event)));
    if (!read.isAtEnd || !parts.join(this)) return frames;
    const isFirst = this.#phase === "catching_up";
    this.#phase = "live";
    if (!isFirst) return frames;
    const [latestLedger, gaps] = [parts.latestLedger(), parts.gaps()];
    return [...frames, ...gaps.flatMap((gap) => this.#gapFrames(gap)), {
      kind: "caught_up",
      cursor: encodeCursor(this.#place),
      latestLedger,
    }];
  }

  /** Only a gap in the stream's range. */
  #gapFrames(gap: HistoryGap): StreamFrame[] {
    const isConcerned = heightOf(gap.epoch, gap.toLedger) >= this.#place.floor;
    return isConcerned ? [{ kind: "gap", gap: { ...gap, reason: "not_read" } }] : [];
  }

  #frameOf(event: LoggedEvent): StreamFrame {
    return { kind: "event", cursor: encodeCursor(this.#placeAt(event)), event: publicEvent(event, this.#parts.keyId) };
  }

  #placeAt(event: LoggedEvent): CursorParts {
    return { ...this.#place, sequence: event.sequence, mark: markOf(event) };
  }

  #say(frame: StreamFrame): void {
    this.#waiting.push(frame);
    this.#wake();
  }

  #isOver(): boolean {
    return this.#phase === "over";
  }
}
