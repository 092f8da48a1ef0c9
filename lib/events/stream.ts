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

/** What a reader may have missed. */
export type StreamGap =
  /** Events of before the oldest ledger that is held were asked for, or were forgotten before they were sent. */
  | { reason: "not_held"; oldestLedger: number | null }
  /** No node could be asked for the events of these ledgers; they come late, or never. */
  | ({ reason: "not_read" } & Omit<HistoryGap, "reason">);

/** One thing that a live stream says. `cursor`: a page or a stream that begins there goes on right after it. */
export type StreamFrame =
  | { kind: "event"; cursor: string; event: PublicEvent }
  /** All that is held has been sent: what follows is new. IdempotentOperation in a stream. */
  | { kind: "caught_up"; cursor: string; latestLedger: number }
  /** Every few seconds: the stream lives, and the network is so far. */
  | { kind: "ledger"; cursor: string; latestLedger: number }
  | { kind: "gap"; gap: StreamGap }
  /** The key no longer stands, and why: the last frame. */
  | { kind: "revoked"; reason: string };

/** A stream as its reader sees it. */
export interface EventStream {
  /** What comes next, a page of frames at most; undefined: it is over. To be called again when that has been taken on. */
  next(): Promise<StreamFrame[] | undefined>;
  /** The reader has gone. */
  close(): void;
}

/** A stream as the one who feeds it sees it. */
export interface FedStream extends EventStream {
  /** All up to this sequence has been looked through for it. */
  readonly sequence: number;
  /** Whether the reader waits for what comes next. */
  readonly isAsked: boolean;
  /** How many pages of frames it has taken. */
  readonly taken: number;
  /** Hands on what is new of the log up to a sequence; false: it has too much to send already, and reads by itself. */
  hand(events: readonly LoggedEvent[], upTo: number): boolean;
  /** It has to read on by itself. */
  fallBehind(): void;
  tellGap(gap: HistoryGap): void;
  /** Unless there is something to send already. */
  tellLedger(latestLedger: number): void;
  /** Ends it: with what it has to send, or without, or with this last word alone. */
  end(how: "drained" | "cut" | { revoked: string }): void;
}

export interface StreamParts {
  reader: LogReader;
  bounds(): Promise<LogBounds>;
  oldestLedger(): Promise<number | null>;
  place: CursorParts;
  subjects: Subjects;
  /** What it says before anything else. */
  first: StreamFrame[];
  /** To be handed what is new from here on; false: there is more to read before. */
  join(stream: FedStream): boolean;
  /** Ends it when its key no longer stands, where that was not looked at just now. */
  vet(stream: FedStream): Promise<void>;
  latestLedger(): number;
  /** Of now. */
  gaps(): readonly HistoryGap[];
  onClose(): void;
}

/**
 * `catching_up`: reads what is held for the first time. `live`: is handed what is new. `behind`: reads by itself again, as it
 * was slow. `over`: nothing more comes.
 */
type Phase = "catching_up" | "live" | "behind" | "over";

/** What is read at once of history. */
const PAGE_EVENTS = 100;
/** Events that wait for a reader at most; one with more to come reads them from the log when it asks again. */
export const MOST_WAITING = 256;

/**
 * One reader of the log that stays: it reads what is held page by page, as it asks, and from then on is handed what is new.
 * A reader that is slow falls behind and reads by itself again, so nothing is kept for it but what fits.
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

  /** Reads what is held after its place, anew when that was forgotten meanwhile; at the end of it the stream is live. */
  async function readOn(): Promise<StreamFrame[]> {
    const frames: StreamFrame[] = [];
    const bounds = await parts.bounds();
    if (place.sequence < bounds.forgotten) {
      frames.push({ kind: "gap", gap: { reason: "not_held", oldestLedger: await parts.oldestLedger() } });
      place = { ...place, sequence: bounds.forgotten, mark: 0 };
    }
    const read = await reader.read(place, { subjects, limit: PAGE_EVENTS }, bounds);
    const mayMiss = place.sequence < bounds.last;
    if (mayMiss && place.sequence < (await parts.bounds()).forgotten) return [...frames, ...await readOn()];
    place = read.place;
    frames.push(...read.events.map(frameOf));
    if (!read.isAtEnd || !join(stream)) return frames;
    const isFirst = phase === "catching_up";
    phase = "live";
    if (!isFirst) return frames;
    const latestLedger = parts.latestLedger();
    return [...frames, ...parts.gaps().flatMap(told), { kind: "caught_up", cursor: encodeCursor(place), latestLedger }];
  }

  /** Only what lies in its range concerns it. */
  function told(gap: HistoryGap): StreamFrame[] {
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
        const frames = await readOn();
        await parts.vet(stream);
        // What was being read at the end is not sent, nor what would come after it: the last word alone.
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
      // Before it has caught up it is told then.
      if (phase !== "catching_up") { for (const frame of told(gap)) say(frame); }
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
