/**
 * Which of several RPC nodes to ask, decided from what they answered: no clock, no network of its own; `nowMs` is monotonic. The first of the
 * list that is well is asked. A failure puts a node in doubt until a probe or a call says otherwise; one that fails more
 * than now and then, or lags, is left, and is well again only after it has been so for a while: longer each time.
 */
export interface NodeHealth {
  /** Every node, by its place in the list, in the order in which a call is to try them. */
  order(): readonly number[];
  /**
   * A node answered. `ledger`, where it said so: the close time of its newest ledger, and that of the newest ledger of any
   * node, Unix seconds.
   */
  answered(node: number, nowMs: number, ledger?: { closeTime: number; newest: number }): void;
  /** A node failed in something that began at `startedAtMs`: what failed together counts once. */
  failed(node: number, startedAtMs: number, nowMs: number, problem: string): void;
  /** Nodes to be probed now. Each counts as being probed until `probed`. */
  takeProbes(nowMs: number): number[];
  /** A probe has ended; call it after `answered` or `failed`. */
  probed(node: number, nowMs: number): void;
  state(node: number): NodeState;
}

/** `doubted`: failed just now. `failing` and `lagging`: left until it has been well for a while. */
export type NodeCondition = "well" | "doubted" | "failing" | "lagging";

export interface NodeState {
  condition: NodeCondition;
  /** Why it is not well. */
  problem: string | undefined;
  /** Close time of the newest ledger it spoke of, Unix seconds; 0: none yet. */
  closeTime: number;
  /** How much older that was than the newest ledger of any node, when it answered. */
  lagSeconds: number;
}

export interface NodeHealthOptions {
  nodes: number;
  nowMs: number;
  /** Told when a node is left and when it is well again; never twice the same. */
  onChange(node: number, state: NodeState): void;
}

export const NODE_HEALTH_LIMITS = {
  /** A node is left at this many strikes: one for each failure … */
  strikes: 3,
  /** … less this much for each answer, so that a node may fail one call in twenty. */
  forgivenPerAnswer: 0.05,
  /** Three ledgers. */
  lagSeconds: 15,
  /** A node is left when it lags for so long. */
  lagMs: 10_000,
  /** A node that was left is well after so long without a failure; doubled each time it is left … */
  returnMs: 30_000,
  longestReturnMs: 600_000,
  /** … until it has been well for so long. */
  forgottenMs: 1_200_000,
  /** How often nodes that are not in use are probed. */
  probeMs: 15_000,
  /** How soon a node that failed is probed; doubled with each failed probe. */
  firstProbeMs: 1_000,
  longestProbeMs: 60_000,
} as const;

const LIMITS = NODE_HEALTH_LIMITS;
const RANKS: Record<NodeCondition, number> = { well: 0, doubted: 1, lagging: 3, failing: 4 };
/** Between those in doubt and those that were left: left, but without a failure since. */
const RECOVERING_RANK = 2;

interface Node extends NodeState {
  strikes: number;
  failedAtMs: number;
  /** Since when every answer was good and recent; undefined after one that was not. */
  goodSinceMs: number | undefined;
  lagSinceMs: number | undefined;
  /** How often it was left lately. */
  left: number;
  returnedAtMs: number;
  probeAtMs: number;
  probePauseMs: number;
  isProbed: boolean;
}

