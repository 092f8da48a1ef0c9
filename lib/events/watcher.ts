import { isoSeconds } from "../clock.ts";
import { createLoop } from "../loop.ts";
import { askNewest } from "../stellar/fresh_read.ts";
import type { Head } from "../stellar/head.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import type { RawEvent } from "../stellar/rpc/schemas.ts";
import { isFenced, type Store, type WatcherState } from "../store/store.ts";
import {
  afterPruning,
  afterReset,
  firstState,
  watchedContracts,
  withCheckpoint,
  withContracts,
  withoutAbove,
  withScanned,
} from "./coverage.ts";
import { createBackfill, isOfNetwork } from "./gaps.ts";
import { createLeadership } from "./leadership.ts";
import { createLogWriter, type LogWriterParts } from "./log_writer.ts";
import { createAssetLookup, type Movements } from "./movement_assets.ts";
import { type Notice, noticeOfFilled, type Trouble, troubleOf } from "./notices.ts";
import type { Place } from "./page.ts";
import { createReader, oldestHeld, readAnywhere } from "./reading.ts";
import { createResetWatch } from "./reset_watch.ts";
import { createTelling } from "./telling.ts";

/** How a poll ended. */
export interface PollResult {
  /**
   * `idle`: all that the node has is in the log. `more`: the node has more. `lagging`: the node shows less than was seen, or
   * what it shows has to be compared first. `failed`: node or store failed.
   */
  outcome: "idle" | "more" | "lagging" | "failed";
  /** How many events were appended. */
  events: number;
  /** Another gateway is the leader. */
  isFollower?: true;
  /** Why, with `lagging`. */
  reason?: string;
}

export interface Watcher {
  /** Begins to poll, until `stop`. */
  start(): void;
  /** Ends polling and gives the lease back. */
  stop(): Promise<void>;
  /** Polls at once instead of after the rest of `pollMs`. A failing node or store keeps its pause. */
  wake(): void;
  /** Polls until idle, or for about so long. The first poll begins after the call. Never rejects. */
  pollFor(timeMs: number): Promise<PollResult>;
  /** Takes the head from the store, for places without a loop. Never rejects. */
  refresh(): Promise<void>;
}

export interface WatcherParts extends Omit<LogWriterParts, "onNotice" | "assets" | "head"> {
  store: LogWriterParts["store"] & Pick<Store, "subscriptions">;
  rpc: NodesRpcClient;
  head: Head;
  /** Of which epoch the head was at the start; absent: nothing was stored. */
  epoch?: number;
  contractIds: readonly string[];
  onProblem: (problem: Notice | Trouble) => void;
  /** How the assets of movements are learnt from their transactions; they are not looked for when absent. */
  movements?: Movements;
  /** How many events the node is asked for at a time; 1 000 when absent. */
  pageEvents?: number;
  /** How many days events are kept; for ever when 0 or absent. */
  keptDays?: number;
}

/** What a step of a poll leads to. `ends`: the poll ends with it. */
interface Step {
  state: WatcherState | undefined;
  events: RawEvent[];
  ends?: { outcome: "idle" | "more" | "lagging"; isFollower?: true; reason?: string };
}

const LAGGING_MS = 1_000;
const CHECKPOINT_EVERY_MS = 600_000;
/** Where no node tells a hash. */
const CHECKPOINT_RETRY_MS = 60_000;
/** Of the first and of the newest scanned ledger. */
const FIRST_CHECKPOINTS = 2;
/** How long nodes are waited for that do not tell how far back they hold ledgers. */
const PATIENCE_MS = 60_000;
const PATIENCE_IN_TURN_MS = 10_000;
const ASK_ALL_MS = 2_000;

/**
 * Follows the contracts' events. A poll is five steps: lead, reset, contracts, scan, backfill. What is known of the network
 * is what is committed, so the next poll makes a failed one good.
 */
