import type { z } from "zod";
import type { Clock } from "../../clock.ts";
import * as schemas from "./schemas.ts";
import { AnswerTooLarge, AttemptFailure, type Budget, type Fetch, post, type RpcNode } from "./transport.ts";

/**
 * Why a node refused a call. `out_of_range`: it holds no such ledger, and `range` names the ledgers it holds. `limit`:
 * the call asks for more than it answers at once. `too_large`: the gateway does not read an answer of that size.
 * `unknown_method`: an older node. `trouble`: the node's own fault. Another node, or a later call, may succeed.
 * `refused`: the call is wrong.
 */
export type RpcErrorKind =
  | "out_of_range"
  | "limit"
  | "too_large"
  | "unknown_method"
  | "trouble"
  | "refused"
  | "other";

/** The node answered a JSON-RPC error object, or more than the gateway reads. */
export class RpcError extends Error {
  readonly kind: RpcErrorKind;
  /** The ledgers the node holds, both inclusive, with `out_of_range`. */
  readonly range: { oldest: number; latest: number } | undefined;

  /** @param code of the JSON-RPC error; undefined for an answer that is too large */
  constructor(readonly method: string, readonly code: number | undefined, message: string) {
    super(message);
    this.name = "RpcError";
    this.range = rangeIn(message);
    this.kind = kindOf(method, code, message, this.range !== undefined);
  }
}

/** Invalid request and invalid parameters: nodes use the two for the same things, by version. */
const REFUSALS = new Set<number | undefined>([-32600, -32602]);
/** Internal error or unhealthy, method time-out, could not process. */
const TROUBLES = new Set<number | undefined>([-32603, -32001, -32003]);

function kindOf(method: string, code: number | undefined, message: string, hasRange: boolean): RpcErrorKind {
  if (code === undefined) return "too_large";
  if (code === -32601) return "unknown_method";
  if (TROUBLES.has(code)) return "trouble";
  if (!REFUSALS.has(code)) return "other";
  if (hasRange) return "out_of_range";
  if (/\blimit\b/i.test(message)) return "limit";
  // stellar-rpc's getEvents answers this code when its database fails. For wrong params it has the other code.
  return method === "getEvents" && code === -32600 ? "trouble" : "refused";
}

/** getEvents and getLedgers name the ledgers that they hold in the error's text. */
function rangeIn(message: string): RpcError["range"] {
  const range = /ledger range: (\d{1,10}) - (\d{1,10})/.exec(message) ??
    /oldest ledger: (\d{1,10}) and the latest ledger: (\d{1,10})/.exec(message);
  return range === null ? undefined : { oldest: Number(range[1]), latest: Number(range[2]) };
}

/** A call, and the schema of its answer. */
export interface Question<S extends z.ZodType> {
  method: string;
  params: unknown;
  schema: S;
}

/**
 * Makes one call to one node (JSON-RPC 2.0). Rejects with an `AttemptFailure` when the node fails or answers nonsense,
 * and with an `RpcError`.
 */
export async function askNode<S extends z.ZodType>(
  parts: { fetch: Fetch; clock: Clock },
  node: RpcNode,
  id: number,
  { method, params, schema }: Question<S>,
  budget: Budget,
): Promise<z.output<S>> {
  const body = JSON.stringify({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) });
  const raw = await post(parts, node, body, budget).catch((error) => {
    throw error instanceof AnswerTooLarge ? new RpcError(method, undefined, error.message) : error;
  });
  const reply = schemas.reply.safeParse(raw);
  if (!reply.success) throw new AttemptFailure("answered JSON that is no JSON-RPC answer", false);
  const { error, result } = reply.data;
  // A node that could not read the request answers with id null.
  if (reply.data.id !== id && error === undefined) throw new AttemptFailure("answered another request's id", false);
  if (error !== undefined) throw new RpcError(method, error.code, clipped(error.message));
  const checked = schema.safeParse(result);
  if (checked.success) return checked.data;
  const where = checked.error.issues[0]?.path.join(".") || "result";
  throw new AttemptFailure(`answered nonsense (${where})`, false);
}

/** A node's text, cut short and without URLs: a proxy may quote its own address with a token. */
export function clipped(message: string): string {
  return message.replace(/\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, "[url]").slice(0, 300);
}
