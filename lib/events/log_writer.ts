import { setImmediate as yieldToOthers } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../clock.ts";
import type { Head } from "../stellar/head.ts";
import type { RawEvent } from "../stellar/rpc/schemas.ts";
import type { LoggedEvent, NewEvent, UndecodedEvent } from "../store/event.ts";
import { isFenced, type Lease, type Store, WATCHER_LEASE, type WatcherState } from "../store/store.ts";
import { withoutAbove } from "./coverage.ts";
import type { AssetLookup } from "./movement_assets.ts";
import { type Notice, noticeOfUndecoded, noticesOfState } from "./notices.ts";
import { type Decode, decodeAgain, toEvent } from "./page.ts";

/** The watcher's hand in the store: its lease, and what it commits under it. */
export interface LogWriter {
  /** What is committed, as this writer knows it; undefined before the first commit. */
  readonly state: WatcherState | undefined;
  /** How many events were appended since `open`. */
  readonly appended: number;
  /** Reads what is committed, and takes or prolongs the lease; false when another gateway has it. */
  open(): Promise<boolean>;
  /**
   * Commits a page's events and the state they lead to, in steps that each fit the store; the place moves with the last
   * one. Answers how many were new and decoded. Rejects with `fenced` when the lease was lost.
   */
  commit(events: RawEvent[], next: WatcherState): Promise<{ added: number }>;
  /** Tries the events that were kept raw again, a bounded number of them at a call, each once by a decoder. */
  decodeUndecoded(signal: AbortSignal): Promise<void>;
  /** Gives the lease back. Never rejects. */
  close(): Promise<void>;
}

export interface LogWriterParts {
  store: Pick<Store, "events" | "leases" | "isShared">;
  head: Pick<Head, "sequence" | "timed" | "networkSeconds" | "show">;
  clock: Clock;
  decode: Decode;
  /** Names what `decode` does: events that are kept raw are tried once by each. Absent: once after each start. */
  decoder?: string;
  /** Gives events their assets; when absent they have none. */
  assets?: AssetLookup;
  /** Unique to this process: the holder of the lease. */
  holder: string;
  pollMs: number;
  /** What people call the contract with this id; "a new one" when absent. */
  titleOf?: (contractId: string) => string;
  onNotice: (notice: Notice) => void;
  /** Called after each commit that appended events, with these. Must not throw. */
  onEvents?: (events: LoggedEvent[]) => void;
  /** Called after each commit, of this gateway's watcher or of another's. Must not throw. */
  onCommit?: () => void;
  /** How many events are committed at a time, at most 100; 100 when absent. */
  stepEvents?: number;
}

/** A process that does not renew it for so long, or for three polls, is taken to be dead. */
const SHORTEST_LEASE_MS = 15_000;
/** The most undecoded events at a time (`EventStore`). */
const UNDECODED_EVENTS = 100;
const UNDECODED_PAGES = 10;
const MOST_TOLD = 2_000;

/** Tells of events that were kept raw, each once: the newest ledgers are read twice. */
function createUndecodedTeller(onNotice: (notice: Notice) => void): (events: (NewEvent | UndecodedEvent)[]) => void {
  const told = new Set<string>();
  return (events) => {
    const notice = noticeOfUndecoded(events.filter(({ id }) => !told.has(id)));
    if (notice !== undefined) onNotice(notice);
    if (told.size > MOST_TOLD) told.clear();
    for (const { id, type } of events) if (type === null) told.add(id);
  };
}

