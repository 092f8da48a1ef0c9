import type { z } from "zod";
import { GatewayError } from "../errors.ts";
import type { EndpointRequest } from "./endpoint.ts";
import type { AnyRoute } from "./route.ts";

/** Bodies above this are refused with 413. */
export const MAX_BODY_BYTES = 64 * 1024;

const NOTHING = Object.freeze({});

/** Query of a request by name. @throws {GatewayError} `invalid_request` when a parameter stands there twice. */
export function checkedQuery(route: AnyRoute, { raw }: EndpointRequest): unknown {
  // Most reads have none, and then there is nothing to take apart.
  if (route.query === undefined && !raw.url.includes("?")) return NOTHING;
  const query: Record<string, string> = {};
  const given = new URL(raw.url).searchParams;
  for (const [name, value] of given) {
    const count = given.getAll(name).length;
    if (count > 1) throw new GatewayError("invalid_request", `query parameter ${name} is given ${count} times`);
    query[name] = value;
  }
  if (route.query === undefined) {
    const [first] = Object.keys(query);
    if (first !== undefined) throw new GatewayError("invalid_request", `unknown query parameter ${first}`);
    return NOTHING;
  }
  return checked(route.query, query, "query parameter");
}

/** How many paths a route remembers as well formed. */
const MAX_REMEMBERED_PATHS = 10_000;

/**
 * Makes the check of a route's path parameters. What was found well formed is remembered by its path (bounded): hot
 * reads ask for the same few again and again. What it answers is frozen, since many requests share it.
 */
export function paramsCheck({ params }: AnyRoute): (request: EndpointRequest) => unknown {
  if (params === undefined) return () => NOTHING;
  const remembered = new Map<string, unknown>();
  return function checkedParams({ path, params: given }) {
    const known = remembered.get(path);
    if (known !== undefined) return known;
    const read = Object.freeze(checked(params, given, "path parameter"));
    if (remembered.size >= MAX_REMEMBERED_PATHS) remembered.clear();
    remembered.set(path, read);
    return read;
  };
}

/** Reads and checks a JSON body. @throws {GatewayError} `invalid_request`, with status 413 when it is too large. */
export async function checkedBody(route: AnyRoute, request: Request): Promise<unknown> {
  if (route.body === undefined) return undefined;
  const contentType = request.headers.get("content-type") ?? "";
  if (!/^application\/json\s*(;|$)/i.test(contentType)) {
    const was = contentType === "" ? "none" : JSON.stringify(contentType.slice(0, 100));
    throw new GatewayError("invalid_request", `Content-Type must be application/json, got ${was}`);
  }
  return checked(route.body, parseJson(await readBody(request)), "field");
}

async function readBody(request: Request): Promise<string> {
  const tooLarge = () =>
    new GatewayError("invalid_request", `the body is larger than ${MAX_BODY_BYTES} bytes`, { status: 413 });
  if (Number(request.headers.get("content-length") ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new GatewayError("invalid_request", "the body is not UTF-8");
  }
}

function parseJson(text: string): unknown {
  if (text.trim() === "") throw new GatewayError("invalid_request", "the body is empty; a JSON object is expected");
  try {
    return JSON.parse(text);
  } catch {
    throw new GatewayError("invalid_request", "the body is not JSON");
  }
}

function checked<T>(schema: z.ZodType<T>, value: unknown, noun: string): T {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  throw new GatewayError("invalid_request", issueText(read.error.issues[0]!, value, noun));
}

/** The first thing wrong, in one sentence that names the field by its path. */
function issueText(issue: z.core.$ZodIssue, value: unknown, noun: string): string {
  const path = issue.path.map(String).join(".");
  if (issue.code === "unrecognized_keys") {
    const names = issue.keys.map((key) => (path === "" ? key : `${path}.${key}`));
    return `unknown ${noun} ${names.map((name) => name.slice(0, 100)).join(", ")}`;
  }
  if (path === "") {
    return issue.code === "invalid_type" ? "the body must be a JSON object" : `the body ${issue.message}`;
  }
  return valueAt(value, issue.path) === undefined ? `${path} is missing: ${issue.message}` : `${path} ${issue.message}`;
}

function valueAt(value: unknown, path: PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, step) => (typeof at === "object" && at !== null ? (at as Record<PropertyKey, unknown>)[step] : undefined),
    value,
  );
}
