import type { z } from "zod";
import type { Wait } from "../../clock.ts";
import { RpcError } from "./rpc.ts";
import * as schemas from "./schemas.ts";
import { AttemptFailure, type Budget, type Fetch, post, type RpcNode } from "./transport.ts";

/** What is asked of a node, and what its answer is checked for. */
export interface Question<S extends z.ZodType> {
  method: string;
  params: unknown;
  schema: S;
}

/**
 * Asks one node once. Rejects with an `AttemptFailure` when it fails or answers nonsense, and with an `RpcError` when it
 * answers with a JSON-RPC error object.
 */
export async function askNode<S extends z.ZodType>(
  parts: { fetch: Fetch; wait: Wait },
  node: RpcNode,
  id: number,
  { method, params, schema }: Question<S>,
  budget: Budget,
): Promise<z.output<S>> {
  const body = JSON.stringify({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) });
  const raw = await post(parts, node, body, budget);
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

/** A node's own words, cut short and without URLs: a proxy may quote its own address, token and all. */
export function clipped(message: string): string {
  return message.replace(/\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, "[url]").slice(0, 300);
}
