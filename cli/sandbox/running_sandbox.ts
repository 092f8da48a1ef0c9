import { sleep } from "../../lib/clock.ts";
import type { NetworkExample } from "../../lib/escrow/example_values.ts";
import { hasGoodHost } from "../../lib/http/request_target.ts";
import type { Peer } from "../../lib/runtime/serve.ts";
import type { Sandbox } from "../../lib/sandbox/bootstrap.ts";
import { isFromOwnMachine } from "../../lib/sandbox/rpc/own_machine.ts";
import { CommandError, type CommandIo, httpUrl } from "../command.ts";

/** Addresses, keys and accounts of a sandbox: the line of `--json`. */
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

/** Path of the RPC server and the gateway that answers with the line of `gateway sandbox --json`. */
const PATH = "/sandbox";

/** Default address of the RPC server of `gateway sandbox`. */
export const STANDARD_SANDBOX = "http://127.0.0.1:8000";

export const SANDBOX_ROW = [
  "--sandbox URL",
  `Stellar RPC or gateway of the sandbox (default ${STANDARD_SANDBOX})`,
] as const;

/**
 * The URL of `--sandbox`, else the default.
 * @throws {UsageError} when the flag is no URL
 */
export function sandboxUrl(flag: string | undefined): string {
  return httpUrl("--sandbox", flag ?? STANDARD_SANDBOX);
}

/**
 * Answers `GET /sandbox` with the sandbox's info and `GET /` with a page. Returns undefined for other requests. The info
 * holds keys, so only this machine gets it, by its own name, and no page of another origin.
 *
 * @param info undefined while the sandbox starts
 * @param page creates the page
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
    return new Response("use http://127.0.0.1 on the machine of the sandbox\n", { status: 403 });
  }
  if (info === undefined) return new Response("the sandbox is starting\n", { status: STARTING });
  return path === "/" ? page(info) : Response.json(info, { headers: JSON_HEADERS });
}

/** Every request passes here, so a regular expression: parsing the URL would cost a sixth of a read. */
const OWN_PATH = /^[^/]+\/\/[^/]*(\/|\/sandbox)(?:\?|$)/;
const JSON_HEADERS = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" };
const TIMEOUT_MS = 5_000;
/** Longer than the slowest ledger, which `sandbox_fund` waits for. */
const CALL_TIMEOUT_MS = 150_000;
/** HTTP status of a sandbox that is not ready yet. */
const STARTING = 503;
const METHOD_NOT_FOUND = -32601;
const HINT = "start one with `gateway sandbox`, or pass the URL of its gateway or Stellar RPC with --sandbox";
/** How long `findSandbox` waits while nothing answers, and while a sandbox answers that it starts. */
const START_MS = { absent: 10_000, starting: 60_000 };
const RETRY_MS = 200;

/** The `onWait` of `findSandbox` that prints the message. People start sandbox and command in any order. */
export function waitingFor(io: CommandIo, command: string): (message: string) => void {
  return (message) => io.stderr(`gateway ${command}: ${message}\n`);
}

/**
 * Gets the info of a running sandbox.
 *
 * @param url of its gateway or RPC server
 * @param onWait called once before it waits for the sandbox. Absent: it does not wait
 * @throws {CommandError} when no sandbox answers there
 */
export async function findSandbox(url: string, onWait?: (message: string) => void): Promise<SandboxInfo> {
  const beganAt = performance.now();
  for (let isReported = false;; isReported = true) {
    const response = await fetch(`${url.replace(/\/+$/, "")}${PATH}`, { signal: AbortSignal.timeout(TIMEOUT_MS) })
      .catch(() => undefined);
    const info = response?.ok ? await response.json().catch(() => undefined) : undefined;
    if (typeof info?.gateway === "string" && typeof info.apiKey === "string") return info;
    const [boundMs, why] = response === undefined
      ? [START_MS.absent, `no sandbox answers at ${url}`]
      : [response.status === STARTING ? START_MS.starting : 0, `no sandbox of this version answers at ${url}`];
    if (onWait === undefined || performance.now() - beganAt > boundMs) throw new CommandError(`${why}: ${HINT}`);
    if (!isReported) onWait(`waiting for the sandbox at ${url}, at most ${boundMs / 1000} seconds`);
    await sleep(RETRY_MS);
  }
}

/**
 * Calls a method of a sandbox's RPC server and returns its result.
 *
 * @throws {CommandError} with the server's message when it refuses, or when no sandbox answers
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
    throw new CommandError(`no sandbox of this version answers at ${url}: ${HINT}`);
  }
  throw new CommandError(why);
}

/** The close time of the newest ledger of the sandbox, in Unix ms. */
export async function networkTime(url: string): Promise<number> {
  return Number((await callSandbox<{ closeTime: string }>(url, "getLatestLedger")).closeTime) * 1000;
}
