/**
 * Decides which of several RPC nodes gets a call, from their answers. Pure, without clock and network; `nowMs` is
 * monotonic. The first well node of the list gets it. After a failure a node is in doubt until a probe or a call
 * succeeds. The gateway leaves a node that fails more often, or lags. Such a node has to stay well for a while before
 * it is back, longer each time.
 */
export interface NodeHealth {
  /** Every node, by its index, in the order in which a call tries them. */
  order(): readonly number[];
  /**
   * Records an answer. `ledger`, if reported: the close times of the node's newest ledger and of the newest of any
   * node, Unix seconds.
   */
  answered(node: number, nowMs: number, ledger?: { closeTime: number; newest: number }): void;
  /** Records a failure of a call that began at `startedAtMs`. Calls that fail together count once. */
  failed(node: number, startedAtMs: number, nowMs: number, problem: string): void;
  /** Returns the nodes to probe now. Each counts as under probe until `probed`. */
  takeProbes(nowMs: number): number[];
  /** Records the end of a probe. Call it after `answered` or `failed`. */
  probed(node: number, nowMs: number): void;
  state(node: number): NodeState;
}

/** `doubted`: has just failed. `failing` and `lagging`: left until it has been well for a while. */
export type NodeCondition = "well" | "doubted" | "failing" | "lagging";

export interface NodeState {
  condition: NodeCondition;
  /** Why it is not well. */
  problem: string | undefined;
  /** Close time of the newest ledger that it reported, Unix seconds (0 for none). */
  closeTime: number;
  /** How much older that was than the newest ledger of any node, at that time. */
  lagSeconds: number;
}

export interface NodeHealthOptions {
  nodes: number;
  nowMs: number;
  /** Called when the gateway leaves a node, and when the node is well again. Never twice for one change. */
  onChange(node: number, state: NodeState): void;
}

export const NODE_HEALTH_LIMITS = {
  /** The gateway leaves a node at this many strikes. A failure is one strike … */
  strikes: 3,
  /** … and each answer takes this much off, so that a node may fail one call in twenty. */
  forgivenPerAnswer: 0.05,
  /** Three ledgers. */
  lagSeconds: 15,
  /** The gateway leaves a node that lags for this long. */
  lagMs: 10_000,
  /** A left node is well after this long without a failure. The time doubles each time … */
  returnMs: 30_000,
  longestReturnMs: 600_000,
  /** … until it has been well for this long. */
  forgottenMs: 1_200_000,
  /** How often the gateway probes nodes that are not in use. */
  probeMs: 15_000,
  /** How soon it probes a node that failed. The pause doubles with each failed probe. */
  firstProbeMs: 1_000,
  longestProbeMs: 60_000,
} as const;

const LIMITS = NODE_HEALTH_LIMITS;
const RANKS: Record<NodeCondition, number> = { well: 0, doubted: 1, lagging: 3, failing: 4 };
/** Left, but without a failure since: after the nodes in doubt, before the other left ones. */
const RECOVERING_RANK = 2;

interface Node extends NodeState {
  strikes: number;
  failedAtMs: number;
  /** Since when every answer was good and recent; undefined after a bad one. */
  goodSinceMs: number | undefined;
  lagSinceMs: number | undefined;
  /** How often the gateway left it recently. */
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

  /** Whether it lags by its last report. Leaves a node that has lagged for long enough. */
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
        // A single node is back at once: there is no other to ask.
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
