import type { Notice } from "../../lib/events/notices.ts";
import type { TurnParts } from "../../lib/events/turn.ts";
import { createWatcher, type Trouble, type WatcherParts } from "../../lib/events/watcher.ts";
import { createHistory } from "../../lib/events/history.ts";
import type { Wait } from "../../lib/clock.ts";
import { createLedgerView } from "../../lib/stellar/ledger/ledger_view.ts";
import type { EventSlice, Store } from "../../lib/store/store.ts";
import { openStore } from "../../lib/store/open.ts";
import { CONTRACT, decodeSimulated, type SimulatedNode } from "./simulated_node.ts";

/** A clock that stands still until it is advanced. */
export function createTestClock(startMs = Date.parse("2026-01-01T00:00:00Z")) {
  let nowMs = startMs;
  let timers: { atMs: number; ring: () => void }[] = [];
  const pauses: number[] = [];
  const onPause: (() => void)[] = [];
  const wait: Wait = (ms, signal) =>
    new Promise((resolve) => {
      pauses.push(ms);
      const timer = { atMs: nowMs + ms, ring: resolve };
      timers.push(timer);
      signal?.addEventListener("abort", () => {
        timers = timers.filter((other) => other !== timer);
        resolve();
      });
      for (const told of onPause.splice(0)) told();
    });
  return {
    now: () => nowMs,
    wait,
    /** Every pause that was asked for, in milliseconds. */
    pauses,
    /** Resolves when somebody begins to wait, after `act` was done. */
    async untilPause(act: () => void): Promise<void> {
      const paused = new Promise<void>((resolve) => onPause.push(resolve));
      act();
      await paused;
    },
    advance(ms: number): void {
      nowMs += ms;
      const due = timers.filter(({ atMs }) => atMs <= nowMs);
      timers = timers.filter(({ atMs }) => atMs > nowMs);
      for (const { ring } of due) ring();
    },
  };
}

/** A store that tells what is committed and fails when told to. */
export function observeStore(store: Store, before: (slice: EventSlice) => void | Promise<void> = () => {}) {
  const slices: EventSlice[] = [];
  const observed: Store = Object.create(store, {
    commitEvents: {
      value: async (slice: EventSlice) => {
        await before(slice);
        await store.commitEvents(slice);
        slices.push(structuredClone(slice));
      },
    },
  });
  return { store: observed, slices };
}

/** A watcher on a simulated node and an in-memory store, with what it told. */
export async function createFixture(
  node: SimulatedNode,
  overrides: Partial<WatcherParts & TurnParts> & { beforeCommit?: (slice: EventSlice) => void | Promise<void> } = {},
) {
  const clock = createTestClock();
  const problems: (Notice | Trouble)[] = [];
  const { beforeCommit, ...rest } = overrides;
  const bareStore = overrides.store ?? await openStore("memory:");
  const { store, slices } = observeStore(bareStore, beforeCommit);
  const tip = overrides.tip ?? createLedgerView();
  const parts: WatcherParts = {
    rpc: node.rpc,
    contractIds: [CONTRACT],
    decode: decodeSimulated,
    now: clock.now,
    wait: clock.wait,
    pollMs: 1_000,
    onProblem: (problem) => problems.push(problem),
    ...rest,
    store,
    tip,
  };
  const history = createHistory({ store, tip });
  return { clock, problems, bareStore, store, slices, tip, parts, history, watcher: createWatcher(parts), node };
}

/** The transaction hashes of all events that history shows now, from the oldest on. */
export async function readAll(history: ReturnType<typeof createHistory>, limit = 1_000): Promise<string[]> {
  const hashes: string[] = [];
  let cursor: string | undefined;
  while (true) {
    const page = await history.page({ limit, cursor });
    hashes.push(...page.events.map(({ txHash }) => txHash));
    if (page.events.length < limit) return hashes;
    cursor = page.cursor;
  }
}
