import type { Clock } from "../../clock.ts";
import { proxyVariableFor } from "../../runtime/proxy.ts";

/** One RPC node: its address, and a name without its credentials. */
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
 * Why one attempt at one node failed. Never holds the runtime's own error, which may quote the whole URL. `worthRetry`:
 * the same node may succeed a moment later.
 */
export class AttemptFailure extends Error {
  constructor(message: string, readonly worthRetry: boolean) {
    super(message);
    this.name = "AttemptFailure";
  }
}

/** The answer is larger than the gateway reads. */
export class AnswerTooLarge extends Error {}

/** The largest answer that the gateway reads. */
export const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** Parses a node's URL. Userinfo becomes an `Authorization` header, because fetch refuses URLs with userinfo. */
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

/**
 * Posts one body to one node and returns the parsed JSON. Rejects with `AnswerTooLarge`, or with an `AttemptFailure`
 * whose message holds no path, query or userinfo.
 */
export async function post(
  { fetch, clock }: { fetch: Fetch; clock: Clock },
  node: RpcNode,
  body: string,
  { timeoutMs, signal }: Budget,
): Promise<unknown> {
  if (signal?.aborted) throw new AttemptFailure("was abandoned", false);
  const endsAtMs = clock.monotonicMs() + timeoutMs;
  const ends = new AbortController();
  const cut = signal === undefined ? ends.signal : AbortSignal.any([ends.signal, signal]);
  const late = () => new AttemptFailure(`did not answer within ${Math.round(timeoutMs)} ms`, true);
  const over = new Promise<never>((_, reject) => {
    cut.addEventListener("abort", () => reject(signal?.aborted ? new AttemptFailure("was abandoned", false) : late()));
  });
  void clock.wait(timeoutMs, cut).then(() => ends.abort());
  try {
    const answer = await Promise.race([exchange(fetch, node, body, cut), over]);
    // After a suspension of this process timers are late, and the answer is old.
    if (clock.monotonicMs() > endsAtMs) throw late();
    return answer;
  } finally {
    ends.abort();
  }
}

async function exchange(fetch: Fetch, node: RpcNode, body: string, signal: AbortSignal): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(node.url, { method: "POST", headers: node.headers, body, signal, redirect: "manual" });
  } catch (error) {
    const reason = unreachableReason(error);
    throw new AttemptFailure(`could not be reached${throughProxy(node)}${reason && `: ${reason}`}`, true);
  }
  if (response.status !== 200) {
    await response.body?.cancel().catch(() => {});
    if (response.status === 0 || (response.status >= 300 && response.status < 400)) {
      throw new AttemptFailure("answered with a redirect, which is not followed", false);
    }
    const worthRetry = [429, 502, 503, 504].includes(response.status);
    throw new AttemptFailure(`answered HTTP ${response.status}${throughProxy(node)}`, worthRetry);
  }
  let text: string;
  try {
    text = await readBounded(response);
  } catch (error) {
    if (error instanceof AnswerTooLarge) throw error;
    throw new AttemptFailure("broke off in the middle of its answer", true);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new AttemptFailure("answered something that is not JSON", false);
  }
}

/** The proxy may be the cause, so the operator must know of it. */
function throughProxy({ url }: RpcNode): string {
  const variable = proxyVariableFor(url);
  return variable === undefined ? "" : ` through the proxy of ${variable}`;
}

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
      await reader.cancel().catch(() => {});
      throw new AnswerTooLarge(`the answer is larger than ${MAX_ANSWER_BYTES} bytes`);
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

/** Codes and texts of the runtimes for a connection that failed, and their meaning. */
const REASONS: [RegExp, string][] = [
  [/ENOTFOUND|EAI_AGAIN|dns error|lookup address/i, "its name was not found"],
  [/ECONNREFUSED|connection refused/i, "the connection was refused"],
  [/certificate|\bCERT_|SELF_SIGNED|UNABLE_TO_|ALTNAME/i, "its certificate is not accepted"],
  [/ENETUNREACH|EHOSTUNREACH|unreachable/i, "there is no route to it"],
  [/ECONNRESET|EPIPE|reset|closed|disconnect/i, "the connection broke off"],
];

/**
 * Why a `fetch` failed, in our own text; empty when unknown. The error must not be stored: Deno quotes the whole URL in
 * it, which may hold a token.
 */
function unreachableReason(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    const text = `${(at as { code?: unknown }).code} ${at.message}`.replace(/\bhttps?:\/\/\S*/g, "");
    const known = REASONS.find(([pattern]) => pattern.test(text));
    if (known !== undefined) return known[1];
  }
  return "";
}
