/*
 * Runs a poll as five steps: lead, reset, contracts, scan, backfill. One place commits their results. `polling.ts`
 * decides when to poll. The steps are in `leadership.ts`, `reset_watch.ts`, `coverage.ts`, `scan.ts` and `gaps.ts`;
 * `log_writer.ts` writes.
 */

import { isoSeconds } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import type { Head } from "../stellar/head.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import type { NewEvent } from "../store/event.ts";
import { isFenced, type Lease, type WatcherState } from "../store/store.ts";
import { afterReset, beginning, watchedContracts, withCheckpoint, withContracts, withoutAbove } from "./coverage.ts";
import { createBackfill } from "./gaps.ts";
import { createKnownUntil } from "./known_until.ts";
import { createLeadership } from "./leadership.ts";
import { createLogWriter, type LogWriterParts } from "./log_writer.ts";
import { createAssetLookup, type Movements } from "./movement_assets.ts";
import { type Notice, noticeOfFilled, type Trouble, troubleOf } from "./notices.ts";
import { createPolling, type Polling, type PollResult, type Step } from "./polling.ts";
import { createReader, oldestHeld } from "./reading.ts";
import { createResetWatch } from "./reset_watch.ts";
import { createReverts } from "./reverts.ts";
import { createScan } from "./scan.ts";
import { createWatcherReports } from "./watcher_reports.ts";

export interface Watcher extends Pick<Polling, "start" | "wake" | "pollFor"> {
  /** Stops polling and releases the lease. */
  stop(): Promise<void>;
  /** Takes the head from the store, for gateways without a loop. Never rejects. */
  refresh(): Promise<void>;
  /**
   * Up to when the log has all events, network time in Unix seconds; undefined while this process cannot tell.
   * `scannedLedger`: as the store has it now.
   */
  knownUntil(scannedLedger: number | null): number | undefined;
  /** Why the log stands still; undefined while it does not. */
  readonly trouble: string | undefined;
}

/** Work of the leader on the log. Each method runs under the log's lease. */
export interface Derivation {
  /** Derives up to the end of the log. */
  follow(lease: Lease): Promise<void>;
  /** Reads from the nodes what is due. */
  read(lease: Lease): Promise<void>;
  /** Events to append now, while the log's end is known. */
  owedEvents(lease: Lease): Promise<NewEvent[]>;
  /** Ends `follow` after the step under way, and `read` without waiting for a node. */
  stop(): void;
}

export interface WatcherParts extends Omit<LogWriterParts, "onNotice" | "assets" | "head"> {
  rpc: NodesRpcClient;
  head: Head;
  /** The epoch of the head at the start; absent when nothing was stored. */
  epoch?: number;
  contractIds: readonly string[];
  onProblem: (problem: Notice | Trouble) => void;
  /** Finds the assets of movements in their transactions. When absent, movements have none. */
  movements?: Movements;
  /** Keeps what the log shows of payments. */
  payments?: Derivation;
  /** How many events a page has; 1 000 when absent. */
  pageEvents?: number;
  /** How many days the store keeps events; forever when 0 or absent. */
  keptDays?: number;
  /** The history of the first epoch begins no earlier; 1 when absent. */
  firstLedger?: number;
}

const CHECKPOINT_EVERY_MS = 600_000;
/** When no node returned a hash. */
const CHECKPOINT_RETRY_MS = 60_000;
/** Of the first scanned ledger, and of the newest. */
const FIRST_CHECKPOINTS = 2;
/** How long the watcher waits for nodes that do not report their oldest ledger. */
const PATIENCE_MS = 60_000;
const PATIENCE_IN_TURN_MS = 10_000;

