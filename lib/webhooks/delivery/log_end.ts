import type { LoggedEvent } from "../../store/event.ts";
import type { LogBounds, Store } from "../../store/store.ts";

/** The end of the log: new events are read once, and handed to all consumers that are there. */
export interface LogEnd {
  /** Consumers that follow the log have been handed all events up to here. */
  readonly tail: number;
  /** Events up to here were forgotten. */
  readonly forgotten: number;
  /** The network's clock: when its latest ledger closed, Unix ms. */
  readonly networkMs: number;
  /** Whether the log was looked at. */
  readonly isKnown: boolean;
  /** Looks how far the log and the network have come. A log that is shorter than before calls `onShortened`. */
  look(): Promise<LogBounds>;
  /** Reads a page on, up to there, and hands out each event. @param hand undefined: nobody listens */
  readOn(upTo: number, hand: ((event: LoggedEvent) => void) | undefined): Promise<void>;
}

const PAGE = 1_000;

/** @param onShortened a database has lost its last commits: what is known here of its log is of before */
export function createLogEnd({ events }: Pick<Store, "events">, onShortened: () => void): LogEnd {
  const state = { tail: 0, forgotten: 0, networkMs: 0, isKnown: false };
  return {
    get tail() {
      return state.tail;
    },
    get forgotten() {
      return state.forgotten;
    },
    get networkMs() {
      return state.networkMs;
    },
    get isKnown() {
      return state.isKnown;
    },
    async look() {
      const before = state.tail;
      const bounds = await events.bounds();
      state.networkMs = ((await events.watcherState())?.latestLedgerCloseTime ?? 0) * 1_000;
      state.forgotten = bounds.forgotten;
      const isShorter = state.isKnown && bounds.last < before;
      if (isShorter || !state.isKnown) state.tail = bounds.last;
      state.isKnown = true;
      if (isShorter) onShortened();
      return bounds;
    },
    async readOn(upTo, hand) {
      const query = { filter: {}, after: state.tail, upTo, limit: PAGE } as const;
      const page = hand === undefined ? [] : await events.read({ ...query, order: "asc" });
      for (const event of page) hand!(event);
      state.tail = page.length < PAGE ? upTo : page.at(-1)!.sequence;
    },
  };
}
