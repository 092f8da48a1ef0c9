import type { z } from "zod";
import { GatewayError } from "../../errors.ts";
import type { Clock } from "../../clock.ts";
import type { Head } from "../head.ts";
import type { Verdict } from "../observe.ts";
import { askNode, type Question, RpcError } from "./json_rpc.ts";
import { createNodeHealth, type NodeState } from "./node_health.ts";
import * as schemas from "./schemas.ts";
import { AttemptFailure, type Budget, type Fetch, parseNode, type RpcNode } from "./transport.ts";

export interface RpcNodesParts {
  /** One or more. The first well node gets a call, the others when it fails (`node_health.ts`). */
  urls: string[];
  fetch: Fetch;
  /** Time for a whole call, all attempts included; 10 000 when absent. */
  timeoutMs?: number;
  clock: Clock;
  /** Observes the newest ledger of every answer. */
  head?: Pick<Head, "observe" | "closeTime">;
  /** If given, each node has to report this network before its first call. */
  networkPassphrase?: string;
  /** Called with every failed attempt; `node` is scheme and host. */
  onProblem?: (problem: { node: string; method: string; message: string }) => void;
  /** Called once when the gateway leaves a node for another, and once when the node is well again. */
  onNodeChange?: (change: NodeReport) => void;
  /** Called with every attempt. `error`: the node answered a JSON-RPC error. */
  onAttempt?: (attempt: { node: string; method: string; outcome: AttemptOutcome; durationMs: number }) => void;
  /** Ends the probes under way. */
  stopping?: AbortSignal;
}

export interface CallOptions {
  /** Time for the whole call; the client's own time-out when absent. */
  timeoutMs?: number;
  signal?: AbortSignal;
  /** Asks the node of this index once, well or not. Absent: the call chooses. */
  node?: number;
  /** Called before the call resolves, with the node that answered and the verdict on its ledger. */
  answered?: (node: number, verdict: Verdict | undefined) => void;
}

export type AttemptOutcome = "ok" | "error" | "failed";

/** The state of one node. */
export interface NodeReport extends NodeState {
  /** Scheme and host, with a number where several URLs share them. */
  name: string;
  /** Whether calls go to it now. */
  inUse: boolean;
}

/** The nodes of one network behind one call. */
export interface RpcNodes {
  /**
   * Asks the first well node, and others when it fails, within one time budget. Returns the result as `schema` parses
   * it. Rejects like `RpcClient`.
   */
  call<S extends z.ZodType>(
    method: string,
    params: unknown,
    schema: S,
    options?: CallOptions,
  ): Promise<z.output<S>>;
  /** The state of the nodes, in the order of the URLs. */
  reports(): NodeReport[];
  /** Asks every node for its network. `passphrase` is undefined for a node that does not answer. */
  networks(options?: CallOptions): Promise<{ node: string; passphrase: string | undefined; problem?: string }[]>;
}

const PAUSE_BEFORE_RETRY_MS = 100;

const PROBE_TIMEOUT_MS = 5_000;

const GET_NETWORK = { method: "getNetwork", params: undefined, schema: schemas.network };
const GET_HEALTH = { method: "getHealth", params: undefined, schema: schemas.health };

/** Methods without effects: a retry changes nothing. */
const REPEATABLE = new Set([
  "getHealth",
  "getNetwork",
  "getLatestLedger",
  "getFeeStats",
  "getLedgerEntries",
  "simulateTransaction",
  "getTransaction",
  "getTransactions",
  "getEvents",
  "getLedgers",
]);

/**
 * Speaks JSON-RPC 2.0 with several nodes as if they were one. A call makes at most two attempts, or one per node if
 * there are more. `sendTransaction` makes one: before a resend, `submit.ts` asks for the outcome. By then the failed
 * node is in doubt and another one answers.
 */
