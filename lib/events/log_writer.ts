/*
 * Writes the log under the watcher's lease, in steps that fit every store. `page.ts` decodes events,
 * `movement_assets.ts` finds their assets, and `watcher.ts` decides what to commit.
 */

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

/** Holds the watcher's lease and commits under it. */
export interface LogWriter {
  /** The committed state that this writer knows; undefined before the first commit. */
  readonly state: WatcherState | undefined;
  /** How many events were appended since `open`. */
  readonly appended: number;
  /** Reads the committed state, and takes or renews the lease; false when another gateway has it. */
  open(): Promise<boolean>;
  /**
   * Commits a page's events and the state after them, in steps that each fit the store. The state advances with the
   * last step. Returns how many events were new and decoded. Rejects with `fenced` when the lease was lost.
   */
  commit(events: RawEvent[], next: WatcherState): Promise<{ added: number }>;
  /** The lease of the log, undefined while another gateway has it. */
  readonly lease: Lease | undefined;
  /** Commits events of the gateway's own. */
  appendOwn(events: NewEvent[]): Promise<void>;
  /** Decodes stored raw events again, a bounded number per call, each once per decoder. */
  decodeUndecoded(signal: AbortSignal): Promise<void>;
  /** Gives the lease back. Never rejects. */
  close(): Promise<void>;
}

export interface LogWriterParts {
  store: Pick<Store, "events" | "leases" | "isShared">;
  head: Pick<Head, "sequence" | "timed" | "networkSeconds" | "show">;
  clock: Clock;
  decode: Decode;
  /** Names the version of `decode`, which tries each raw event once. Absent: once after each start. */
  decoder?: string;
  /** Adds assets to events. When absent, events have none. */
  assets?: AssetLookup;
  /** The holder of the lease, unique to this process. */
  holder: string;
  pollMs: number;
  /** The name of a contract; "a new one" when absent. */
  titleOf?: (contractId: string) => string;
  onNotice: (notice: Notice) => void;
  /** Called with the appended events after each such commit. Must not throw. */
  onEvents?: (events: LoggedEvent[]) => void;
  /** Called after each commit, of this gateway's watcher or of another's. Must not throw. */
  onCommit?: () => void;
  /** Events per commit, at most 100; 100 when absent. */
  stepEvents?: number;
}

/** A lease that is not renewed for this long, or for three polls, expires. */
const SHORTEST_LEASE_MS = 15_000;
/** The limit of undecoded events per read (`EventStore`). */
const UNDECODED_EVENTS = 100;
const UNDECODED_PAGES = 10;
const MOST_REPORTED = 2_000;

/** Reports stored raw events, each once, although the newest ledgers are read twice. */
function createUndecodedReport(onNotice: (notice: Notice) => void): (events: (NewEvent | UndecodedEvent)[]) => void {
  const reported = new Set<string>();
  return (events) => {
    const notice = noticeOfUndecoded(events.filter(({ id }) => !reported.has(id)));
    if (notice !== undefined) onNotice(notice);
    if (reported.size > MOST_REPORTED) reported.clear();
    for (const { id, type } of events) if (type === null) reported.add(id);
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
  /** No stored raw event is left for this decoder. */
  let isDecoded = false;
  const reportUndecoded = createUndecodedReport(onNotice);

  async function commitStep(raw: RawEvent[], next: WatcherState): Promise<void> {
    const [before, after] = [state, withHead(next)];
    if (raw.length === 0 && isDeepStrictEqual(after, before)) return;
    // Decodes step by step, so that a page does not block the event loop.
    const known = { epoch: after.epoch, seconds: after.latestLedgerCloseTime || head.networkSeconds() };
    const events = await withAssets(raw.map((event) => toEvent(event, known, decode)));
    // A lost lease does no harm: the store fences the write.
    await renewed(lease!);
    const logged = await underLease((lease) => store.events.append({ lease, events, state: after }));
    state = after;
    for (const notice of noticesOfState(after, before, titleOf)) onNotice(notice);
    reportUndecoded(events);
    reportCommit(logged);
    await yieldToOthers();
  }

  /** Adds assets to new events only, because the newest ledgers are read twice. */
  async function withAssets<E extends NewEvent | UndecodedEvent>(events: E[]): Promise<(E | NewEvent)[]> {
    const { assets } = parts;
    if (assets === undefined) return events;
    const decoded = events.filter((event): event is E & NewEvent => event.type !== null);
    const stored = await Promise.all(decoded.map(({ id }) => store.events.get(id)));
    const learnt = new Map((await assets(decoded.filter((_, at) => stored[at] === undefined))).map((e) => [e.id, e]));
    return events.map((event) => learnt.get(event.id) ?? event);
  }

  /** The state with the head. Nothing above the head counts as scanned. A new epoch has its own head. */
  function withHead(next: WatcherState): WatcherState {
    const { sequence, timed } = head;
    if (sequence === 0 || (state !== undefined && state.epoch !== next.epoch)) return next;
    return { ...withoutAbove(next, sequence), latestLedger: timed.sequence, latestLedgerCloseTime: timed.closeTime };
  }

  function reportCommit(logged: LoggedEvent[]): void {
    appended += logged.length;
    // Clients may read the chain after they read these events.
    head.show(Math.max(0, ...logged.map(({ ledger }) => ledger)));
    if (logged.length > 0) parts.onEvents?.(logged);
    parts.onCommit?.();
  }

  /** Renews a lease when due, counted from the attempt because the answer may come late. Undefined when it is lost. */
  async function renewed(held: Lease): Promise<Lease | undefined> {
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
    get lease() {
      return lease;
    },
    async appendOwn(events) {
      await renewed(lease!);
      reportCommit(await underLease((lease) => store.events.append({ lease, events, state: state! })));
    },
    async open() {
      appended = 0;
      lease = lease && await renewed(lease);
      if (lease === undefined) {
        renewAtMs = clock.monotonicMs() + leaseMs / 4;
        lease = await store.leases.acquire({ name: WATCHER_LEASE, holder: parts.holder, durationMs: leaseMs });
        // Another program may have written meanwhile. The state names the last decoder.
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
          reportCommit(await underLease((lease) => store.events.append({ lease, events: known, state: state! })));
          onNotice({ kind: "decoded", message: `${events.length} events that were stored raw are decoded now` });
        }
        const isLast = undecoded.length < UNDECODED_EVENTS;
        // If another decoder tried before, it has to try again: this one may leave later events raw.
        if (undecoded.length > 0 || state.decoder !== undefined) {
          const upTo = isLast ? null : undecoded.at(-1)!.id;
          await commitStep([], { ...state, decoder: { name: decoder, triedUpTo: upTo } });
        }
        // Only after the commit, which may fail.
        isDecoded = isLast;
      }
    },
    async close() {
      const held = lease;
      lease = undefined;
      // An unreleased lease expires by itself.
      if (held !== undefined) await store.leases.release([held]).catch(() => {});
    },
  };
}
