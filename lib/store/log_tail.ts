import type { LoggedEvent } from "./event.ts";
import type { LogBounds, Store, WatcherState } from "./store.ts";

const PAGE = 1_000;

/** The end of the log: reads new events once for all that follow it. */
export class LogTail {
  /** The followers have received all events up to here. */
  tail = 0;
  /** Retention has deleted the events up to here. */
  forgotten = 0;
  /** The watcher's state at the last look. */
  watcher: WatcherState | undefined;
  /** Whether the log's end was read. */
  isKnown = false;

  /** @param onShortened called when a database has lost its last commits, so that events read before are wrong */
  constructor(readonly store: Pick<Store, "events" | "references">, readonly onShortened: () => void) {}

  /** Reads the ends of the log, and the watcher's state. */
  async look(): Promise<LogBounds> {
    const before = this.tail;
    const bounds = await this.store.events.bounds();
    this.watcher = await this.store.events.watcherState();
    this.forgotten = bounds.forgotten;
    const isShorter = this.isKnown && bounds.last < before;
    if (isShorter || !this.isKnown) this.tail = bounds.last;
    this.isKnown = true;
    if (isShorter) this.onShortened();
    return bounds;
  }

  /** Reads the next page, up to a sequence, and passes it on. @param distribute undefined when there are no followers */
  async readOn(upTo: number, distribute: ((events: LoggedEvent[], upTo: number) => void) | undefined): Promise<void> {
    const query = { filter: {}, withOwn: true, after: this.tail, upTo, limit: PAGE } as const;
    const page = distribute === undefined ? [] : await this.store.events.read({ ...query, order: "asc" });
    await this.store.references.attach(page);
    const end = page.length < PAGE ? upTo : page.at(-1)!.sequence;
    distribute?.(page, end);
    this.tail = end;
  }
}
