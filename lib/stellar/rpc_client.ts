import type { z } from "zod";
import { GatewayError } from "../errors.ts";
import { sleep, type Wait } from "./clock.ts";
import { type CallOptions, type RpcClient, RpcError } from "./rpc.ts";
import * as schemas from "./rpc_schemas.ts";
import { AttemptFailure, type Fetch, parseNode, post, type RpcNode } from "./rpc_transport.ts";
import type { LedgerTip } from "./tip.ts";

export interface RpcClientParts {
  /** One or more; a node that fails hands over to the next. */
  urls: string[];
  fetch: Fetch;
  /** Whole time for a call, all attempts included; 10 000 when absent. */
  timeoutMs?: number;
  now: () => number;
  wait?: Wait;
  /** Told of every ledger an answer speaks of. */
  tip?: LedgerTip;
  /** Told of every failed attempt; `node` is scheme and host. */
  onProblem?: (problem: { node: string; method: string; message: string }) => void;
}

const PAUSE_BEFORE_RETRY_MS = 100;

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
 * A client of the Stellar RPC protocol over HTTP. A call is tried at most twice, or once per node where there are more
 * (`sendTransaction` only once), within one time budget; every answer is checked for what the gateway relies on.
 * Messages name a node by scheme and host only.
 */
export function createRpcClient(parts: RpcClientParts): RpcClient {
  const { fetch, tip, now, wait = sleep, timeoutMs = 10_000 } = parts;
  const nodes = parts.urls.map(parseNode);
  if (nodes.length === 0) throw new TypeError("at least one RPC URL is needed");
  let current = 0;
  let lastId = 0;

  async function attempt<S extends z.ZodType>(
    node: RpcNode,
    method: string,
    params: unknown,
    schema: S,
    budget: { timeoutMs: number; signal?: AbortSignal },
  ): Promise<z.output<S>> {
    const id = ++lastId;
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) });
    const raw = await post({ fetch, wait }, node, body, budget);
    const reply = schemas.reply.safeParse(raw);
    if (!reply.success) throw new AttemptFailure("answered JSON that is no JSON-RPC answer", false);
    const { error, result } = reply.data;
    // A node that could not read the request answers with id null.
    if (reply.data.id !== id && error === undefined) throw new AttemptFailure("answered another request's id", false);
    if (error !== undefined) throw new RpcError(method, error.code, clipped(error.message));
    const checked = schema.safeParse(result);
    if (checked.success) return checked.data;
    const where = checked.error.issues[0]?.path.join(".") || "result";
    throw new AttemptFailure(`answered nonsense (${where})`, false);
  }

  async function call<S extends z.ZodType>(
    method: string,
    params: unknown,
    schema: S,
    options: CallOptions = {},
  ): Promise<z.output<S>> {
    const endsAt = now() + (options.timeoutMs ?? timeoutMs);
    const attempts = REPEATABLE.has(method) ? Math.max(2, nodes.length) : 1;
    for (let tried = 1;; tried += 1) {
      const index = current;
      const node = nodes[index]!;
      try {
        const remainingMs = Math.max(1, endsAt - now());
        // With a second node to go to, a silent one does not get the whole time.
        const shareMs = nodes.length > 1 ? remainingMs / (attempts - tried + 1) : remainingMs;
        return await attempt(node, method, params, schema, { timeoutMs: shareMs, signal: options.signal });
      } catch (cause) {
        if (!(cause instanceof AttemptFailure)) throw cause;
        parts.onProblem?.({ node: node.name, method, message: cause.message });
        if (current === index) current = (index + 1) % nodes.length;
        const another = tried < attempts && (nodes.length > 1 || cause.worthRetry) && !options.signal?.aborted;
        if (!another || now() >= endsAt) {
          throw new GatewayError("upstream_error", `the RPC node ${node.name} ${cause.message} (${method})`, { cause });
        }
        if (nodes.length === 1) await wait(Math.min(PAUSE_BEFORE_RETRY_MS, endsAt - now()), options.signal);
      }
    }
  }

  /** Tells the tip which ledger an answer speaks of. */
  function seen<T>(answer: T, sequence: number, closeTime?: number): T {
    tip?.observe(sequence, closeTime);
    return answer;
  }

  return {
    async getHealth(options) {
      const answer = await call("getHealth", undefined, schemas.health, options);
      return seen(answer, answer.latestLedger, answer.latestLedgerCloseTime);
    },
    getNetwork: (options) => call("getNetwork", undefined, schemas.network, options),
    async getLatestLedger(options) {
      const answer = await call("getLatestLedger", undefined, schemas.latestLedger, options);
      return seen(answer, answer.sequence, answer.closeTime);
    },
    getFeeStats: (options) => call("getFeeStats", undefined, schemas.feeStats, options),
    async getLedgerEntries(keys, options) {
      const answer = await call("getLedgerEntries", { keys }, schemas.ledgerEntries, options);
      return seen(answer, answer.latestLedger);
    },
    async simulateTransaction(envelope, options) {
      const answer = await call("simulateTransaction", { transaction: envelope }, schemas.simulation, options);
      return seen(answer, answer.latestLedger);
    },
    async sendTransaction(envelope, options) {
      const answer = await call("sendTransaction", { transaction: envelope }, schemas.sendAnswer, options);
      return seen(answer, answer.latestLedger, answer.latestLedgerCloseTime);
    },
    async getTransaction(hash, options) {
      const answer = await call("getTransaction", { hash }, schemas.transactionAnswer, options);
      return seen(answer, answer.latestLedger, answer.latestLedgerCloseTime);
    },
    async getEvents({ startLedger, cursor, contractIds, limit }, options) {
      const params = {
        ...(cursor === undefined ? { startLedger } : {}),
        filters: [{ type: "contract", contractIds }],
        pagination: cursor === undefined ? { limit } : { cursor, limit },
      };
      const answer = await call("getEvents", params, schemas.eventsAnswer, options);
      return seen(answer, answer.latestLedger, answer.latestLedgerCloseTime);
    },
  };
}

/** A node's own words, cut short and without URLs: a proxy may quote its own address, token and all. */
function clipped(message: string): string {
  return message.replace(/https?:\/\/\S+/gi, "[url]").slice(0, 300);
}
