/** JSON-RPC 2.0 as the real node's library implements it: named params, batches, notifications, error texts. */

const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;

/** Calls per batch. The real node has no bound, but it shares no thread with its ledger. */
const MAX_BATCH = 100;
/** Characters of one batch's answer. */
const MAX_BATCH_ANSWER = 64 * 1024 * 1024;
/** How long a batch may block the event loop. */
const BATCH_SLICE_MS = 20;

/** A failure with its own JSON-RPC error code. */
export class JsonRpcError extends Error {
  constructor(readonly code: number, message: string, readonly data?: unknown) {
    super(message);
    this.name = "JsonRpcError";
  }
}

/** The body is no JSON. The real node sends this text as plain text with status 500. */
export class NotJson extends Error {
  override name = "NotJson";
  constructor() {
    super(`[${PARSE_ERROR}] invalid request value`);
  }
}

/** `invalid parameters: …` with -32602, as for params of the wrong type. */
export function invalidParams(reason: string): JsonRpcError {
  return new JsonRpcError(INVALID_PARAMS, `invalid parameters: ${reason}`);
}

/** Named params. Null equals an absent param. */
export type Params = Record<string, unknown>;
/** Returns the result, or a promise of it. */
export type Method = (params: Params) => unknown;
export type Methods = ReadonlyMap<string, Method>;

/**
 * Answers one request body.
 *
 * @returns the JSON of the answer, undefined for an empty batch and for notifications alone
 * @throws NotJson
 */
export async function answerJsonRpc(body: string, methods: Methods): Promise<string | undefined> {
  let message: unknown;
  try {
    message = JSON.parse(body);
  } catch {
    throw new NotJson();
  }
  return Array.isArray(message) ? await answerBatch(message, methods) : await answerCall(message, methods);
}

async function answerBatch(calls: unknown[], methods: Methods): Promise<string | undefined> {
  if (calls.length > MAX_BATCH) {
    return failure(
      null,
      new JsonRpcError(INVALID_REQUEST, `a batch holds at most ${MAX_BATCH} requests; got ${calls.length}`),
    );
  }
  const answers: string[] = [];
  let answerLength = 0;
  let sliceStart = performance.now();
  for (const call of calls) {
    if (performance.now() - sliceStart > BATCH_SLICE_MS) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      sliceStart = performance.now();
    }
    const answer = await answerCall(call, methods);
    if (answer === undefined) continue;
    answerLength += answer.length;
    if (answerLength > MAX_BATCH_ANSWER) {
      return failure(null, new JsonRpcError(INTERNAL_ERROR, "the answer to this batch is too large"));
    }
    answers.push(answer);
  }
  return answers.length === 0 ? undefined : `[${answers.join(",")}]`;
}

interface Call {
  /** Undefined for a notification. */
  id: string | number | undefined;
  method: string;
  params: unknown;
}

async function answerCall(message: unknown, methods: Methods): Promise<string | undefined> {
  let id: string | number | undefined;
  let call: Call;
  try {
    if (typeof message !== "object" || Array.isArray(message)) {
      throw new JsonRpcError(PARSE_ERROR, "request is not a JSON object");
    }
    const request = (message ?? {}) as Params;
    id = requestId(request);
    call = { id, ...checkedCall(request) };
  } catch (error) {
    // An invalid request gets an answer even without an id.
    return failure(id ?? null, error);
  }
  try {
    const result = JSON.stringify(await invoke(call, methods));
    return call.id === undefined ? undefined : `{"jsonrpc":"2.0","id":${JSON.stringify(call.id)},"result":${result}}`;
  } catch (error) {
    return call.id === undefined ? undefined : failure(call.id, error);
  }
}

function invoke(call: Call, methods: Methods): unknown {
  if (call.method === "") throw new JsonRpcError(INVALID_REQUEST, "empty method name");
  const method = methods.get(call.method);
  if (!method) throw new JsonRpcError(METHOD_NOT_FOUND, "method not found", call.method);
  if (Array.isArray(call.params)) throw invalidParams("expected an object of named params; got an array");
  return method((call.params ?? {}) as Params);
}

function requestId(message: Params): string | number | undefined {
  const { id } = message;
  if (id === undefined || id === null) return undefined;
  if (typeof id === "string" || typeof id === "number") return id;
  throw new JsonRpcError(INVALID_REQUEST, "invalid request ID");
}

function checkedCall(message: Params): { method: string; params: unknown } {
  const { jsonrpc: version, id: _, method = "", params = null, result, error, ...extra } = message;
  if (version !== undefined && typeof version !== "string") throw new JsonRpcError(PARSE_ERROR, "invalid version key");
  if (version !== "2.0") throw new JsonRpcError(INVALID_REQUEST, "invalid version marker");
  if (typeof method !== "string") throw new JsonRpcError(PARSE_ERROR, "invalid method name");
  if (typeof params !== "object") throw new JsonRpcError(INVALID_REQUEST, "parameters must be array or object");
  if (method !== "" && (result !== undefined || error !== undefined)) {
    throw new JsonRpcError(INVALID_REQUEST, "mixed request and reply fields");
  }
  const extraNames = Object.keys(extra);
  if (extraNames.length > 0) throw new JsonRpcError(INVALID_REQUEST, "extra fields in request", extraNames);
  return { method, params };
}

/** The JSON of an error. Anything but a `JsonRpcError` is an internal error with its message. */
function failure(id: string | number | null, error: unknown): string {
  const { code, message, data } = error instanceof JsonRpcError
    ? error
    : { code: INTERNAL_ERROR, message: error instanceof Error ? error.message : String(error), data: undefined };
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message, data } });
}