export function createLogWriter(parts: LogWriterParts): LogWriter {
  const { store, head, clock, decode, onNotice, titleOf = () => "a new one", stepEvents = 100 } = parts;
  const leaseMs = Math.max(SHORTEST_LEASE_MS, 3 * parts.pollMs);
  let lease: Lease | undefined;
  let renewAtMs = 0;
  let state: WatcherState | undefined;
  let appended = 0;
  const decoder = parts.decoder ?? `of ${parts.holder}`;
  /** Nothing that is held raw is left to be tried by this decoder. */
  let isDecoded = false;
  const tellUndecoded = createUndecodedTeller(onNotice);

  async function commitStep(raw: RawEvent[], next: WatcherState): Promise<void> {
    const [before, after] = [state, withHead(next)];
    if (raw.length === 0 && isDeepStrictEqual(after, before)) return;
    // Decodes step by step, so that no step holds the event loop for a whole page.
    const known = { epoch: after.epoch, seconds: after.latestLedgerCloseTime || head.networkSeconds() };
    const events = await withAssets(raw.map((event) => toEvent(event, known, decode)));
    // A lost one is no matter: the store fences what is written under it.
    await prolonged(lease!);
    const logged = await underLease((lease) => store.events.append({ lease, events, state: after }));
    state = after;
    if (before !== undefined) { for (const notice of noticesOfState(after, before, titleOf)) onNotice(notice); }
    tellUndecoded(events);
    tellCommit(logged);
    await yieldToOthers();
  }

  /** With the assets of those that are new: the newest ledgers are read twice. */
  async function withAssets<E extends NewEvent | UndecodedEvent>(events: E[]): Promise<(E | NewEvent)[]> {
    const { assets } = parts;
    if (assets === undefined) return events;
    const decoded = events.filter((event): event is E & NewEvent => event.type !== null);
    const stored = await Promise.all(decoded.map(({ id }) => store.events.get(id)));
    const learnt = new Map((await assets(decoded.filter((_, at) => stored[at] === undefined))).map((e) => [e.id, e]));
    return events.map((event) => learnt.get(event.id) ?? event);
  }

  /** The state with the head, above which nothing counts as scanned. A new epoch brings its own. */
  function withHead(next: WatcherState): WatcherState {
    const { sequence, timed } = head;
    if (sequence === 0 || (state !== undefined && state.epoch !== next.epoch)) return next;
    return { ...withoutAbove(next, sequence), latestLedger: timed.sequence, latestLedgerCloseTime: timed.closeTime };
  }

  function tellCommit(logged: LoggedEvent[]): void {
    appended += logged.length;
    // Readers of these events may look at the chain next.
    head.show(Math.max(0, ...logged.map(({ ledger }) => ledger)));
    if (logged.length > 0) parts.onEvents?.(logged);
    parts.onCommit?.();
  }

  /** Prolongs a lease when it is time to, counted from the attempt: the answer may come late. Undefined: it is lost. */
  async function prolonged(held: Lease): Promise<Lease | undefined> {
    const nowMs = clock.monotonicMs();
    if (nowMs < renewAtMs) return held;
    const [own] = await store.leases.renew([held], leaseMs);
    renewAtMs = nowMs + leaseMs / 4;
    return own;
  }

  async function underLease<T>(write: (lease: Lease) => Promise<T>): Promise<T> {
    try {
      return await write(lease!);
    } catch (error) {
      if (isFenced(error)) lease = undefined;
      throw error;
    }
  }

  return {
    get state() {
      return state;
    },
    get appended() {
      return appended;
    },
    async open() {
      appended = 0;
      lease = lease && await prolonged(lease);
      if (lease === undefined) {
        renewAtMs = clock.monotonicMs() + leaseMs / 4;
        lease = await store.leases.acquire({ name: WATCHER_LEASE, holder: parts.holder, durationMs: leaseMs });
        // Another program may have written meanwhile: the state says whose decoder tried last.
        isDecoded = false;
      }
      state = await store.events.watcherState();
      return lease !== undefined;
    },
    async commit(events, next) {
      const before = appended;
      for (let from = 0; from === 0 || from < events.length; from += stepEvents) {
        const isLast = from + stepEvents >= events.length;
        await commitStep(events.slice(from, from + stepEvents), isLast ? next : state ?? next);
      }
      return { added: appended - before };
    },
    async decodeUndecoded(signal) {
      for (let pages = 0; state !== undefined && pages < UNDECODED_PAGES && !signal.aborted; pages++) {
        const triedUpTo = isDecoded ? null : state.decoder?.name === decoder ? state.decoder.triedUpTo : undefined;
        if (triedUpTo === null) return;
        const undecoded = await store.events.undecoded({ after: triedUpTo, limit: UNDECODED_EVENTS });
        const events = undecoded.flatMap((event) => decodeAgain(event, head.networkSeconds(), decode) ?? []);
        if (events.length > 0) {
          const known = await withAssets(events) as NewEvent[];
          tellCommit(await underLease((lease) => store.events.append({ lease, events: known, state: state! })));
          onNotice({ kind: "decoded", message: `${events.length} events that were kept raw could be decoded now` });
        }
        const isLast = undecoded.length < UNDECODED_EVENTS;
        // Where another's tried before, it has to try again: this one may keep raw what comes next.
        if (undecoded.length > 0 || state.decoder !== undefined) {
          const upTo = isLast ? null : undecoded.at(-1)!.id;
          await commitStep([], { ...state, decoder: { name: decoder, triedUpTo: upTo } });
        }
        // Not before it is written down: the store may fail.
        isDecoded = isLast;
      }
    },
    async close() {
      const held = lease;
      lease = undefined;
      // A lease that is not given back is over by itself.
      if (held !== undefined) await store.leases.release([held]).catch(() => {});
    },
  };
}