export function createRpcNodes(parts: RpcNodesParts): RpcNodes {
  const { fetch, clock, timeoutMs = 10_000, networkPassphrase } = parts;
  const { monotonicMs } = clock;
  const nodes = named(parts.urls.map(parseNode));
  if (nodes.length === 0) throw new TypeError("at least one RPC URL is needed");
  const health = createNodeHealth({
    nodes: nodes.length,
    nowMs: monotonicMs(),
    onChange: (index) => nodes.length > 1 && parts.onNodeChange?.(report(index)),
  });
  /** Nodes that have reported the right network. */
  const verified = new Set<number>();
  let lastId = 0;

  const exchange = <S extends z.ZodType>(node: RpcNode, question: Question<S>, budget: Budget) =>
    askNode({ fetch, clock }, node, ++lastId, question, budget);

  /** Makes one attempt at one node, and reports it to `health` and `onAttempt`. */
  async function attempt<S extends z.ZodType>(
    index: number,
    question: Question<S>,
    budget: Budget,
    answered?: CallOptions["answered"],
  ): Promise<z.output<S>> {
    const node = nodes[index]!;
    const { method } = question;
    const startedAtMs = monotonicMs();
    const done = (outcome: AttemptOutcome) =>
      parts.onAttempt?.({ node: node.name, method, outcome, durationMs: monotonicMs() - startedAtMs });
    try {
      if (networkPassphrase !== undefined && !verified.has(index) && method !== "getNetwork") {
        await verify(index, budget);
      }
      const answer = await exchange(node, question, {
        ...budget,
        timeoutMs: Math.max(1, budget.timeoutMs - (monotonicMs() - startedAtMs)),
      });
      const verdict = observe(index, answer);
      answered?.(index, verdict);
      done("ok");
      return answer;
    } catch (cause) {
      const isRefusal = cause instanceof RpcError;
      // An aborted call tells nothing about the node.
      if (budget.signal?.aborted) throw cause;
      if (isRefusal && cause.kind !== "trouble") health.answered(index, monotonicMs());
      else {health.failed(
          index,
          startedAtMs,
          monotonicMs(),
          isRefusal ? `answered error ${cause.code}` : problemOf(cause),
        );}
      done(isRefusal ? "error" : "failed");
      throw cause;
    }
  }

  /** Passes the newest ledger of an answer to the head and to the node's health. */
  function observe(index: number, answer: unknown): Verdict | undefined {
    const { sequence, closeTime } = newestLedgerIn(answer);
    const verdict = sequence === undefined ? undefined : parts.head?.observe({ node: index, sequence, closeTime });
    const ledger = closeTime === undefined ? undefined : { closeTime, newest: parts.head?.closeTime ?? closeTime };
    health.answered(index, monotonicMs(), ledger);
    return verdict;
  }

  async function verify(index: number, budget: Budget): Promise<void> {
    const { passphrase } = await exchange(nodes[index]!, GET_NETWORK, budget);
    if (passphrase !== networkPassphrase) {
      throw new AttemptFailure(`is of another network (${JSON.stringify(passphrase)})`, false);
    }
    verified.add(index);
  }

  /** Probes the nodes that are not in use when a call comes. So there is no timer to stop. */
  function probeOthers(): void {
    for (const index of health.takeProbes(monotonicMs())) {
      attempt(index, GET_HEALTH, { timeoutMs: PROBE_TIMEOUT_MS, signal: parts.stopping })
        .catch((cause) => reportProblem(index, "getHealth", cause))
        .finally(() => health.probed(index, monotonicMs()));
    }
  }

  function reportProblem(index: number, method: string, cause: unknown): void {
    parts.onProblem?.({ node: nodes[index]!.name, method, message: problemOf(cause) });
  }

  async function call<S extends z.ZodType>(
    method: string,
    params: unknown,
    schema: S,
    options: CallOptions = {},
  ): Promise<z.output<S>> {
    const endsAtMs = monotonicMs() + (options.timeoutMs ?? timeoutMs);
    const order = options.node === undefined ? health.order() : [options.node];
    const isOnce = options.node !== undefined || !REPEATABLE.has(method);
    const attempts = isOnce ? 1 : Math.max(2, nodes.length);
    probeOthers();
    for (let tried = 1;; tried += 1) {
      const index = order[(tried - 1) % order.length]!;
      try {
        const remainingMs = Math.max(1, endsAtMs - monotonicMs());
        // A silent node does not get the whole time when there is another.
        const shareMs = order.length > 1 ? remainingMs / (attempts - tried + 1) : remainingMs;
        const budget = { timeoutMs: shareMs, signal: options.signal };
        return await attempt(index, { method, params, schema }, budget, options.answered);
      } catch (cause) {
        const isTrouble = cause instanceof RpcError && cause.kind === "trouble";
        if (!(cause instanceof AttemptFailure) && !isTrouble) throw cause;
        reportProblem(index, method, cause);
        const worthRetry = order.length > 1 || (cause instanceof AttemptFailure && cause.worthRetry);
        if (tried >= attempts || !worthRetry || options.signal?.aborted || monotonicMs() >= endsAtMs) {
          if (cause instanceof RpcError) throw cause;
          const { name } = nodes[index]!;
          throw new GatewayError("upstream_error", `the RPC node ${name} ${cause.message} (${method})`, { cause });
        }
        const pauseMs = Math.min(PAUSE_BEFORE_RETRY_MS, endsAtMs - monotonicMs());
        if (order.length === 1) await clock.wait(pauseMs, options.signal);
      }
    }
  }

  function report(index: number): NodeReport {
    return { name: nodes[index]!.name, inUse: health.order()[0] === index, ...health.state(index) };
  }

  return {
    call,
    reports: () => nodes.map((_, index) => report(index)),
    networks: (options = {}) =>
      Promise.all(nodes.map(async ({ name }, index) => {
        const budget = { timeoutMs: options.timeoutMs ?? timeoutMs, signal: options.signal };
        try {
          const { passphrase } = await attempt(index, GET_NETWORK, budget);
          if (passphrase === networkPassphrase) verified.add(index);
          return { node: name, passphrase };
        } catch (cause) {
          return { node: name, passphrase: undefined, problem: problemOf(cause) };
        }
      })),
  };
}

/** Two URLs of one host with different tokens are two nodes. */
function named(nodes: RpcNode[]): RpcNode[] {
  return nodes.map((node, index) => {
    const before = nodes.slice(0, index).filter(({ name }) => name === node.name).length;
    return before === 0 ? node : { ...node, name: `${node.name} (${before + 1})` };
  });
}

/** The newest ledger in an answer, and its close time if reported. */
function newestLedgerIn(answer: unknown): { sequence?: number; closeTime?: number } {
  const { latestLedger, sequence, latestLedgerCloseTime, closeTime } = answer as Record<string, number | undefined>;
  return { sequence: latestLedger ?? sequence, closeTime: latestLedgerCloseTime ?? closeTime };
}

function problemOf(cause: unknown): string {
  if (cause instanceof RpcError) return `answered error ${cause.code}: ${cause.message}`;
  return cause instanceof Error ? cause.message : String(cause);
}
