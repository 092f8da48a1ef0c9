import type { AnySpec } from "../endpoint.ts";
import type { AppContext } from "../exchange.ts";
import { checkedAssets } from "./checked.ts";

const NOTHING = Object.freeze({});

/**
 * What stands in the path for the `:names` of an endpoint, checked. Frozen: many requests may share it.
 * @throws {GatewayError} `invalid_request`
 */
export function checkedParams({ params }: AnySpec, c: AppContext): unknown {
  if (params === undefined) return NOTHING;
  const { known, parts } = c.env;
  return known === undefined
    ? Object.freeze(checkedAssets(params, c.req.param(), "path parameter", parts))
    : known.params;
}
