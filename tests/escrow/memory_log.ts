import { formatEventId, heightOfEvent, type LoggedEvent, matches } from "../../lib/store/event.ts";
import type { EventStore, WatcherState } from "../../lib/store/store.ts";
import { CONTRACT, sampleEvent, sampleState } from "../store/samples.ts";

/** An event; its place in the log and its ledger count from 1 when absent. */
export type LogEntry = Partial<LoggedEvent> & { type: string; epoch?: number };

/** A store's log of these events, in the order of their sequences. */
export function logOf(
  entries: LogEntry[],
  state: Partial<WatcherState> | undefined = {},
): Pick<EventStore, "watcherState" | "bounds" | "before" | "read"> {
  const events = entries.map(({ epoch = 0, ...entry }, at): LoggedEvent => {
    const { sequence = at + 1, ledger = at + 1 } = entry;
    const id = formatEventId({ epoch, ledger, order: 4096, index: 0 });
    return { ...sampleEvent(0), contractId: CONTRACT, id, ledger, ...entry, sequence };
  });
  const read: EventStore["read"] = ({ filter, after = 0, upTo = Infinity, order, limit }) => {
    const found = events.filter((one) => one.sequence > after && one.sequence <= upTo && matches(filter, one));
    return Promise.resolve((order === "desc" ? found.reverse() : found).slice(0, limit));
  };
  return {
    read,
    watcherState: () => Promise.resolve(sampleState(entries.length, state)),
    bounds: () => Promise.resolve({ last: events.at(-1)?.sequence ?? 0, forgotten: 0 }),
    before: (height) => Promise.resolve(events.filter((one) => heightOfEvent(one) < height).length),
  };
}
