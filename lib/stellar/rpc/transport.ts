import type { Wait } from "../../clock.ts";
import { unreachableReason } from "./unreachable.ts";

/** One RPC node: where to post, and how to speak of it without giving its credentials away. */
export interface RpcNode {
  url: string;
  /** Scheme and host only: a path, a query or userinfo may carry a token. */
  name: string;
  headers: Record<string, string>;
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface Budget {
  /** For the whole exchange, the body included. */
  timeoutMs: number;
  signal?: AbortSignal;
}

/**
 * Why one attempt at one node failed; never with the runtime's own error, which may hold the whole URL. `worthRetry`: the
 * same node may well answer a moment later.
 */
export class AttemptFailure extends Error {
  constructor(message: string, readonly worthRetry: boolean) {
    super(message);
    this.name = "AttemptFailure";
  }
}

/** Takes a node's URL apart; userinfo becomes an `Authorization` header (fetch refuses URLs that carry it). */
export function parseNode(address: string): RpcNode {
  const url = new URL(address);
  const headers: Record<string, string> = { "content-type": "application/json", "accept": "application/json" };
  if (url.username !== "" || url.password !== "") {
    const userinfo = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    const bytes = new TextEncoder().encode(userinfo);
    headers.authorization = `Basic ${btoa(String.fromCharCode(...bytes))}`;
    url.username = "";
    url.password = "";
  }
  return { url: url.href, name: url.origin, headers };
}

/** The largest answer that is read. A page of events or a transaction's meta stays far below it. */
export const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

const textDecoder = new TextDecoder();

async function readBounded(response: Response): Promise<string> {
  if (response.body === null) return "";
  const reader = response.body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (true) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.byteLength;
    if (length > MAX_ANSWER_BYTES) {
      await reader.cancel();
      throw new AttemptFailure(`answered more than ${MAX_ANSWER_BYTES} bytes`, false);
    }
    chunks.push(value);
  }
  const only = chunks[0];
  if (chunks.length === 1 && only !== undefined) return textDecoder.decode(only);
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return textDecoder.decode(whole);
}

async function exchange(fetch: Fetch, node: RpcNode, body: string, signal: AbortSignal): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(node.url, { method: "POST", headers: node.headers, body, signal, redirect: "manual" });
  } catch (error) {
    const reason = unreachableReason(error);
    throw new AttemptFailure(`could not be reached${reason && `: ${reason}`}`, true);
  }
  if (response.status !== 200) {
    await response.body?.cancel();
    if (response.status === 0 || (response.status >= 300 && response.status < 400)) {
      throw new AttemptFailure("answered with a redirect, which is not followed", false);
    }
    const busy = response.status === 429 || response.status === 502 || response.status === 503 ||
      response.status === 504;
    throw new AttemptFailure(`answered HTTP ${response.status}`, busy);
  }
  let text: string;
  try {
    text = await readBounded(response);
  } catch (error) {
    if (error instanceof AttemptFailure) throw error;
    throw new AttemptFailure("broke off in the middle of its answer", true);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new AttemptFailure("answered something that is not JSON", false);
  }
}

/**
 * Posts one body to one node and answers the parsed JSON. Rejects with an `AttemptFailure` whose message speaks neither
 * of path, query nor userinfo.
 */
export async function post(
  { fetch, wait }: { fetch: Fetch; wait: Wait },
  node: RpcNode,
  body: string,
  { timeoutMs, signal }: Budget,
): Promise<unknown> {
  const exchangeEnds = new AbortController();
  const timerEnds = new AbortController();
  const abandon = () => exchangeEnds.abort();
  signal?.addEventListener("abort", abandon, { once: true });
  const abandoned = new Promise<never>((_, reject) => {
    exchangeEnds.signal.addEventListener("abort", () => reject(new AttemptFailure("was abandoned", false)));
  });
  const timedOut = wait(timeoutMs, timerEnds.signal).then(() => {
    if (timerEnds.signal.aborted) return new Promise<never>(() => {});
    throw new AttemptFailure(`did not answer within ${Math.round(timeoutMs)} ms`, true);
  });
  // Whoever loses the race must not become an unhandled rejection.
  abandoned.catch(() => {});
  timedOut.catch(() => {});
  try {
    if (signal?.aborted) throw new AttemptFailure("was abandoned", false);
    return await Promise.race([exchange(fetch, node, body, exchangeEnds.signal), timedOut, abandoned]);
  } finally {
    signal?.removeEventListener("abort", abandon);
    timerEnds.abort();
    exchangeEnds.abort();
  }
}