export function createNodeHealth({ nodes: count, nowMs: startMs, onChange }: NodeHealthOptions): NodeHealth {
  const nodes = Array.from({ length: count }, (): Node => ({
    condition: "well",
    problem: undefined,
    closeTime: 0,
    lagSeconds: 0,
    strikes: 0,
    failedAtMs: -Infinity,
    goodSinceMs: undefined,
    lagSinceMs: undefined,
    left: 0,
    returnedAtMs: startMs,
    probeAtMs: startMs + LIMITS.probeMs,
    probePauseMs: LIMITS.firstProbeMs,
    isProbed: false,
  }));
  let order = nodes.map((_, index) => index);

  function rank({ condition, goodSinceMs }: Node): number {
    const isLeft = condition === "failing" || condition === "lagging";
    return isLeft && goodSinceMs !== undefined ? RECOVERING_RANK : RANKS[condition];
  }

  function reorder(): void {
    order = nodes.map((_, index) => index).sort((a, b) => rank(nodes[a]!) - rank(nodes[b]!) || a - b);
  }

  function leave(index: number, condition: "failing" | "lagging", nowMs: number, problem: string): void {
    const node = nodes[index]!;
    if (nowMs - node.returnedAtMs >= LIMITS.forgottenMs) node.left = 0;
    node.left += 1;
    node.condition = condition;
    node.problem = problem;
    node.goodSinceMs = undefined;
    reorder();
    onChange(index, stateOf(node));
  }

  function comeBack(index: number, nowMs: number): void {
    const node = nodes[index]!;
    const wasLeft = node.condition !== "doubted";
    node.condition = "well";
    node.problem = undefined;
    if (!wasLeft) return;
    node.strikes = 0;
    node.returnedAtMs = nowMs;
    reorder();
    onChange(index, stateOf(node));
  }

  /** Whether it lags by what it said just now; leaves it when it has done so for long enough. */
  function lags(index: number, nowMs: number, ledger: { closeTime: number; newest: number } | undefined): boolean {
    const node = nodes[index]!;
    if (ledger === undefined) return node.lagSinceMs !== undefined;
    node.closeTime = ledger.closeTime;
    node.lagSeconds = Math.max(0, ledger.newest - ledger.closeTime);
    if (node.lagSeconds <= LIMITS.lagSeconds) {
      node.lagSinceMs = undefined;
      return false;
    }
    node.lagSinceMs ??= nowMs;
    const isLeft = node.condition === "failing" || node.condition === "lagging";
    if (!isLeft && nowMs - node.lagSinceMs >= LIMITS.lagMs) {
      leave(index, "lagging", nowMs, `its newest ledger is ${node.lagSeconds} s older than that of another node`);
    }
    return true;
  }

  return {
    order: () => order,

    answered(index, nowMs, ledger) {
      const node = nodes[index]!;
      node.strikes = Math.max(0, node.strikes - LIMITS.forgivenPerAnswer);
      if (lags(index, nowMs, ledger)) node.goodSinceMs = undefined;
      else {
        node.goodSinceMs ??= nowMs;
        // With nowhere else to go, caution helps nobody.
        const returnMs = count === 1 ? 0 : Math.min(LIMITS.longestReturnMs, LIMITS.returnMs * 2 ** (node.left - 1));
        const isOver = node.condition === "doubted" || nowMs - node.goodSinceMs >= returnMs;
        if (node.condition !== "well" && isOver) comeBack(index, nowMs);
      }
      reorder();
    },

    failed(index, startedAtMs, nowMs, problem) {
      const node = nodes[index]!;
      if (startedAtMs < node.failedAtMs) return;
      node.failedAtMs = nowMs;
      node.goodSinceMs = undefined;
      if (node.condition === "well" || node.condition === "doubted") {
        if (node.condition === "well") {
          node.probePauseMs = LIMITS.firstProbeMs;
          node.probeAtMs = nowMs + LIMITS.firstProbeMs;
        }
        node.strikes += 1;
        node.condition = "doubted";
        node.problem = problem;
        if (node.strikes >= LIMITS.strikes) leave(index, "failing", nowMs, problem);
      }
      reorder();
    },

    takeProbes(nowMs) {
      if (count === 1) return [];
      const due = order.filter((index, place) => {
        const node = nodes[index]!;
        const isInUse = place === 0 && node.condition === "well";
        return !isInUse && !node.isProbed && nowMs >= node.probeAtMs;
      });
      for (const index of due) nodes[index]!.isProbed = true;
      return due;
    },

    probed(index, nowMs) {
      const node = nodes[index]!;
      node.isProbed = false;
      if (node.goodSinceMs === undefined) {
        node.probeAtMs = nowMs + node.probePauseMs;
        node.probePauseMs = Math.min(LIMITS.longestProbeMs, node.probePauseMs * 2);
      } else {
        node.probePauseMs = LIMITS.firstProbeMs;
        node.probeAtMs = nowMs + LIMITS.probeMs;
      }
    },

    state: (index) => stateOf(nodes[index]!),
  };
}

function stateOf({ condition, problem, closeTime, lagSeconds }: Node): NodeState {
  return { condition, problem, closeTime, lagSeconds };
}