/**
 * Follows the contracts' events. The watcher knows only what it has committed, so the next poll repeats a failed one.
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
  const reports = createWatcherReports({ head, clock, onProblem });
  const resets = createResetWatch({
    rpc,
    store,
    head,
    clock,
    onDue: () => polling.isLooping ? polling.wake() : void checkAlone(),
  });
  const leadership = createLeadership({ store, head, clock, log, epoch: parts.epoch, pollMs });
  const backfills = createBackfill({ rpc, head, clock, read, keptDays: parts.keptDays ?? 0 });
  const known = createKnownUntil({ head, clock });
  let waitingSinceMs: number | undefined;
  let nextCheckpointMs = -Infinity;
  /** The state before the backfill filled gaps, and the events that it found. */
  let filled: { before: WatcherState; events: number } | undefined;

  /** From the newest ledger, because our own clock may be days off after a start. */
  const detectedAt = () => isoSeconds((head.closeTime || head.networkSeconds()) * 1_000);
  const scanning = createScan({
    rpc,
    head,
    clock,
    read,
    contractIds,
    resets,
    detectedAt,
    onPruned: () => backfills.again(),
  });
  const reverts = createReverts({ clock, head, rpc });
  const unchanged = (state: WatcherState | undefined): Step => ({ state, events: [] });
  const lagging = (state: WatcherState | undefined, reason: string): Step => {
    return { state, events: [], ends: { outcome: "lagging", reason } };
  };

  /** Takes the lease, and the state that the former leader stored. */
  async function lead(): Promise<Step> {
    if (await leadership.take(polling.isLooping)) {
      await log.decodeUndecoded(signal);
      return unchanged(log.state);
    }
    await resets.check(log.state, signal);
    await leadership.follow(() => parts.onCommit?.());
    return { state: log.state, events: [], ends: { outcome: "idle", isFollower: true } };
  }

  /** The log stops until the comparison answers `same` or `nothing`. */
  async function reset(state: WatcherState | undefined): Promise<Step> {
    if (state === undefined) return unchanged(state);
    const reverted = await reverts(state, signal);
    if (reverted !== undefined) return unchanged(reverted);
    const { standsBecause, begins } = await resets.check(state, signal);
    if (begins !== undefined) {
      // Counts ledgers of the former epoch that nodes showed and the scan has not read.
      const isLower = begins.head.sequence < head.sequence;
      const latestLedger = Math.max(state.latestLedger, isLower ? head.sequence : 0);
      // From now on answers of nodes that show the former epoch are odd.
      head.restart(begins.head);
      resets.again();
      const { oldest } = await oldestHeld(rpc, signal);
      const oldestLedger = Math.min(begins.oldestLedger, oldest ?? Infinity);
      return unchanged(afterReset({ ...state, latestLedger }, { ...begins, oldestLedger }, detectedAt()));
    }
    if (standsBecause !== undefined) return lagging(state, standsBecause);
    if (head.sequence === 0 || head.sequence >= state.scannedLedger) return unchanged(state);
    // After a fallen head the ledgers above the newest equal checkpoint may be others.
    return unchanged(withoutAbove(state, Math.min(head.sequence, resets.sameUpTo ?? Infinity)));
  }

  /** Starts the log, or changes the watched contracts. */
  async function contracts(state: WatcherState | undefined): Promise<Step> {
    if (state !== undefined && watchedContracts(state).join() === contractIds.join()) {
      // A process may not live for long, so the checkpoint comes before the scan.
      return unchanged(state.checkpoints.length === 0 ? await addCheckpoint(state) : state);
    }
    await head.first();
    const { oldest, isWhole } = await oldestHeld(rpc, signal);
    const newestLedger = head.sequence;
    waitingSinceMs ??= clock.monotonicMs();
    const isWaiting = clock.monotonicMs() - waitingSinceMs < (polling.isLooping ? PATIENCE_MS : PATIENCE_IN_TURN_MS);
    if (oldest === undefined || (!isWhole && isWaiting)) {
      return lagging(state, "an RPC node does not report its oldest ledger");
    }
    waitingSinceMs = undefined;
    backfills.again();
    // After a reset the ledger numbers start again.
    const bound = (state?.epoch ?? 0) === 0 ? Math.min(parts.firstLedger ?? 1, newestLedger) : 1;
    const oldestLedger = Math.max(oldest, bound);
    if (state !== undefined) return unchanged(withContracts(state, contractIds, oldestLedger, detectedAt()));
    const begun = beginning(contractIds, { oldestLedger, newestLedger, detectedAt: detectedAt() });
    return unchanged(await addCheckpoint(begun));
  }

  /** Adds a checkpoint of the first ledger, of the newest one after the first scans, and every ten minutes. */
  async function addCheckpoint(state: WatcherState): Promise<WatcherState> {
    if (clock.monotonicMs() < nextCheckpointMs) return state;
    const checkpoint = await resets.checkpoint(state, signal);
    const isFirst = state.checkpoints.length < FIRST_CHECKPOINTS - 1;
    if (!isFirst) {
      nextCheckpointMs = clock.monotonicMs() + (checkpoint === undefined ? CHECKPOINT_RETRY_MS : CHECKPOINT_EVERY_MS);
    }
    return checkpoint === undefined ? state : withCheckpoint(state, checkpoint);
  }

  /** Adds due checkpoints, rescans, and fills gaps. */
  async function backfill(found: WatcherState | undefined): Promise<Step> {
    const state = found!;
    const checked = await addCheckpoint(state);
    if (checked !== state) return { ...unchanged(checked), ends: { outcome: "more" } };
    const { kind, state: next, events } = await backfills.step(state, scanning.lastNode, signal);
    if (kind === "nothing") return unchanged(state);
    if (kind === "gap") filled ??= { before: state, events: 0 };
    const { added } = await commit({ state: next, events });
    if (kind === "gap") filled!.events += added;
    else if (added > 0) {
      const message = `a rescan found ${added} events that an RPC node had left out`;
      onProblem({ kind: "repaired", events: added, message });
    }
    return { ...unchanged(log.state), ends: { outcome: "more", isCurrent: true } };
  }

  const scan = (state: WatcherState | undefined) => scanning.step(state!, signal);
  const steps = [lead, reset, contracts, scan, backfill];

  /** The only place that commits. */
  async function commit({ state, events }: Step): Promise<{ added: number }> {
    if (state === undefined || (state === log.state && events.length === 0)) return { added: 0 };
    const added = await log.commit(events, state).catch((error) => {
      backfills.restart();
      throw error;
    });
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

  let deriving: Promise<void> | undefined;

  /** Derives in the background, except where processes take turns, and appends what the log owes. */
  async function derive(): Promise<void> {
    const [work, { lease }] = [parts.payments, log];
    if (work === undefined || lease === undefined) return;
    // `owedEvents` meets a lasting failure of `follow`, too. Store and RPC client report those of `read`.
    deriving ??= work.follow(lease).then(() => work.read(lease)).catch(() => {}).finally(() => deriving = undefined);
    if (!polling.isLooping) await deriving;
    const owed = await work.owedEvents(lease).catch((error) => {
      // No node answers, which the RPC client reports.
      if (error instanceof GatewayError) return [];
      throw error;
    });
    if (owed.length > 0) await log.appendOwn(owed);
  }

  async function pollAndDerive(): ReturnType<typeof poll> {
    const result = await poll();
    if (result.outcome !== "lagging") await derive();
    return { ...result, events: log.appended };
  }

  async function tryPoll(): Promise<PollResult> {
    try {
      const result = await pollAndDerive().finally(() => log.state && known.scanned(log.state.scannedLedger));
      reports.outcome(result);
      reports.clock();
      await leadership.polled(result.outcome === "idle" || result.outcome === "more");
      return result;
    } catch (cause) {
      // Another gateway has the lease now; the next poll follows it.
      if (isFenced(cause)) return { outcome: "idle", events: log.appended, isFollower: true };
      if (signal.aborted) return { outcome: "failed", events: log.appended };
      const trouble = troubleOf(cause);
      reports.trouble(trouble);
      if (trouble.kind === "node_failed") {
        resets.again();
        await leadership.polled(false);
      }
      return { outcome: "failed", events: log.appended };
    }
  }

  const polling = createPolling({
    rpc,
    clock,
    pollMs,
    signal,
    isShared: store.isShared,
    poll: tryPoll,
    onTurnsOver: () => log.close(),
  });

  async function checkAlone(): Promise<void> {
    await store.events.watcherState().then((state) => resets.check(state, signal)).catch(() => {});
  }

  return {
    start: polling.start,
    wake: polling.wake,
    pollFor: polling.pollFor,
    async stop() {
      stopping.abort();
      parts.payments?.stop();
      await polling.stop();
      await deriving;
      await log.close();
    },
    // Other places report a failing store.
    knownUntil(scannedLedger) {
      if (scannedLedger !== null) known.scanned(scannedLedger);
      return known.seconds();
    },
    get trouble() {
      return reports.present;
    },
    refresh: () => store.events.watcherState().then(leadership.takeHead, () => {}),
  };
}
