import type { Clock } from "../clock.ts";
import { createLoop } from "../loop.ts";
import { askNewest } from "../stellar/fresh_read.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import type { RawEvent } from "../stellar/rpc/schemas.ts";
import type { WatcherState } from "../store/store.ts";

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

/** What a step of a poll leads to. `ends`: the poll ends with it. */
export interface Step {
  state: WatcherState | undefined;
  events: RawEvent[];
  ends?: { outcome: "idle" | "more" | "lagging"; isFollower?: true; reason?: string };
}

export interface PollingParts {
  /** Never rejects. */
  poll(): Promise<PollResult>;
  /** The last turn is over: another process may have the next one. */
  onTurnsOver(): Promise<void>;
  rpc: Pick<NodesRpcClient, "nodes" | "getHealth" | "getLatestLedger">;
  isShared: boolean;
  clock: Pick<Clock, "monotonicMs" | "wait">;
  pollMs: number;
  signal: AbortSignal;
}

/** When the watcher polls: in a loop, or for a while where processes take turns. */
export interface Polling {
  readonly isLooping: boolean;
  start(): void;
  /** Polls at once instead of after the rest of `pollMs`. A failing node or store keeps its pause. */
  wake(): void;
  /** Ends the loop once the poll under way is over. */
  stop(): Promise<void>;
  /** Polls until idle, or for about so long. The first poll begins after the call. Never rejects. */
  pollFor(timeMs: number): Promise<PollResult>;
}

const LAGGING_MS = 1_000;
const ASK_ALL_MS = 2_000;

export function createPolling({ poll, onTurnsOver, rpc, isShared, clock, pollMs, signal }: PollingParts): Polling {
  let isLooping = false;
  let turns = 0;
  let polling: Promise<PollResult> | undefined;
  let queued: Promise<PollResult> | undefined;

  /** A poll that begins from now on. */
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
      if (outcome === "failed") throw new Error("told already");
      if (outcome === "more") return 0;
      return outcome === "lagging" ? Math.min(pollMs, LAGGING_MS) : pollMs;
    },
  });

  /** Where gateways take turns, a node that stands still shows beside the others alone. */
  async function askAll(): Promise<void> {
    const asked = rpc.nodes().map((_, node) => askNewest(rpc, { node, signal, timeoutMs: ASK_ALL_MS }));
    await Promise.allSettled(asked);
  }

  /** In a turn the next process knows nothing of this one, which waits for what may come yet. */
  async function pollUntil(endsAtMs: number, isTurn: boolean): Promise<PollResult> {
    let events = 0;
    while (true) {
      const result = await nextPoll();
      events += result.events;
      const { outcome, isFollower } = result;
      const isAwaited = outcome === "lagging" || (isTurn && (outcome === "failed" || isFollower));
      const pauseMs = outcome === "more" ? 0 : LAGGING_MS;
      const isOver = clock.monotonicMs() + pauseMs >= endsAtMs || signal.aborted;
      if (isOver || (outcome !== "more" && !isAwaited)) return { ...result, events };
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
    async pollFor(timeMs) {
      const endsAtMs = clock.monotonicMs() + timeMs;
      const isTurn = isShared && !isLooping;
      turns += 1;
      if (isTurn && rpc.nodes().length > 1) await askAll();
      const result = await pollUntil(endsAtMs, isTurn);
      turns -= 1;
      if (turns === 0 && isTurn) await onTurnsOver();
      return result;
    },
  };
}
