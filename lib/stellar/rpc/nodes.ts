import type { z } from "zod";
import { GatewayError } from "../../errors.ts";
import { sleep, type Wait } from "../../clock.ts";
import { createNodeHealth, type NodeState } from "./node_health.ts";
import { type CallOptions, RpcError } from "./rpc.ts";
import * as schemas from "./schemas.ts";
import { askNode, type Question } from "./question.ts";
import { AttemptFailure, type Budget, type Fetch, parseNode, type RpcNode } from "./transport.ts";

export interface RpcNodesParts {
  /** One or more: the first that is well is asked, the others when it fails (`node_health.ts`). */
  urls: string[];
  fetch: Fetch;
  /** Whole time for a call, all attempts included; 10 000 when absent. */
  timeoutMs?: number;
  now: () => number;
  wait?: Wait;
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
  call<S extends z.ZodType>(method: string, params: unknown, schema: S, options?: CallOptions): Promise<z.output<S>>;
  /** How the nodes stand, in the order of the URLs. */
  reports(): NodeReport[];
  /** Asks every node which network it is of; `passphrase` is undefined for a node that does not answer. */
  networks(options?: CallOptions): Promise<{ node: string; passphrase: string | undefined; problem?: string }[]>;
}

const PAUSE_BEFORE_RETRY_MS = 100;

const PROBE_TIMEOUT_MS = 5_000;

const GET_NETWORK = { method: "getNetwork", params: undefined, schema: schemas.network };
const GET_HEALTH = { method: "getHealth", params: undefined, schema: schemas.health };

/** The node's own trouble: internal error or unhealthy, method time-out, could not process. Another node may do better. */
const NODE_TROUBLE = new Set([-32603, -32001, -32003]);

/** Answers whose loss is no question: asking again changes nothing. */
const REPEATABLE = new Set([
  "getHealth",
  "getNetwork",
  "getLatestLedger",
  "getFeeStats",
  "getLedgerEntries",
  "simulateTransaction",
  "getTransaction",
  "getEvents",
]);

/**
 * Speaks JSON-RPC 2.0 with several nodes as if they were one. A call is tried at most twice, or once per node where there
 * are more. `sendTransaction` goes to one node, once: whoever sends again asks first what became of the envelope
 * (`submit.ts`), and by then the node that failed is in doubt and another one is asked.
 */
export function createRpcNodes(parts: RpcNodesParts): RpcNodes {
  const { fetch, now, wait = sleep, timeoutMs = 10_000, networkPassphrase } = parts;
  const nodes = named(parts.urls.map(parseNode));
  if (nodes.length === 0) throw new TypeError("at least one RPC URL is needed");
  const health = createNodeHealth({
    nodes: nodes.length,
    nowMs: now(),
    onChange: (index) => nodes.length > 1 && parts.onNodeChange?.(report(index)),
  });
  /** Nodes that have said that they are of the right network. */
  const verified = new Set<number>();
  let lastId = 0;

  const exchange = <S extends z.ZodType>(node: RpcNode, question: Question<S>, budget: Budget) =>
    askNode({ fetch, wait }, node, ++lastId, question, budget);

  /** One attempt at one node; what came of it is told to `health` and to whoever counts. */
  async function attempt<S extends z.ZodType>(
    index: number,
    question: Question<S>,
    budget: Budget,
  ): Promise<z.output<S>> {
    const node = nodes[index]!;
    const { method } = question;
    const startedAtMs = now();
    const done = (outcome: AttemptOutcome) =>
      parts.onAttempt?.({ node: node.name, method, outcome, durationMs: now() - startedAtMs });
    try {
      if (networkPassphrase !== undefined && !verified.has(index) && method !== "getNetwork") {
        await verify(index, budget);
      }
      const answer = await exchange(node, question, {
        ...budget,
        timeoutMs: Math.max(1, budget.timeoutMs - (now() - startedAtMs)),
      });
      health.answered(index, now(), closeTimeIn(answer));
      done("ok");
      return answer;
    } catch (cause) {
      const isRefusal = cause instanceof RpcError;
      // What the caller broke off says nothing of the node.
      if (budget.signal?.aborted) throw cause;
      if (isRefusal && !NODE_TROUBLE.has(cause.code)) health.answered(index, now());
      else health.failed(index, startedAtMs, now(), isRefusal ? `answered error ${cause.code}` : problemOf(cause));
      done(isRefusal ? "error" : "failed");
      throw cause;
    }
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
    for (const index of health.takeProbes(now())) {
      attempt(index, GET_HEALTH, { timeoutMs: PROBE_TIMEOUT_MS, signal: parts.stopping })
        .catch((cause) => told(index, "getHealth", cause))
        .finally(() => health.probed(index, now()));
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
    const endsAt = now() + (options.timeoutMs ?? timeoutMs);
    const order = health.order();
    const attempts = REPEATABLE.has(method) ? Math.max(2, nodes.length) : 1;
    probeOthers();
    for (let tried = 1;; tried += 1) {
      const index = order[(tried - 1) % order.length]!;
      try {
        const remainingMs = Math.max(1, endsAt - now());
        // With a second node to go to, a silent one does not get the whole time.
        const shareMs = nodes.length > 1 ? remainingMs / (attempts - tried + 1) : remainingMs;
        return await attempt(index, { method, params, schema }, { timeoutMs: shareMs, signal: options.signal });
      } catch (cause) {
        const isTrouble = cause instanceof RpcError && NODE_TROUBLE.has(cause.code);
        if (!(cause instanceof AttemptFailure) && !isTrouble) throw cause;
        told(index, method, cause);
        const worthRetry = nodes.length > 1 || (cause instanceof AttemptFailure && cause.worthRetry);
        if (tried >= attempts || !worthRetry || options.signal?.aborted || now() >= endsAt) {
          if (cause instanceof RpcError) throw cause;
          const { name } = nodes[index]!;
          throw new GatewayError("upstream_error", `the RPC node ${name} ${cause.message} (${method})`, { cause });
        }
        if (nodes.length === 1) await wait(Math.min(PAUSE_BEFORE_RETRY_MS, endsAt - now()), options.signal);
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

/** The close time of the newest ledger that an answer speaks of, where it says so. */
function closeTimeIn(answer: unknown): number | undefined {
  const { latestLedgerCloseTime, closeTime } = answer as { latestLedgerCloseTime?: number; closeTime?: number };
  return latestLedgerCloseTime ?? closeTime;
}

function problemOf(cause: unknown): string {
  if (cause instanceof RpcError) return `answered error ${cause.code}: ${cause.message}`;
  return cause instanceof Error ? cause.message : String(cause);
}
