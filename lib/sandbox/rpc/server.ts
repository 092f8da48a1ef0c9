import { createFriendbot } from "../friendbot.ts";
import type { Network } from "../network_types.ts";
import { MAX_BODY_BYTES, readBody } from "./body.ts";
import { getEvents } from "./events.ts";
import { getFeeStats } from "./fee_stats.ts";
import { readingAhead } from "./fork_methods.ts";
import { answerJsonRpc, INVALID_REQUEST, type Method, type Methods, NotJson } from "./json_rpc.ts";
import { getLedgerEntries } from "./ledger_entries.ts";
import { getLatestLedger, getLedgers } from "./ledgers.ts";
import { getHealth, getNetwork, getVersionInfo } from "./node.ts";
import { isFromOwnMachine } from "./own_machine.ts";
import { sandboxMethods } from "./sandbox_methods.ts";
import { sendTransaction } from "./send_transaction.ts";
import { simulateTransaction } from "./simulate_transaction.ts";
import { getTransaction, getTransactions } from "./transactions.ts";

export interface RpcServerOptions {
  network: Network;
  /** For getNetwork, where clients look for the friendbot. */
  friendbotUrl?: string;
  /** For getVersionInfo. */
  version: string;
  /** Unix ms. */
  now: () => number;
  /** Origins whose pages may call the server. Absent: `["*"]`, as at the real node. */
  corsOrigins?: string[];
}

interface Caller {
  /** The address of the socket. */
  readonly remoteAddress: string;
}

export interface RpcServer {
  /** @param caller absent: a caller on another machine */
  fetch(request: Request, caller?: Caller): Promise<Response>;
}

/**
 * Serves a sandbox network as a Stellar RPC node: JSON-RPC 2.0 by POST to any path, `/friendbot`, and CORS. Shapes, limits
 * and error codes are those of stellar-rpc 23 and later. The sandbox's own methods are for programs on this machine.
 */
export function createRpcServer(options: RpcServerOptions): RpcServer {
  const standard = readingAhead(rpcMethods(options), options.network.fork);
  const methodsFor = (isOwn: boolean): Methods => new Map([...standard, ...sandboxMethods(options.network, isOwn)]);
  const [methodsHere, methodsElsewhere] = [methodsFor(true), methodsFor(false)];
  const friendbot = createFriendbot({ network: options.network });
  const { corsOrigins = ["*"] } = options;
  async function answer(request: Request, { remoteAddress }: Caller): Promise<Response> {
    if (request.method === "OPTIONS") return preflight(request);
    // Without a Host header (HTTP/1.0) the URL is only a path. A malformed Host makes it invalid.
    const url = URL.parse(request.url, "http://localhost");
    if (url === null) return new Response("400 Bad Request: malformed Host header", { status: 400 });
    const isFriendbot = url.pathname === "/friendbot" && ["GET", "POST"].includes(request.method);
    if (isFriendbot) return await friendbot.fetch(request, url.searchParams);
    return await serveJsonRpc(request, isFromOwnMachine(request, remoteAddress) ? methodsHere : methodsElsewhere);
  }
  return {
    async fetch(request, caller = { remoteAddress: "" }) {
      const response = await answer(request, caller);
      allowOrigin(response.headers, request.headers.get("Origin"), corsOrigins);
      return response;
    },
  };
}

/** Lets a page read the answer if its origin is one of `allowed`. */
function allowOrigin(headers: Headers, origin: string | null, allowed: string[]): void {
  if (allowed.includes("*")) return headers.set("Access-Control-Allow-Origin", "*");
  headers.append("Vary", "Origin");
  if (origin !== null && allowed.includes(origin)) headers.set("Access-Control-Allow-Origin", origin);
}

function rpcMethods({ network, friendbotUrl, version, now }: RpcServerOptions): Methods {
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

async function serveJsonRpc(request: Request, methods: Methods): Promise<Response> {
  if (request.method !== "POST") {
    return new Response("use POST for JSON-RPC 2.0: this is a Stellar RPC node, not Horizon\n", {
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
      "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
      "Access-Control-Allow-Headers": request.headers.get("Access-Control-Request-Headers") ?? "*",
      "Access-Control-Max-Age": "600",
    },
  });
}
