import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { LoggedEvent } from "../../store/event.ts";
import type { LogBounds, Store } from "../../store/store.ts";

/** The end of the log: new events are read once, and handed to all consumers that are there. */
export interface LogEnd {
  /** Consumers at the end have been handed all events up to here. */
  readonly tail: number;
  /** Events up to here were forgotten. */
  readonly forgotten: number;
  /** Whether the log was looked at. */
  readonly isKnown: boolean;
  /** Looks how far the log goes, without following it. */
  look(): Promise<LogBounds>;
  /** Reads on up to there, and hands out each event, unless nobody listens. */
  follow(bounds: LogBounds): Promise<void>;
}

const PAGE = 1_000;

export function createLogEnd({ store, isHeard, hand, handed, shortened }: {
  store: Pick<Store, "events">;
  /** Whether anybody listens, and is to be handed more. */
  isHeard(): "yes" | "nobody" | "stop";
  hand(event: LoggedEvent): void;
  /** A page of events has been handed out. */
  handed(): void;
  /** A database has lost its last commits: what is known here of its log is of before. */
  shortened(): void;
}): LogEnd {
  let tail: number | undefined;
  let forgotten = 0;

  return {
    get tail() {
      return tail ?? 0;
    },
    get forgotten() {
      return forgotten;
    },
    get isKnown() {
      return tail !== undefined;
    },
    async look() {
      const before = tail;
      const bounds = await store.events.bounds();
      if (before === undefined) tail ??= bounds.last;
      else if (bounds.last < before) {
        tail = bounds.last;
        shortened();
      }
      return bounds;
    },
    async follow(bounds) {
      forgotten = bounds.forgotten;
      while (tail! < bounds.last && isHeard() !== "stop") {
        const query = { filter: {}, after: tail, upTo: bounds.last, limit: PAGE };
        const events = isHeard() === "nobody" ? [] : await store.events.read({ ...query, order: "asc" });
        for (const event of events) hand(event);
        tail = events.length < PAGE ? bounds.last : events.at(-1)!.sequence;
        handed();
        await yieldToOthers();
      }
    },
  };
}
