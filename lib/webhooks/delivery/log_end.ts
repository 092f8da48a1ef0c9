import type { LoggedEvent } from "../../store/event.ts";
import type { LogBounds, Store } from "../../store/store.ts";

/** The end of the log: reads new events once for all consumers. */
export interface LogEnd {
  /** Consumers that follow the log have received all events up to here. */
  readonly tail: number;
  /** Events up to here are deleted. */
  readonly forgotten: number;
  /** Network time: the close time of the latest ledger, Unix ms. */
  readonly networkMs: number;
  /** Whether the log's end was read. */
  readonly isKnown: boolean;
  /** Reads the ends of log and network. Calls `onShortened` when the log is shorter than before. */
  look(): Promise<LogBounds>;
  /**
   * Reads the next page, up to a sequence, and passes on each event. @param hand undefined when there are no consumers
   */
  readOn(upTo: number, hand: ((event: LoggedEvent) => void) | undefined): Promise<void>;
}

const PAGE = 1_000;

/** @param onShortened called when a database has lost its last commits, so that cached events are wrong */
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
