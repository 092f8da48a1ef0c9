import { runtimeName } from "./runtime.ts";

/** Bun copies `Headers` faster than it reads a plain object; Deno is the other way round. */
const templates = new WeakMap<Readonly<Record<string, string>>, Headers>();

/**
 * A JSON response, as cheap as the runtime allows: on the hot path headers cost more than the body.
 * @param body JSON
 * @param lasting headers of many responses: the same object in each call, never changed
 * @param passing headers of this response alone
 */
export const jsonResponse: (
  body: string,
  status: number,
  lasting: Readonly<Record<string, string>>,
  passing: Record<string, string>,
) => Response = runtimeName === "bun" ? fromTemplate : fromObject;

/** Without `no-store`, a cache may store an answer to a request with `X-API-Key` for other clients (RFC 9111 §3). */
const OF_EVERY_ONE = { "content-type": "application/json", "cache-control": "no-store" };

function fromTemplate(
  body: string,
  status: number,
  lasting: Readonly<Record<string, string>>,
  passing: Record<string, string>,
): Response {
  let template = templates.get(lasting);
  if (template === undefined) templates.set(lasting, template = new Headers({ ...lasting, ...OF_EVERY_ONE }));
  const response = new Response(body, { status, headers: template });
  const { headers } = response;
  for (const name in passing) headers.set(name, passing[name]!);
  return response;
}

function fromObject(
  body: string,
  status: number,
  lasting: Readonly<Record<string, string>>,
  passing: Record<string, string>,
): Response {
  return new Response(body, { status, headers: { ...lasting, ...passing, ...OF_EVERY_ONE } });
}
