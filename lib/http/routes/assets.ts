import { Hono } from "hono";
import { z } from "zod";
import { contractId } from "../../escrow/values.ts";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../exchange.ts";

/** What the contracts of assets say of themselves, so that amounts can be written in units. */
export const assets = new Hono<AppEnv>()
  .get(
    "/v1/assets/:asset",
    endpoint({
      operationId: "getAsset",
      scopes: ["read"],
      summary: "The symbol, the name and the decimals of an asset",
      params: z.object({ asset: contractId }),
      answer: z.object({
        asset: contractId,
        symbol: z.string().describe("native for the network's own. What a token calls itself proves nothing"),
        name: z.string().describe("CODE:ISSUER of an issued asset"),
        decimals: z.int().describe("Digits after the point in one unit"),
      }).meta({ id: "Asset" }),
      errors: ["not_found", "upstream_error"],
    }, ({ params }, { assets }) => assets(params.asset)),
  );
