import { createFriendbot } from "../friendbot.ts";
import type { Network } from "../network_types.ts";
import { MAX_BODY_BYTES, readBody } from "./body.ts";
import { getEvents } from "./events.ts";
import { getFeeStats } from "./fee_stats.ts";
import { answerJsonRpc, INVALID_REQUEST, type Method, NotJson } from "./json_rpc.ts";
import { getLedgerEntries } from "./ledger_entries.ts";
import { getLatestLedger, getLedgers } from "./ledgers.ts";
import { getHealth, getNetwork, getVersionInfo } from "./node.ts";
import { sendTransaction } from "./send_transaction.ts";
import { simulateTransaction } from "./simulate_transaction.ts";
import { getTransaction, getTransactions } from "./transactions.ts";

export interface RpcServerOptions {
  network: Network;
  /** What getNetwork answers; clients ask it for an account. */
  friendbotUrl?: string;
  /** What getVersionInfo answers. */
  version: string;
  /** Unix ms. */
  now: () => number;
}

/**
 * A Stellar RPC node's HTTP side on a sandbox network: JSON-RPC 2.0 by POST to any path, `/friendbot`, and CORS for
 * everyone. Shapes, limits and error codes are those of stellar-rpc 23 and later.
 */
export function createRpcServer(options: RpcServerOptions): { fetch(request: Request): Promise<Response> } {
  const methods = rpcMethods(options);
  const friendbot = createFriendbot({ network: options.network });
  return {
    async fetch(request) {
      if (request.method === "OPTIONS") return preflight(request);
      const isFriendbot = new URL(request.url).pathname === "/friendbot" && ["GET", "POST"].includes(request.method);
      const response = isFriendbot ? await friendbot.fetch(request) : await serveJsonRpc(request, methods);
      response.headers.set("Access-Control-Allow-Origin", "*");
      return response;
    },
  };
}

function rpcMethods({ network, friendbotUrl, version, now }: RpcServerOptions) {
  return new Map<string, Method>([
    ["getHealth", () => getHealth(network, now())],
    ["getNetwork", () => getNetwork(network, friendbotUrl)],
    ["getVersionInfo", () => getVersionInfo(network, version)],
    ["getLatestLedger", (params) => getLatestLedger(network, params)],
    ["getLedgers", (params) => getLedgers(network, params)],
    ["getFeeStats", () => getFeeStats(network)],
    ["getLedgerEntries", (params) => getLedgerEntries(network, params)],
    ["simulateTransaction", (params) => simulateTransaction(network, params)],
    ["sendTransaction", (params) => sendTransaction(network, params)],
    ["getTransaction", (params) => getTransaction(network, params)],
    ["getTransactions", (params) => getTransactions(network, params)],
    ["getEvents", (params) => getEvents(network, params)],
  ]);
}

async function serveJsonRpc(request: Request, methods: ReadonlyMap<string, Method>): Promise<Response> {
  if (request.method !== "POST") {
    return new Response("JSON-RPC 2.0 is served by POST\n", {
      status: 405,
      headers: { Allow: "POST, OPTIONS", "Accept-Post": "application/json" },
    });
  }
  const wrongType = contentTypeProblem(request.headers.get("Content-Type") ?? "");
  if (wrongType) return new Response(`${wrongType}\n`, { status: 415, headers: { "Accept-Post": "application/json" } });
  const body = await readBody(request);
  if (body === undefined) {
    const error = { code: INVALID_REQUEST, message: `http: request body too large, at most ${MAX_BODY_BYTES} bytes` };
    return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 413 });
  }
  const answer = await answerJsonRpc(body, methods).catch((error) => {
    if (error instanceof NotJson) return error;
    throw error;
  });
  if (answer instanceof NotJson) return new Response(`${answer.message}\n`, { status: 500 });
  if (answer === undefined) return new Response(null, { status: 204 });
  return new Response(answer, { headers: { "Content-Type": "application/json" } });
}

function contentTypeProblem(contentType: string): string | undefined {
  const [mediaType = "", ...parameters] = contentType.toLowerCase().split(";").map((part) => part.trim());
  if (mediaType !== "application/json") return "content-type must be application/json";
  const charset = parameters.find((parameter) => parameter.startsWith("charset="))?.slice(8).replaceAll('"', "");
  return charset === undefined || charset === "utf-8" || charset === "utf8"
    ? undefined
    : "invalid content-type charset";
}

function preflight(request: Request): Response {
  return new Response(null, {
    status: 204,
    headers: {
      "Access-Control-Allow-Origin": "*",
      "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
      "Access-Control-Allow-Headers": request.headers.get("Access-Control-Request-Headers") ?? "*",
      "Access-Control-Max-Age": "600",
    },
  });
}