export function createWatcher(parts: WatcherParts): Watcher {
  const { rpc, store, head, clock, pollMs, onProblem } = parts;
  const contractIds = [...new Set(parts.contractIds)].sort();
  const stopping = new AbortController();
  const { signal } = stopping;
  const assets = parts.movements &&
    createAssetLookup({ rpc, clock, movements: parts.movements, onNotice: onProblem, stopping: signal });
  const log = createLogWriter({ ...parts, assets, onNotice: onProblem });
  const read = createReader(rpc, parts.pageEvents);
  const telling = createTelling({ head, clock, onProblem });
  const resets = createResetWatch({
    rpc,
    store,
    head,
    clock,
    onDue: () => isLooping ? loop.wake() : void checkAlone(),
  });
  const leadership = createLeadership({ store, head, clock, log, epoch: parts.epoch, pollMs });
  const backfills = createBackfill({ rpc, head, clock, read, keptDays: parts.keptDays ?? 0 });
  let isLooping = false;
  let turns = 0;
  /** The node that answered last, and the one to be asked next where that is not the one in use. */
  const node: { last: number; next?: number } = { last: 0 };
  let waitingSinceMs: number | undefined;
  let pruned: { ledger: number; atMs: number } | undefined;
  let nextCheckpointMs = -Infinity;
  /** What gaps were filled with since the backfill began. */
  let filled: { before: WatcherState; events: number } | undefined;

  /** By the network's time: our own clock may be days behind after a start. */
  const noticedAt = () => isoSeconds(head.networkSeconds() * 1_000);
  const unchanged = (state: WatcherState | undefined): Step => ({ state, events: [] });
  const lagging = (state: WatcherState | undefined, reason: string): Step => {
    return { state, events: [], ends: { outcome: "lagging", reason } };
  };

  /** Takes the lease, and what the leader before has stored. */
  async function lead(): Promise<Step> {
    if (await leadership.take(isLooping)) {
      await log.decodeUndecoded(signal);
      return unchanged(log.state);
    }
    await resets.check(log.state, signal);
    await leadership.follow(() => parts.onCommit?.());
    return { state: log.state, events: [], ends: { outcome: "idle", isFollower: true } };
  }

  /** Until the network is known to be the same, or nothing can be compared, the log stands. */
  async function reset(state: WatcherState | undefined): Promise<Step> {
    if (state === undefined) return unchanged(state);
    const reverted = await resets.reverted(state, signal);
    if (reverted !== undefined) return unchanged(reverted);
    const { standsBecause, begins } = await resets.check(state, signal);
    if (begins !== undefined) {
      // What was seen of the former network, and not read.
      const isLower = begins.head.sequence < head.sequence;
      const latestLedger = Math.max(state.latestLedger, isLower ? head.sequence : 0);
      return unchanged(afterReset({ ...state, latestLedger }, begins, noticedAt()));
    }
    if (standsBecause !== undefined) return lagging(state, standsBecause);
    if (head.sequence === 0 || head.sequence >= state.scannedLedger) return unchanged(state);
    // Ledgers that came after the newest one that is known to be the same may be others now.
    return unchanged(withoutAbove(state, Math.min(head.sequence, resets.sameUpTo ?? Infinity)));
  }

  /** Begins the log, or changes which contracts are watched. */
  async function contracts(state: WatcherState | undefined): Promise<Step> {
    if (state !== undefined && watchedContracts(state).join() === contractIds.join()) {
      // Before anything is scanned: a process may not live for long.
      return unchanged(state.checkpoints.length === 0 ? await addCheckpoint(state) : state);
    }
    await head.first();
    const { oldest, isWhole } = await oldestHeld(rpc, signal);
    waitingSinceMs ??= clock.monotonicMs();
    const isWaiting = clock.monotonicMs() - waitingSinceMs < (isLooping ? PATIENCE_MS : PATIENCE_IN_TURN_MS);
    if (oldest === undefined || (!isWhole && isWaiting)) {
      return lagging(state, "an RPC node does not say how far back it reaches");
    }
    waitingSinceMs = undefined;
    backfills.again();
    if (state === undefined) return unchanged(await addCheckpoint(firstState(contractIds, oldest)));
    return unchanged(withContracts(state, contractIds, oldest, noticedAt()));
  }

  /** A checkpoint of the first ledger, of the newest one when the first ones are scanned, and every ten minutes. */
  async function addCheckpoint(state: WatcherState): Promise<WatcherState> {
    if (clock.monotonicMs() < nextCheckpointMs) return state;
    const checkpoint = await resets.checkpoint(state, signal);
    nextCheckpointMs = clock.monotonicMs() + (checkpoint === undefined ? CHECKPOINT_RETRY_MS : CHECKPOINT_EVERY_MS);
    if (checkpoint === undefined) return state;
    if (state.checkpoints.length < FIRST_CHECKPOINTS - 1) nextCheckpointMs = -Infinity;
    return withCheckpoint(state, checkpoint);
  }

  /** Reads one page, from where the last commit ended towards the node's newest ledger. */
  async function scan(found: WatcherState | undefined): Promise<Step> {
    const state = found!;
    const { rpcCursor, scannedLedger } = state;
    const place: Place = rpcCursor === undefined ? { startLedger: scannedLedger + 1 } : { cursor: rpcCursor };
    const request = { place, contractIds, signal };
    const asked = node.next ?? Math.max(0, rpc.nodes().findIndex(({ inUse }) => inUse));
    const first = await read({ ...request, node: node.next });
    node.next = undefined;
    const reading = first.kind === "pruned" ? await readAnywhere(read, rpc, request, first) : first;
    if (reading.kind === "pruned") return await afterPruned(state, reading);
    pruned = undefined;
    if (reading.kind === "behind") {
      // The error tells no time: only with one can the head say what it means.
      await askNewest(rpc, { node: asked, signal });
      if (reading.latestLedger >= head.sequence && head.sequence <= scannedLedger) return unchanged(state);
      node.next = (asked + 1) % rpc.nodes().length;
      return lagging(state, `the RPC node shows ledger ${reading.latestLedger}, ledger ${head.sequence} has been seen`);
    }
    const { page, answer, verdict } = reading;
    node.last = reading.node;
    if (answer.latestLedgerCloseTime === undefined && !head.isTimed) {
      await askNewest(rpc, { node: reading.node, signal });
    }
    if (!isOfNetwork(reading, head)) {
      node.next = (reading.node + 1) % rpc.nodes().length;
      return lagging(state, `the RPC node shows ledger ${answer.latestLedger} beside ledger ${head.sequence}`);
    }
    const next = withScanned(state, page.scannedLedger, { closeTime: head.closeTime, rpcCursor: page.cursor });
    const isAtEnd = page.scannedLedger >= answer.latestLedger;
    if (verdict === "lagging" && isAtEnd && answer.latestLedger < head.sequence) {
      node.next = (reading.node + 1) % rpc.nodes().length;
      const reason = `the RPC node shows ledger ${answer.latestLedger}, ledger ${head.sequence} has been seen`;
      return { ...lagging(next, reason), events: page.events };
    }
    return { state: next, events: page.events, ...(isAtEnd ? {} : { ends: { outcome: "more" } }) };
  }

  /** Ledgers that no node holds any more are a gap, once a reset was ruled out since that was heard first. */
  async function afterPruned(state: WatcherState, said: { oldestLedger: number; isSilent: boolean }): Promise<Step> {
    const ledger = state.scannedLedger;
    if (pruned?.ledger !== ledger) pruned = { ledger, atMs: clock.monotonicMs() };
    await askNewest(rpc, { signal });
    if (said.oldestLedger > head.sequence || !resets.isRuledOutSince(pruned.atMs)) {
      resets.again();
      return lagging(state, "the RPC node no longer holds the ledgers that come next");
    }
    pruned = undefined;
    backfills.again();
    return { ...unchanged(afterPruning(state, said.oldestLedger, noticedAt(), said)), ends: { outcome: "more" } };
  }

  /** Scans a second time, fills gaps, and stores a checkpoint every ten minutes. */
  async function backfill(found: WatcherState | undefined): Promise<Step> {
    const state = found!;
    const checked = await addCheckpoint(state);
    if (checked !== state) return { ...unchanged(checked), ends: { outcome: "more" } };
    const { kind, state: next, events } = await backfills.step(state, node.last, signal);
    if (kind === "nothing") return unchanged(state);
    if (kind === "gap") filled ??= { before: state, events: 0 };
    const { added } = await commit({ state: next, events });
    if (kind === "gap") filled!.events += added;
    else if (added > 0) {
      const message = `${added} events had been missing in what an RPC node answered; a second scan found them`;
      onProblem({ kind: "repaired", events: added, message });
    }
    return { ...unchanged(log.state), ends: { outcome: "more" } };
  }

  const steps = [lead, reset, contracts, scan, backfill];

  /** The one place that writes. */
  async function commit({ state, events }: Step): Promise<{ added: number }> {
    if (state === undefined || (state === log.state && events.length === 0)) return { added: 0 };
    const added = await log.commit(events, state);
    leadership.committed();
    backfills.scanned(state);
    return added;
  }

  async function poll(): Promise<PollResult & { outcome: "idle" | "more" | "lagging" }> {
    let state: WatcherState | undefined;
    for (const step of steps) {
      const next = await step(state);
      await commit(next);
      if (next.ends !== undefined) return { ...next.ends, events: log.appended };
      state = log.state;
    }
    const notice = filled && noticeOfFilled(filled.events, log.state!, filled.before);
    if (notice !== undefined) onProblem(notice);
    filled = undefined;
    return { outcome: "idle", events: log.appended };
  }

  async function tryPoll(): Promise<PollResult> {
    try {
      const result = await poll();
      telling.outcome(result);
      telling.clock();
      await leadership.polled(result.outcome === "idle" || result.outcome === "more");
      return result;
    } catch (cause) {
      // Another gateway has taken over: no trouble, the next poll sees.
      if (isFenced(cause)) return { outcome: "idle", events: log.appended, isFollower: true };
      if (signal.aborted) return { outcome: "failed", events: log.appended };
      const trouble = troubleOf(cause);
      telling.trouble(trouble);
      if (trouble.kind === "node_failed") {
        resets.again();
        await leadership.polled(false);
      }
      return { outcome: "failed", events: log.appended };
    }
  }

  let polling: Promise<PollResult> | undefined;
  let queued: Promise<PollResult> | undefined;

  /** A poll that begins from now on. */
  function nextPoll(): Promise<PollResult> {
    if (polling === undefined) return polling = tryPoll().finally(() => polling = undefined);
    return queued ??= polling.then(() => {
      queued = undefined;
      return nextPoll();
    });
  }

  const loop = createLoop({
    wait: clock.wait,
    onProblem: () => {},
    async step() {
      const { outcome } = await nextPoll();
      if (outcome === "failed") throw new Error("told already");
      if (outcome === "more") return 0;
      return outcome === "lagging" ? Math.min(pollMs, LAGGING_MS) : pollMs;
    },
  });

  async function checkAlone(): Promise<void> {
    await store.events.watcherState().then((state) => resets.check(state, signal)).catch(() => {});
  }

  /** Where gateways take turns, one that stands still shows beside the others alone. */
  async function askAll(): Promise<void> {
    const asked = rpc.nodes().map((_, node) => askNewest(rpc, { node, signal, timeoutMs: ASK_ALL_MS }));
    await Promise.allSettled(asked);
  }

  return {
    start() {
      isLooping = true;
      loop.start();
    },
    wake: loop.wake,
    async stop() {
      stopping.abort();
      await loop.stop();
      await polling;
      await log.close();
    },
    async pollFor(timeMs) {
      const endsAtMs = clock.monotonicMs() + timeMs;
      // Another process may have the next turn, and knows nothing of this one.
      const isTurn = store.isShared && !isLooping;
      turns += 1;
      if (isTurn && rpc.nodes().length > 1) await askAll();
      let events = 0;
      while (true) {
        const result = await nextPoll();
        events += result.events;
        const isAwaited = result.outcome === "lagging" ||
          (isTurn && (result.outcome === "failed" || result.isFollower));
        const pauseMs = result.outcome === "more" ? 0 : LAGGING_MS;
        const isOver = clock.monotonicMs() + pauseMs >= endsAtMs || signal.aborted;
        if (isOver || (result.outcome !== "more" && !isAwaited)) {
          turns -= 1;
          if (turns === 0 && isTurn) await log.close();
          return { ...result, events };
        }
        if (pauseMs > 0) await clock.wait(pauseMs, signal);
      }
    },
    // What the store fails at is told elsewhere.
    refresh: () => store.events.watcherState().then(leadership.takeHead, () => {}),
  };
}
