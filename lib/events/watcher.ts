import { GatewayError } from "../errors.ts";
import type { Wait } from "../clock.ts";
import { RpcError } from "../stellar/rpc/rpc.ts";
import { StoreError } from "../store/store.ts";
import type { Notice } from "./notices.ts";
import { createTurn, type TurnParts, type TurnResult } from "./turn.ts";

/** A state of the watcher: told when it changes, not at each turn. */
export interface Trouble {
  kind: "node_failed" | "node_lagging" | "store_failed" | "internal" | "recovered";
  message: string;
  cause?: unknown;
}

export interface Watcher {
  /** Begins to poll, until `stop`. */
  start(): void;
  /** Ends polling; resolves when nothing runs any more. What was read and not committed is read again at the next start. */
  stop(): Promise<void>;
  /** Polls at once instead of after the rest of `pollMs`; a failing node or store keeps its pause. */
  wake(): void;
  /** One bounded turn, for places without a loop. Joins a turn that is under way. Never rejects. */
  turn(): Promise<TurnResult>;
}

export interface WatcherParts extends Omit<TurnParts, "onNotice"> {
  wait: Wait;
  pollMs: number;
  onProblem: (problem: Notice | Trouble) => void;
}

const LONGEST_PAUSE_MS = 30_000;
/** Behind a load balancer a node is often a ledger late; only one that stays late is worth a word. */
const LAG_WORTH_TELLING_MS = 30_000;

/** Follows the contracts' events: commits what the node has, in turns, and looks again every `pollMs`. */
export function createWatcher(parts: WatcherParts): Watcher {
  const { now, wait, pollMs, onProblem } = parts;
  const runTurn = createTurn({ ...parts, onNotice: onProblem });
  const stopping = new AbortController();
  let loop: Promise<void> | undefined;
  let running: Promise<TurnResult> | undefined;
  let resting: { cut: AbortController; wakeable: boolean } | undefined;
  let woken = false;
  let trouble: Trouble["kind"] | undefined;
  let laggingSinceMs: number | undefined;

  function tell(state: Trouble): void {
    if (state.kind === trouble) return;
    trouble = state.kind;
    onProblem(state);
  }

  function tellOutcome({ outcome, reason }: TurnResult): void {
    if (outcome === "lagging") {
      laggingSinceMs ??= now();
      if (now() - laggingSinceMs >= LAG_WORTH_TELLING_MS) tell({ kind: "node_lagging", message: reason ?? "" });
      return;
    }
    laggingSinceMs = undefined;
    if (trouble === undefined || outcome === "stopped") return;
    trouble = undefined;
    onProblem({ kind: "recovered", message: "the events of the network are followed again" });
  }

  async function tryTurn(): Promise<TurnResult> {
    if (stopping.signal.aborted) return { outcome: "stopped", events: 0 };
    try {
      const result = await runTurn(stopping.signal);
      tellOutcome(result);
      return result;
    } catch (cause) {
      if (stopping.signal.aborted) return { outcome: "stopped", events: 0 };
      tell(troubleOf(cause));
      return { outcome: "failed", events: 0 };
    }
  }

  function turn(): Promise<TurnResult> {
    running ??= tryTurn().finally(() => running = undefined);
    return running;
  }

  async function rest(pauseMs: number, wakeable: boolean): Promise<void> {
    if (stopping.signal.aborted || (wakeable && woken)) return;
    resting = { cut: new AbortController(), wakeable };
    await wait(pauseMs, resting.cut.signal);
    resting = undefined;
  }

  async function poll(): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      woken = false;
      const { outcome } = await turn();
      failures = outcome === "failed" ? failures + 1 : 0;
      if (failures > 0) await rest(pauseAfter(failures, pollMs), false);
      else if (outcome !== "behind") await rest(pollMs, true);
    }
  }

  return {
    start() {
      loop ??= poll();
    },
    async stop() {
      stopping.abort();
      resting?.cut.abort();
      await Promise.all([loop, running]);
    },
    wake() {
      woken = true;
      if (resting?.wakeable) resting.cut.abort();
    },
    turn,
  };
}

/** The pause after so many failed turns in a row, in milliseconds: doubled each time, within bounds. */
export function pauseAfter(failures: number, pollMs: number): number {
  return Math.max(pollMs, Math.min(LONGEST_PAUSE_MS, pollMs * 2 ** Math.min(failures - 1, 20)));
}

function troubleOf(cause: unknown): Trouble {
  const message = cause instanceof Error ? cause.message : String(cause);
  const fromNode = cause instanceof RpcError || (cause instanceof GatewayError && cause.code === "upstream_error");
  // What a store says of itself is all there is to know.
  if (cause instanceof StoreError) return { kind: "store_failed", message };
  if (!fromNode) return { kind: "internal", message, cause };
  // Foreseen: the message says what it is, only what lies under it is new.
  return { kind: "node_failed", message, cause: cause.cause };
}
