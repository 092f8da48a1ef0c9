import type { z } from "zod";
import { GatewayError } from "../../errors.ts";
import type { AppParts } from "../exchange.ts";
import { checked } from "./checked.ts";
import { valueAt } from "./fields.ts";

/**
 * As `checked`: whoever names an asset as people do is told the contract that goes by this name here, too.
 * @throws {GatewayError} `invalid_request`
 */
export function checkedAssets<T>(schema: z.ZodType<T>, value: unknown, noun: string, { assetId }: AppParts): T {
  try {
    return checked(schema, value, noun);
  } catch (error) {
    if (!(error instanceof GatewayError) || !/(^|\.)asset$/.test(error.param ?? "")) throw error;
    const given = valueAt(value, error.param!.split("."));
    const id = typeof given === "string" ? assetId(given.slice(0, 100)) : undefined;
    if (id === undefined) throw error;
    throw new GatewayError(error.code, `${error.message}; on this network that is ${id}`, { param: error.param });
  }
}
