import { GatewayError } from "../../errors.ts";
import type { AnySpec } from "../endpoint.ts";
import type { Exchange } from "../exchange.ts";
import { requestQuery } from "../request_target.ts";
import { checked } from "./checked.ts";

/** More parameters than any endpoint has; what is beyond is not even taken apart. */
const MAX_PARAMETERS = 32;

const NOTHING = Object.freeze({});

/**
 * The query of a request by name, checked. An endpoint without one refuses the first parameter it is given.
 * @throws {GatewayError} `invalid_request`
 */
export function checkedQuery(spec: AnySpec, { request, known }: Exchange): unknown {
  // Most reads have none, and then there is nothing to take apart.
  if (spec.query === undefined && (known !== undefined || !request.url.includes("?"))) return NOTHING;
  const text = requestQuery(request);
  if (spec.ignoresQuery || (spec.query === undefined && text === "")) return NOTHING;
  if (spec.query === undefined) {
    const [[first = ""] = []] = new URLSearchParams(text.split("&", 1)[0]);
    throw new GatewayError("invalid_request", `unknown query parameter ${first.slice(0, 100)}: there are none here`);
  }
  return checked(spec.query, byName(text), "query parameter");
}

function byName(text: string): Record<string, string> {
  // One more than allowed shows that it is one too many.
  if (text.split("&", MAX_PARAMETERS + 1).length > MAX_PARAMETERS) {
    throw new GatewayError("invalid_request", `a query has at most ${MAX_PARAMETERS} parameters`);
  }
  const given = new URLSearchParams(text);
  // Without a prototype, so that no name is one that is there already.
  const query: Record<string, string> = Object.create(null);
  for (const [name, value] of given) {
    if (name in query) {
      throw new GatewayError(
        "invalid_request",
        `query parameter ${name.slice(0, 100)} is given ${given.getAll(name).length} times`,
      );
    }
    query[name] = value;
  }
  return query;
}
