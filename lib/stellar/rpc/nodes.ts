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
  /** One or more: the first that is well is asked, the others when it fails (`node_health.ts`). */
  urls: string[];
  fetch: Fetch;
  /** Whole time for a call, all attempts included; 10 000 when absent. */
  timeoutMs?: number;
  clock: Clock;
  /** Told of the newest ledger of every answer. */
  head?: Pick<Head, "observe" | "closeTime">;
  /** Where it is given, a node has to say that it is of this network before it is asked for anything else. */
  networkPassphrase?: string;
  /** Told of every failed attempt; `node` is scheme and host. */
  onProblem?: (problem: { node: string; method: string; message: string }) => void;
  /** Told when a node is left for another one, and when it is well again: once each. */
  onNodeChange?: (change: NodeReport) => void;
  /** Told of every attempt. `error`: the node answered with a JSON-RPC error. */
  onAttempt?: (attempt: { node: string; method: string; outcome: AttemptOutcome; durationMs: number }) => void;
  /** Ends the probes under way. */
  stopping?: AbortSignal;
}

export interface CallOptions {
  /** Whole time for the call; the client's own time-out when absent. */
  timeoutMs?: number;
  signal?: AbortSignal;
  /** Asks this node, by its place in the list, once, however it stands; otherwise whichever is well. */
  node?: number;
  /** Told which node answered, before the call resolves, and what its answer means for the head. */
  answered?: (node: number, verdict: Verdict | undefined) => void;
}

export type AttemptOutcome = "ok" | "error" | "failed";

/** How one node stands. */
export interface NodeReport extends NodeState {
  /** Scheme and host; a number behind it where several URLs share them. */
  name: string;
  /** Whether it is the one that is asked now. */
  inUse: boolean;
}

/** The nodes of one network behind one question. */
export interface RpcNodes {
  /**
   * Asks the first node that is well, and others when it fails, within one time budget; answers what `schema` makes of
   * the result. Rejects as `RpcClient` says.
   */
  call<S extends z.ZodType>(
    method: string,
    params: unknown,
    schema: S,
    options?: CallOptions,
  ): Promise<z.output<S>>;
  /** How the nodes stand, in the order of the URLs. */
  reports(): NodeReport[];
  /** Asks every node which network it is of; `passphrase` is undefined for a node that does not answer. */
  networks(options?: CallOptions): Promise<{ node: string; passphrase: string | undefined; problem?: string }[]>;
}

const PAUSE_BEFORE_RETRY_MS = 100;

const PROBE_TIMEOUT_MS = 5_000;

const GET_NETWORK = { method: "getNetwork", params: undefined, schema: schemas.network };
const GET_HEALTH = { method: "getHealth", params: undefined, schema: schemas.health };

/** Answers whose loss is no question: asking again changes nothing. */
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
 * Speaks JSON-RPC 2.0 with several nodes as if they were one. A call is tried at most twice, or once per node where there
 * are more. `sendTransaction` goes to one node, once: whoever sends again asks first what became of the envelope
 * (`submit.ts`), and by then the node that failed is in doubt and another one is asked.
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
  /** Nodes that have said that they are of the right network. */
  const verified = new Set<number>();
  let lastId = 0;

  const exchange = <S extends z.ZodType>(node: RpcNode, question: Question<S>, budget: Budget) =>
    askNode({ fetch, clock }, node, ++lastId, question, budget);

  /** One attempt at one node; what came of it is told to `health` and to whoever counts. */
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
      const verdict = hear(index, answer);
      answered?.(index, verdict);
      done("ok");
      return answer;
    } catch (cause) {
      const isRefusal = cause instanceof RpcError;
      // What the caller broke off says nothing of the node.
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

  /** Tells the head, and the node's health, of the newest ledger that an answer speaks of. */
  function hear(index: number, answer: unknown): Verdict | undefined {
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

  /** Looks after the nodes that are not in use, on the occasion of a call: no timer of its own, nothing to stop. */
  function probeOthers(): void {
    for (const index of health.takeProbes(monotonicMs())) {
      attempt(index, GET_HEALTH, { timeoutMs: PROBE_TIMEOUT_MS, signal: parts.stopping })
        .catch((cause) => told(index, "getHealth", cause))
        .finally(() => health.probed(index, monotonicMs()));
    }
  }

  function told(index: number, method: string, cause: unknown): void {
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
        // With a second node to go to, a silent one does not get the whole time.
        const shareMs = order.length > 1 ? remainingMs / (attempts - tried + 1) : remainingMs;
        const budget = { timeoutMs: shareMs, signal: options.signal };
        return await attempt(index, { method, params, schema }, budget, options.answered);
      } catch (cause) {
        const isTrouble = cause instanceof RpcError && cause.kind === "trouble";
        if (!(cause instanceof AttemptFailure) && !isTrouble) throw cause;
        told(index, method, cause);
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

/** Two URLs of one host, with different tokens, are two nodes. */
function named(nodes: RpcNode[]): RpcNode[] {
  return nodes.map((node, index) => {
    const before = nodes.slice(0, index).filter(({ name }) => name === node.name).length;
    return before === 0 ? node : { ...node, name: `${node.name} (${before + 1})` };
  });
}

/** The newest ledger that an answer speaks of, and its close time where it says so. */
function newestLedgerIn(answer: unknown): { sequence?: number; closeTime?: number } {
  const { latestLedger, sequence, latestLedgerCloseTime, closeTime } = answer as Record<string, number | undefined>;
  return { sequence: latestLedger ?? sequence, closeTime: latestLedgerCloseTime ?? closeTime };
}

function problemOf(cause: unknown): string {
  if (cause instanceof RpcError) return `answered error ${cause.code}: ${cause.message}`;
  return cause instanceof Error ? cause.message : String(cause);
}
