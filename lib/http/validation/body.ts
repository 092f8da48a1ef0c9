import { z } from "zod";
import { GatewayError } from "../../errors.ts";
import type { AnySpec } from "../endpoint_spec.ts";
import type { AppParts, RequestContext } from "../request_context.ts";
import { checked, checkedAssets } from "./checked.ts";
import { jsonProblem } from "./json_problem.ts";

/** A larger body gets 413. The network's largest envelope (132 096 bytes) fits in base64. */
export const MAX_BODY_BYTES = 192 * 1024;

/** A body that takes longer gets 408. */
export const BODY_TIMEOUT_MS = 30_000;

/** Most bodies fit into the first buffer. */
const FIRST_BYTES = 4 * 1024;

const noFields = z.strictObject({});

/**
 * Reads and checks the body of a request, undefined without a body. An endpoint without fields also accepts an empty object.
 * @throws {GatewayError} `invalid_request`, with status 413 for a body that is too large
 */
export function checkedBody(
  { body: schema }: AnySpec,
  { request, parts }: RequestContext,
): Promise<unknown> | undefined {
  if (schema !== undefined) return required(schema, request, parts);
  if (request.method === "GET" || request.method === "HEAD" || request.body === null) return undefined;
  return superfluous(request, parts.bodyTimeoutMs);
}

async function required(schema: z.ZodType, request: Request, parts: AppParts): Promise<unknown> {
  const contentType = request.headers.get("content-type") ?? "";
  if (!/^application\/json\s*(;|$)/i.test(contentType)) {
    const given = contentType === "" ? "none" : JSON.stringify(contentType.slice(0, 100));
    throw new GatewayError("invalid_request", `Content-Type must be application/json, got ${given}`);
  }
  const text = await readText(request, parts.bodyTimeoutMs);
  if (text.trim() === "") {
    throw new GatewayError("invalid_request", "the body must be a JSON object; got an empty body");
  }
  return checkedAssets(schema, parseJson(text), "field", parts);
}

async function superfluous(request: Request, timeoutMs: number): Promise<unknown> {
  const text = await readText(request, timeoutMs);
  if (text.trim() !== "") checked(noFields, parseJson(text), "field");
  return undefined;
}

async function readText(request: Request, timeoutMs: number): Promise<string> {
  const coding = request.headers.get("content-encoding")?.trim() ?? "";
  if (coding !== "" && coding.toLowerCase() !== "identity") {
    const message = `Content-Encoding must be absent, got ${
      JSON.stringify(coding.slice(0, 100))
    }: send the body as it is`;
    throw new GatewayError("invalid_request", message, { status: 415, headers: { "Accept-Encoding": "identity" } });
  }
  const bytes = await readBytes(request, timeoutMs);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new GatewayError("invalid_request", "the body must be UTF-8");
  }
}

async function readBytes(request: Request, timeoutMs: number): Promise<Uint8Array> {
  if (Number(request.headers.get("content-length") ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  const reader = request.body?.getReader();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_, reject) => timer = setTimeout(() => reject(tooLate(timeoutMs)), timeoutMs));
  try {
    // One race for the whole body: a race for each chunk would hold all chunks until the timeout.
    return await Promise.race([reader === undefined ? new Uint8Array() : wholeOf(reader), timeout]);
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    // The client has disconnected, so only the log shows this error.
    throw new GatewayError("invalid_request", "the connection closed before the end of the body", { retry: "same" });
  } finally {
    clearTimeout(timer);
    // The server reads or refuses the rest of the body. A pending read rejects.
    reader?.releaseLock();
  }
}

/** Copies each chunk at once: for a body that arrives byte by byte the runtimes create a chunk of kilobytes for each byte. */
async function wholeOf(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array> {
  let bytes = new Uint8Array(FIRST_BYTES);
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return bytes.subarray(0, size);
    const end = size + value.length;
    if (end > MAX_BODY_BYTES) throw tooLarge();
    if (end > bytes.length) {
      const larger = new Uint8Array(Math.min(MAX_BODY_BYTES, Math.max(end, 2 * bytes.length)));
      larger.set(bytes);
      bytes = larger;
    }
    bytes.set(value, size);
    size = end;
  }
}

function tooLate(timeoutMs: number): GatewayError {
  const message = `the body must arrive within ${timeoutMs / 1000} s: send it again`;
  return new GatewayError("invalid_request", message, { status: 408, retry: "same", headers: { Connection: "close" } });
}

function tooLarge(): GatewayError {
  return new GatewayError("invalid_request", `the body must have at most ${MAX_BODY_BYTES} bytes`, { status: 413 });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new GatewayError("invalid_request", `the body must be JSON: ${jsonProblem(text)}`);
  }
}
