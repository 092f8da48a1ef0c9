import { CommandError, UsageError } from "../command.ts";
import type { Row } from "../help.ts";
import type { SandboxInfo } from "./start.ts";

/** Where a sandbox tells about itself, at its RPC server: what `gateway sandbox --json` prints. */
const PATH = "/sandbox";

/** Where `gateway sandbox` has its RPC server unless told otherwise. */
export const STANDARD_SANDBOX = "http://127.0.0.1:8000";

/** How `--sandbox` is explained. */
export const SANDBOX_ROW: Row = ["--sandbox URL", `Stellar RPC of the sandbox (${STANDARD_SANDBOX})`];

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
 * Answers `GET /sandbox` with what a client needs, undefined for any other request. Keys of a play network, but keys:
 * only to this machine by its own name, so that no page in a browser reads them (no CORS, no name that was rebound).
 *
 * @param info undefined: the sandbox is not ready yet
 */
export function sandboxPage(request: Request, info: SandboxInfo | undefined): Response | undefined {
  const { pathname, hostname } = new URL(request.url);
  if (request.method !== "GET" || pathname !== PATH) return undefined;
  if (!["127.0.0.1", "localhost"].includes(hostname)) return new Response("ask 127.0.0.1\n", { status: 403 });
  if (info === undefined) return new Response("the sandbox is starting\n", { status: 503 });
  return Response.json(info, { headers: { "Cache-Control": "no-store" } });
}

const TIMEOUT_MS = 5_000;

/**
 * What a running sandbox tells about itself.
 *
 * @param url of its RPC server
 * @throws {CommandError} when nothing answers there, or something else does
 */
export async function findSandbox(url: string): Promise<SandboxInfo> {
  const hint = "start one with `gateway sandbox`, or say with --sandbox where its Stellar RPC is";
  const asked = `${url.replace(/\/+$/, "")}${PATH}`;
  const response = await fetch(asked, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(() => undefined);
  if (response === undefined) throw new CommandError(`no sandbox answers at ${url}: ${hint}`);
  const info = response.ok ? await response.json().catch(() => undefined) : undefined;
  if (typeof info?.gateway === "string" && typeof info.apiKey === "string") return info;
  const why = response.status === 503 ? "is still starting: try again" : `is no sandbox of this version: ${hint}`;
  throw new CommandError(`what answers at ${url} ${why}`);
}
