import { isoSeconds } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import { createLoop } from "../loop.ts";
import { STORED } from "../stellar/ledger/belief.ts";
import { askForTime } from "../stellar/ledger/ledger_time.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import { NODE_HEALTH_LIMITS } from "../stellar/rpc/node_health.ts";
import { heightOf } from "../store/event.ts";
import { isFenced, type Store, type WatcherState } from "../store/store.ts";
import { createAnchors, nodeInUse } from "./anchor.ts";
import { afterPruning, afterReset, firstState, watchedContracts, withContracts } from "./coverage.ts";
import { createFormerNetworkCheck } from "./former_network.ts";
import { createAssetLookup, type Movements } from "./movement_assets.ts";
import { createLogWriter, type LogWriterParts } from "./log_writer.ts";
import { createOldestLedger } from "./oldest_ledger.ts";
import { type Notice, noticeOfFilled, type Trouble, troubleOf } from "./notices.ts";
import type { Place } from "./page.ts";
import { createPruningCheck } from "./pruning.ts";
import { createReader } from "./reading.ts";
import { createGapJobs, createSecondLook, withMark } from "./repairs.ts";
import { createResetCheck } from "./reset_check.ts";
import { createStalledLead } from "./stalled_lead.ts";
import { createTelling } from "./telling.ts";

export interface TurnResult {
  /**
   * `at_tip`: all the node has is committed; `behind`: there is more, the turn was long enough; `lagging`: the node shows
   * less than was seen already; `doubtful`: what it shows has to be asked for again; `standby`: another gateway watches;
   * `failed`: reported, to be tried again; `stopped`: the watcher was told to stop.
   */
  outcome: "at_tip" | "behind" | "lagging" | "doubtful" | "standby" | "failed" | "stopped";
  /** How many events were appended. */
  events: number;
  /** Why the node is not believed, with `lagging` and `doubtful`. */
  reason?: string;
}

export interface Watcher {
  /** Begins to poll, until `stop`. */
  start(): void;
  /** Ends polling and gives the lease back. What was read and not committed is read again at the next start. */
  stop(): Promise<void>;
  /** Polls at once instead of after the rest of `pollMs`; a failing node or store keeps its pause. */
  wake(): void;
  /** Polls until all the node has is committed, for places without a loop; at most about `boundMs`. Never rejects. */
  turn(boundMs: number): Promise<TurnResult>;
  /** Learns which ledger was committed last, by whichever gateway, for places without a loop. Never rejects. */
  hear(): Promise<void>;
}

export interface WatcherParts extends Omit<LogWriterParts, "onNotice" | "assets"> {
  store: LogWriterParts["store"] & Pick<Store, "subscriptions">;
  rpc: NodesRpcClient;
  contractIds: readonly string[];
  onProblem: (problem: Notice | Trouble) => void;
  /** How the assets of movements are learnt from their transactions; they are not looked for when absent. */
  movements?: Movements;
  /** How many events the node is asked for at a time; 1 000 when absent. */
  pageEvents?: number;
  /** How many days events are kept; for ever when 0 or absent. */
  keptDays?: number;
}

const PAGES_PER_POLL = 20;
/** What is in doubt is asked again after this: a little more than the judge wants between two claims. */
const DOUBT_MS = 2_100;
/** A ledger that was claimed is confirmed by a claim after this. */
const CONFIRM_MS = 1_100;
/** One that is slower says nothing of how far the network is. */
const ASK_ALL_MS = 2_000;
/** How long a node that does not tell what matters is waited for … */
const PATIENCE_MS = 60_000;
/** … and where the next turn may be of a process that does not know that it was waited for. */
const PATIENCE_IN_TURN_MS = 10_000;
const SHOWS_FORMER = "the RPC node shows the network as it was before it was reset";

/**
 * Follows the contracts' events: reads from where the last commit ended towards the node's newest ledger, and commits
 * events together with what was scanned. What is known of the network is what is committed; a poll that fails is made
 * good by the next.
 */
