import { CARD_LIFE } from "./card_life.ts";
import { type Flags, UsageError } from "./command.ts";
import { didYouMean } from "../lib/nearest.ts";

/** The flags that say which events to hear. */
export const FILTER_FLAGS = { "types": "text", "device-hash": "text", "merchant": "text" } as const;

/** All types that there are. */
const EVENTS: string[] = CARD_LIFE.map(({ event }) => event);

/** Which events to hear, as `POST /v1/webhooks` takes it. */
export interface Filter {
  types?: string[];
  deviceHash?: string;
  merchant?: string;
}

/** @throws {UsageError} for the first flag that is wrong: the gateway would name a field instead. */
export async function filterOf(flags: Flags<typeof FILTER_FLAGS>): Promise<Filter> {
  const types = flags.types?.split(",").map((type) => type.trim());
  const unknown = types?.find((type) => !EVENTS.includes(type));
  if (unknown !== undefined) {
    const meant = didYouMean(unknown, EVENTS);
    throw new UsageError(`--types must be some of ${EVENTS.join(", ")}, got ${JSON.stringify(unknown)}${meant}`);
  }
  // Loaded here: `gateway help listen` must not wait for the SDK.
  const values = await import("../lib/escrow/values.ts");
  const checked = { "device-hash": values.deviceHash, "merchant": values.address };
  for (const [flag, schema] of Object.entries(checked) as [keyof typeof checked, typeof values.address][]) {
    const read = flags[flag] === undefined ? undefined : schema.safeParse(flags[flag]);
    if (read?.success === false) {
      throw new UsageError(`--${flag} ${read.error.issues[0]!.message.replace("; got", ", got")}`);
    }
  }
  return { types: types && [...new Set(types)], deviceHash: flags["device-hash"], merchant: flags.merchant };
}
