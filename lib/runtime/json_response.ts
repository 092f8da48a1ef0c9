import { runtimeName } from "./runtime.ts";

/** Bun copies `Headers` faster than it reads a plain object; Deno is the other way round. */
const templates = new WeakMap<Readonly<Record<string, string>>, Headers>();

/**
 * A JSON response, made as cheaply as the runtime can: on the hot path headers cost more than the body.
 *
 * @param body JSON
 * @param lasting headers that many responses share: an object that is the same from call to call and never changes
 * @param passing headers of this response alone
 */
export const jsonResponse: (
  body: string,
  status: number,
  lasting: Readonly<Record<string, string>>,
  passing: Record<string, string>,
) => Response = runtimeName === "bun" ? fromTemplate : fromObject;

/** With a key in `X-API-Key` a cache in between could keep what does not forbid it (RFC 9111 §3), for whoever asks next. */
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
