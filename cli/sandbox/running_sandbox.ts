import { sleep } from "../../lib/clock.ts";
import type { NetworkExample } from "../../lib/escrow/example_values.ts";
import { hasGoodHost } from "../../lib/http/request_target.ts";
import type { Peer } from "../../lib/runtime/serve.ts";
import type { Sandbox } from "../../lib/sandbox/bootstrap.ts";
import { isFromOwnMachine } from "../../lib/sandbox/rpc/own_machine.ts";
import { CommandError, type CommandIo, UsageError } from "../command.ts";

/** What a client needs to use the sandbox; the line that `--json` prints. */
export interface SandboxInfo extends Sandbox {
  gateway: string;
  rpc: string;
  friendbot: string;
  store: string;
  networkPassphrase: string;
  apiKey: string;
}

/**
 * The values of a sandbox in the examples of its API reference.
 * @param receiver origin of the webhook in the examples
 */
export function exampleValuesOf({ accounts, asset, contracts }: Sandbox, receiver: string): NetworkExample {
  const { owner, agent, merchant } = accounts;
  return { owner: owner.address, agent: agent.address, merchant: merchant.address, asset, ...contracts, receiver };
}

/** Where a sandbox tells about itself, at its RPC server: what `gateway sandbox --json` prints. */
const PATH = "/sandbox";

/** Where `gateway sandbox` has its RPC server unless told otherwise. */
export const STANDARD_SANDBOX = "http://127.0.0.1:8000";

/** How `--sandbox` is explained. */
export const SANDBOX_ROW = ["--sandbox URL", `Stellar RPC or gateway of the sandbox (${STANDARD_SANDBOX})`] as const;

/**
 * Where the sandbox is looked for.
 * @throws {UsageError} when the flag is no URL
 */
export function sandboxUrl(flag: string | undefined): string {
  const url = flag ?? STANDARD_SANDBOX;
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new UsageError(`--sandbox must be an http:// URL such as ${STANDARD_SANDBOX}, got ${JSON.stringify(url)}`);
}

/**
 * Answers `GET /sandbox` with what a client needs and `GET /` with the same as a page, undefined for any other request.
 * Keys of a play network, but keys: only to this machine by its own name, and to no page of another origin.
 *
 * @param info undefined: the sandbox is not ready yet
 * @param page makes the page
 */
export function sandboxPage(
  request: Request,
  peer: Peer,
  info: SandboxInfo | undefined,
  page: (info: SandboxInfo) => Response,
): Response | undefined {
  const path = OWN_PATH.exec(request.url)?.[1];
  if (path === undefined || request.method !== "GET" || !hasGoodHost(request)) return undefined;
  if (request.headers.has("Origin") || !isFromOwnMachine(request, peer.remoteAddress)) {
    return new Response("ask 127.0.0.1\n", { status: 403 });
  }
  if (info === undefined) return new Response("the sandbox is starting\n", { status: STARTING });
  return path === "/" ? page(info) : Response.json(info, { headers: JSON_HEADERS });
}

/** Every request to the gateway is looked at: to take its URL apart would be a sixth of what a read costs. */
const OWN_PATH = /^[^/]+\/\/[^/]*(\/|\/sandbox)(?:\?|$)/;
const JSON_HEADERS = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" };
const TIMEOUT_MS = 5_000;
/** Longer than a ledger of the slowest pace, which `sandbox_fund` waits for. */
const CALL_TIMEOUT_MS = 150_000;
/** HTTP status of a sandbox that is not ready yet. */
const STARTING = 503;
const METHOD_NOT_FOUND = -32601;
const HINT = "start one with `gateway sandbox`, or say with --sandbox where its Stellar RPC is";
/** How long is waited for a sandbox, where none answers yet, and where one answers that it is still starting. */
const START_MS = { absent: 10_000, starting: 60_000 };
const LOOK_AGAIN_MS = 200;

/** For `findSandbox`: a newcomer starts both in two terminals, and one of them is the first. */
export function waitingFor(io: CommandIo, command: string): (message: string) => void {
  return (message) => io.stderr(`gateway ${command}: ${message}\n`);
}

/**
 * What a running sandbox tells about itself.
 *
 * @param url of its RPC server
 * @param onWait told once that it is waited for, and for how long; absent: it is not waited for
 * @throws {CommandError} when nothing answers there, or something else does
 */
export async function findSandbox(url: string, onWait?: (message: string) => void): Promise<SandboxInfo> {
  const beganAt = performance.now();
  for (let isTold = false;; isTold = true) {
    const response = await fetch(`${url.replace(/\/+$/, "")}${PATH}`, { signal: AbortSignal.timeout(TIMEOUT_MS) })
      .catch(() => undefined);
    const info = response?.ok ? await response.json().catch(() => undefined) : undefined;
    if (typeof info?.gateway === "string" && typeof info.apiKey === "string") return info;
    const [boundMs, why] = response === undefined
      ? [START_MS.absent, `no sandbox answers at ${url}`]
      : [response.status === STARTING ? START_MS.starting : 0, `what answers at ${url} is no sandbox of this version`];
    if (onWait === undefined || performance.now() - beganAt > boundMs) throw new CommandError(`${why}: ${HINT}`);
    if (!isTold) onWait(`waiting for the sandbox at ${url}, at most ${boundMs / 1000} seconds`);
    await sleep(LOOK_AGAIN_MS);
  }
}

/**
 * Calls a method of a sandbox's RPC server and answers its result.
 *
 * @throws {CommandError} in the server's words when it refuses, or when no sandbox answers
 */
export async function callSandbox<T>(url: string, method: string, params: Record<string, unknown> = {}): Promise<T> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
  }).catch(() => undefined);
  if (response === undefined) throw new CommandError(`no sandbox answers at ${url}: ${HINT}`);
  const answer = await response.json().catch(() => undefined);
  if (answer?.result !== undefined) return answer.result;
  const why = answer?.error?.message?.replace(/^invalid parameters: /, "");
  if (why === undefined || answer.error.code === METHOD_NOT_FOUND) {
    throw new CommandError(`what answers at ${url} is no sandbox of this version: ${HINT}`);
  }
  throw new CommandError(why);
}

/** About what the clock of the sandbox's network shows, Unix ms: when its newest ledger closed. */
export async function networkTime(url: string): Promise<number> {
  return Number((await callSandbox<{ closeTime: string }>(url, "getLatestLedger")).closeTime) * 1000;
}
