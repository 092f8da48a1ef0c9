/*
 * Decides when the watcher polls: in a loop, or in a turn where processes take turns. `watcher.ts` has the poll itself.
 */

import type { Clock } from "../clock.ts";
import { createLoop } from "../loop.ts";
import { askNewest } from "../stellar/fresh_read.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import type { RawEvent } from "../stellar/rpc/schemas.ts";
import type { WatcherState } from "../store/store.ts";

/** The result of a poll. */
export interface PollResult {
  /**
   * `idle`: the log has all of the node's events. `more`: the node has more. `lagging`: the node lags, or the reset
   * check has to answer first. `failed`: node or store failed.
   */
  outcome: "idle" | "more" | "lagging" | "failed";
  /** How many events the poll appended. */
  events: number;
  /** Another gateway is the leader. */
  isFollower?: true;
  /** Why, with `lagging`. */
  reason?: string;
  /** With `more`: the log has the newest ledgers, and earlier ones follow. */
  isCurrent?: true;
}

/** The result of one step of a poll. `ends`: the poll ends here. */
export interface Step {
  state: WatcherState | undefined;
  events: RawEvent[];
  ends?: { outcome: "idle" | "more" | "lagging"; isFollower?: true; reason?: string; isCurrent?: true };
}

export interface PollingParts {
  /** Never rejects. */
  poll(): Promise<PollResult>;
  /** Called when the last turn is over and another process may have the next one. */
  onTurnsOver(): Promise<void>;
  rpc: Pick<NodesRpcClient, "nodes" | "getHealth" | "getLatestLedger">;
  isShared: boolean;
  clock: Pick<Clock, "monotonicMs" | "wait">;
  pollMs: number;
  signal: AbortSignal;
}

/** Runs polls in a loop or in turns. */
export interface Polling {
  readonly isLooping: boolean;
  start(): void;
  /** Polls at once instead of after the rest of `pollMs`. The pause after a failure stays. */
  wake(): void;
  /** Ends the loop after the poll under way. */
  stop(): Promise<void>;
  /**
   * Polls until idle, or for about this long. The first poll starts after the call. Never rejects. `newestOnly`: does not
   * wait for earlier ledgers.
   */
  pollFor(timeMs: number, options?: { newestOnly?: boolean }): Promise<PollResult>;
}

const LAGGING_MS = 1_000;
const ASK_ALL_MS = 2_000;

export function createPolling({ poll, onTurnsOver, rpc, isShared, clock, pollMs, signal }: PollingParts): Polling {
  let isLooping = false;
  let turns = 0;
  let polling: Promise<PollResult> | undefined;
  let queued: Promise<PollResult> | undefined;

  /** A poll that starts after this call. */
  function nextPoll(): Promise<PollResult> {
    if (polling === undefined) return polling = poll().finally(() => polling = undefined);
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
      if (outcome === "failed") throw new Error("reported already");
      if (outcome === "more") return 0;
      return outcome === "lagging" ? Math.min(pollMs, LAGGING_MS) : pollMs;
    },
  });

  /** Asks all nodes: in a turn only their difference shows a stopped node. */
  async function askAll(): Promise<void> {
    const asked = rpc.nodes().map((_, node) => askNewest(rpc, { node, signal, timeoutMs: ASK_ALL_MS }));
    await Promise.allSettled(asked);
  }

  /** The next process knows nothing of this turn, so a turn also waits after a failure. */
  async function pollUntil(endsAtMs: number, isTurn: boolean, newestOnly: boolean): Promise<PollResult> {
    let events = 0;
    while (true) {
      const result = await nextPoll();
      events += result.events;
      const { outcome, isFollower, isCurrent } = result;
      const isAwaited = outcome === "lagging" || (isTurn && (outcome === "failed" || isFollower));
      const pauseMs = outcome === "more" ? 0 : LAGGING_MS;
      const isOver = clock.monotonicMs() + pauseMs >= endsAtMs || signal.aborted;
      const isEnough = newestOnly && isCurrent;
      if (isOver || isEnough || (outcome !== "more" && !isAwaited)) return { ...result, events };
      if (pauseMs > 0) await clock.wait(pauseMs, signal);
    }
  }

  return {
    get isLooping() {
      return isLooping;
    },
    start() {
      isLooping = true;
      loop.start();
    },
    wake: loop.wake,
    async stop() {
      await loop.stop();
      await polling;
    },
    async pollFor(timeMs, { newestOnly = false } = {}) {
      const endsAtMs = clock.monotonicMs() + timeMs;
      const isTurn = isShared && !isLooping;
      turns += 1;
      if (isTurn && rpc.nodes().length > 1) await askAll();
      const result = await pollUntil(endsAtMs, isTurn, newestOnly);
      turns -= 1;
      if (turns === 0 && isTurn) await onTurnsOver();
      return result;
    },
  };
}