export function createWatcher(parts: WatcherParts): Watcher {
  const { rpc, store, view, clock, pollMs, onProblem } = parts;
  const contractIds = [...new Set(parts.contractIds)].sort();
  const stopping = new AbortController();
  const { movements } = parts;
  const assets = movements &&
    createAssetLookup({ rpc, clock, movements, onNotice: onProblem, stopping: stopping.signal });
  const log = createLogWriter({ ...parts, assets, onNotice: onProblem });
  const read = createReader(rpc, parts.pageEvents);
  const patienceMs = () => hasTurnsOnly() ? PATIENCE_IN_TURN_MS : PATIENCE_MS;
  const oldestShowing = createOldestLedger({ rpc, clock, patienceMs });
  const askOthers = createPruningCheck({ rpc, view, clock, read, patienceMs });
  const showsFormer = createFormerNetworkCheck({ rpc, view, clock, patienceMs });
  const resets = createResetCheck({ rpc, store, view, clock, patienceMs });
  const anchors = createAnchors({ rpc, clock });
  const gaps = createGapJobs({ rpc, clock, log, read });
  const secondLook = createSecondLook({ rpc, clock, log, read, keptDays: parts.keptDays ?? 0 });
  const telling = createTelling({ view, clock, onProblem });
  const lead = createStalledLead({ clock, pollMs });
  let isLooping = false;
  /** Turns under way. */
  let turns = 0;
  /** When the last of them is over, monotonic ms. */
  let turnsEndAtMs = 0;
  let polling: Promise<TurnResult> | undefined;
  /** The node that answered last. */
  let lastNode = 0;
  /** The node said more than is confirmed: the place was not moved as far as was read. */
  let isWithheld = false;
  let lastSequence = 0;

  /** One poll: everything the watcher does happens in here, in this order. */
  async function poll(signal: AbortSignal): Promise<TurnResult> {
    isWithheld = false;
    if (!await log.open()) return await standBy();
    await log.decodeUndecoded(signal);
    if (log.state === undefined) {
      const oldest = await oldestShowing(1, signal);
      if (oldest === undefined) return result("lagging", "an RPC node does not say how far back it reaches");
      await log.commit([], firstState(contractIds, oldest));
      resets.begun();
    }
    if (await showsFormer(log.state!, { signal })) return result("lagging", SHOWS_FORMER);
    if (await isResetDoubtful(signal)) return result("doubtful", "the network looks as if it had been reset");
    if (watchedContracts(log.state!).join() !== contractIds.join()) {
      const oldest = await oldestShowing(log.state!.scannedLedger, signal);
      // Whether it lags or is another network: nothing is begun on its word.
      if (oldest === undefined) {
        return result("lagging", `an RPC node does not show ledger ${log.state!.scannedLedger}`);
      }
      await log.commit([], withContracts(log.state!, contractIds, oldest, noticedAt()));
      gaps.again();
    }
    const scanned = await scan(signal);
    telling.clock();
    if (scanned.outcome !== "at_tip" || signal.aborted) return scanned;
    await repair(signal);
    return result("at_tip");
  }

  function result(outcome: TurnResult["outcome"], reason?: string): TurnResult {
    return { outcome, events: log.appended, ...(reason === undefined ? {} : { reason }) };
  }

  /** By the network's time: an alert goes by how long ago it was, and our own clock may be days behind after a start. */
  const noticedAt = () => isoSeconds(view.networkSeconds() * 1_000);

  function hearStored(state: WatcherState | undefined): void {
    if (state === undefined) return;
    const { latestLedger: sequence, latestLedgerCloseTime } = state;
    view.hear({ node: STORED, sequence, closeTime: latestLedgerCloseTime || undefined });
  }

  /** Another gateway watches: what it has committed is news to this one. */
  async function standBy(): Promise<TurnResult> {
    hearStored(log.state);
    const { last } = await store.events.bounds();
    if (last !== lastSequence) parts.onCommit?.();
    lastSequence = last;
    return result("standby");
  }

  /** A reset network is believed on evidence only, twice (`reset_check.ts`); until then nothing is read. */
  async function isResetDoubtful(signal: AbortSignal): Promise<boolean> {
    const state = log.state!;
    if (!resets.isDue(state)) return false;
    const finding = await resets.check(state, signal);
    if (finding.kind === "reset") {
      await log.commit([], afterReset(state, finding, noticedAt()));
      resets.written();
    }
    if (finding.kind === "gone_back") {
      const { rpcCursor: _beyond, anchor: _gone, nextAnchor: _next, secondLook: _marks, ...rest } = state;
      const scannedLedger = Math.min(state.scannedLedger, finding.sameUpTo);
      const checkedLedger = Math.min(state.checkedLedger, scannedLedger);
      // First: what is read anew then is of ledgers that a webhook made since would take for old. And once more, for those
      // that were made before it was written down.
      const hearAgain = () => store.subscriptions.hearFrom(heightOf(state.epoch, scannedLedger + 1));
      await hearAgain();
      await log.commit([], { ...rest, scannedLedger, checkedLedger });
      resets.written();
      await hearAgain();
    }
    return finding.kind === "doubtful";
  }

  // --- reading on ----------------------------------------------------------------------------------------------------

  /** From the committed place towards the node's newest ledger, at most so many pages; in a turn while there is time. */
  async function scan(signal: AbortSignal): Promise<TurnResult> {
    const { rpcCursor, scannedLedger } = log.state!;
    let place: Place = rpcCursor === undefined ? { startLedger: scannedLedger + 1 } : { cursor: rpcCursor };
    for (let pages = 0; pages < PAGES_PER_POLL; pages++) {
      if (signal.aborted) return result("stopped");
      const request = { place, contractIds, signal };
      const first = await read(request);
      const reading = first.kind === "pruned" ? await askOthers(request, first) : first;
      if (reading.kind === "pruned") {
        if (await showsFormer(log.state!, { isPruned: true, signal })) return result("lagging", SHOWS_FORMER);
        if (!reading.isCertain) return result("doubtful", "the RPC node no longer holds the ledgers that come next");
        await log.commit([], afterPruning(log.state!, reading.oldestLedger, noticedAt(), reading));
        place = { startLedger: log.state!.scannedLedger + 1 };
        continue;
      }
      if (reading.kind === "behind") return await behind(reading.latestLedger, signal);
      const { page, answer } = reading;
      lastNode = reading.node;
      const isTimed = view.closeTimeIsExact && view.confirmed.sequence === answer.latestLedger;
      const closeTime = answer.latestLedgerCloseTime ?? (isTimed ? undefined : await askForTime(rpc, { signal }));
      // This answer itself may have overturned what was believed.
      if (await showsFormer(log.state!, { signal })) return result("lagging", SHOWS_FORMER);
      const isFormer = (answer.latestLedgerCloseTime ?? Infinity) < view.confirmed.closeTime;
      if (answer.latestLedger < view.confirmed.sequence || isFormer) return lagging(answer.latestLedger, closeTime);
      if (answer.latestLedger > view.sequence) {
        return result("doubtful", `the RPC node shows ledger ${answer.latestLedger}, which is not believed yet`);
      }

      const next = placeAfter(log.state!, page.scannedLedger, page.cursor);
      await log.commit(page.events, withMark(next, view.networkSeconds()));
      if (page.scannedLedger >= answer.latestLedger) return result("at_tip");
      if ("cursor" in place && place.cursor === page.cursor) {
        throw new GatewayError("upstream_error", `the RPC node's event cursor ${page.cursor} does not move on`);
      }
      place = { cursor: page.cursor };
      if (!isLooping && clock.monotonicMs() >= turnsEndAtMs) break;
    }
    return result("behind");
  }

  /** The place is never moved beyond what is confirmed: a ledger that only one answer speaks of is read again. */
  function placeAfter(state: WatcherState, scannedLedger: number, rpcCursor: string): WatcherState {
    const { sequence } = view.confirmed;
    const { rpcCursor: _former, ...rest } = state;
    isWithheld = scannedLedger > sequence;
    if (isWithheld) return { ...rest, scannedLedger: Math.max(state.scannedLedger, sequence) };
    return { ...rest, scannedLedger: Math.max(state.scannedLedger, scannedLedger), rpcCursor };
  }

  /** Lower is lag; but lower and later it is another network's, as close times do not fall. */
  function lagging(latestLedger: number, closeTime = 0): TurnResult {
    const { scannedLedger, latestLedger: newest, latestLedgerCloseTime } = log.state!;
    const isOther = latestLedger < newest && closeTime > latestLedgerCloseTime;
    const seen = Math.max(view.confirmed.sequence, scannedLedger);
    const reason = `the RPC node shows ledger ${latestLedger}, ledger ${seen} has been seen`;
    return result(isOther ? "doubtful" : "lagging", reason);
  }

  /** The node does not hold what comes next yet. */
  async function behind(latestLedger: number, signal: AbortSignal): Promise<TurnResult> {
    const closeTime = await askForTime(rpc, { signal });
    return latestLedger < log.state!.scannedLedger ? lagging(latestLedger, closeTime) : result("at_tip");
  }

  // --- making good ---------------------------------------------------------------------------------------------------

  /** Gaps, the second look, and the hash by which a reset will be told. */
  async function repair(signal: AbortSignal): Promise<void> {
    const before = log.state!;
    const filled = noticeOfFilled(await gaps.fill(isLooping ? Infinity : turnsEndAtMs, signal), log.state!, before);
    if (filled !== undefined) onProblem(filled);
    // By what ledgers said: where our own clock is all there is, it may be days ahead, and the look come too early.
    const found = await secondLook.look({ seconds: view.confirmed.closeTime, lastNode }, signal);
    if (found > 0) {
      const message = `${found} events had been missing in what an RPC node answered; a second look found them`;
      onProblem({ kind: "repaired", events: found, message });
    }
    const learnt = isWithheld ? undefined : await anchors.next(log.state!, signal);
    if (learnt !== undefined) {
      const { anchor: _former, nextAnchor: _said, ...rest } = log.state!;
      await log.commit([], { ...rest, ...learnt });
    }
  }

  // --- polling -------------------------------------------------------------------------------------------------------

  async function pollAsLead(): Promise<TurnResult> {
    if (!store.isShared || !isLooping) return await tryPoll();
    if (lead.isLeft()) return { outcome: "standby", events: 0 };
    const polled = await tryPoll();
    if (lead.isToLeave({ isLead: polled.outcome !== "standby", state: log.state })) await log.close();
    return polled;
  }

  async function tryPoll(): Promise<TurnResult> {
    try {
      const polled = await poll(stopping.signal);
      telling.outcome(polled);
      return polled;
    } catch (cause) {
      if (stopping.signal.aborted) return result("stopped");
      // Another gateway has taken over: no trouble, the next poll sees.
      if (isFenced(cause)) return result("standby");
      const trouble = troubleOf(cause);
      telling.trouble(trouble);
      // Nobody has seen what happened meanwhile.
      if (trouble.kind === "node_failed") resets.again();
      return result("failed");
    }
  }

  function pollOnce(): Promise<TurnResult> {
    polling ??= pollAsLead().finally(() => polling = undefined);
    return polling;
  }

  const loop = createLoop({
    wait: clock.wait,
    onProblem: () => {},
    async step() {
      const { outcome } = await pollOnce();
      if (outcome === "failed") throw new Error("told already");
      if (outcome === "behind") return isWithheld ? CONFIRM_MS : 0;
      return outcome === "doubtful" ? Math.min(pollMs, DOUBT_MS) : pollMs;
    },
  });

  /** Polls until there is no more for now, or the time is over. */
  async function takeTurn(endsAtMs: number): Promise<TurnResult> {
    for (let events = 0;;) {
      const isTimeToLeave = endsAtMs - clock.monotonicMs() > NODE_HEALTH_LIMITS.lagMs;
      const [polled] = await Promise.all([pollOnce(), hasTurnsOnly() && isTimeToLeave && askAll()]);
      events += polled.events;
      const isToConfirm = isWithheld && (polled.outcome === "at_tip" || polled.outcome === "behind");
      // Whoever has the lease for a turn of its own gives it back soon, what fails or lags may be well in a moment, or is
      // left in seconds: the next turn is a minute away, and maybe of a process that does not know of it.
      const isAwaited = hasTurnsOnly() &&
        (["standby", "failed", "lagging"].includes(polled.outcome) || isBehindOthers());
      const pauseMs = polled.outcome === "doubtful" ? DOUBT_MS : isToConfirm || isAwaited ? CONFIRM_MS : 0;
      const isOver = polled.outcome !== "behind" && pauseMs === 0;
      if (isOver || stopping.signal.aborted || clock.monotonicMs() + pauseMs >= endsAtMs) return { ...polled, events };
      if (pauseMs > 0) await clock.wait(pauseMs, stopping.signal);
    }
  }

  /**
   * Asks every node how far the network is. That the one in use stands still shows beside others alone; those are probed on the
   * occasion of calls, and too late for a process that lives for a turn.
   */
  async function askAll(): Promise<void> {
    const nodes = rpc.nodes();
    const options = { timeoutMs: ASK_ALL_MS, signal: stopping.signal };
    if (nodes.length > 1) await Promise.allSettled(nodes.map((_, node) => askForTime(rpc, { ...options, node })));
  }

  /** Also behind one that is not believed yet, as of a network that was reset. */
  function isBehindOthers(): boolean {
    const nodes = rpc.nodes();
    const { closeTime } = nodes[nodeInUse(rpc)]!;
    const newest = Math.max(view.closeTime, ...nodes.map((node) => node.closeTime));
    return closeTime > 0 && newest - closeTime > NODE_HEALTH_LIMITS.lagSeconds;
  }

  /** Where several gateways take turns and none has a loop. */
  const hasTurnsOnly = () => store.isShared && !isLooping;

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
    async turn(boundMs) {
      const endsAtMs = clock.monotonicMs() + boundMs;
      turnsEndAtMs = turns === 0 ? endsAtMs : Math.max(turnsEndAtMs, endsAtMs);
      turns += 1;
      const result = await takeTurn(endsAtMs);
      turns -= 1;
      if (turns === 0 && hasTurnsOnly()) await log.close();
      return result;
    },
    // What the store fails at is told elsewhere.
    hear: () => store.events.watcherState().then(hearStored, () => {}),
  };
}
