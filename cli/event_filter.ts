import type { z } from "zod";
import type { EventType } from "../lib/client/client.ts";
import { CARD_LIFE } from "./card_life.ts";
import { type Flags, UsageError } from "./command.ts";
import { didYouMean } from "../lib/nearest.ts";

/** The flags that filter events. */
export const FILTER_ROWS = [
  ["--types LIST", "Only these events, comma-separated: payment.authorized,payment.claimed (default all)"],
  ["--device-hash HEX", "Only events of this card"],
  ["--merchant ADDRESS", "Only events of this merchant: G… or C…"],
] as const;
/** The flags of a stream, which has more filters than a webhook. */
export const STREAM_FILTER_ROWS = [
  ...FILTER_ROWS,
  ["--agent ADDRESS", "Only events of this agent: G… or C…"],
  ["--tx-hash HEX", "Only events of this transaction"],
] as const;

/** All event types. */
const EVENTS: EventType[] = CARD_LIFE.map(({ event }) => event);

/** A filter as `POST /v1/webhooks` takes it. */
export interface Filter {
  types?: EventType[];
  deviceHash?: string;
  merchant?: string;
}

/** A filter as `GET /v1/events/stream` takes it. */
export interface StreamFilter extends Filter {
  agent?: string;
  txHash?: string;
}

/** @throws {UsageError} as `filterOf` */
export async function streamFilterOf(flags: Flags<typeof STREAM_FILTER_ROWS>): Promise<StreamFilter> {
  const filter = await filterOf(flags);
  const values = await import("../lib/escrow/values.ts");
  const txHash = flags["tx-hash"];
  if (flags.agent !== undefined) requireValue("agent", flags.agent, values.address);
  if (txHash !== undefined) requireValue("tx-hash", txHash, values.deviceHash);
  return { ...filter, agent: flags.agent, txHash };
}

/** @throws {UsageError} for the first flag that is wrong. The gateway's own message would name a field instead. */
export async function filterOf(flags: Flags<typeof FILTER_ROWS>): Promise<Filter> {
  const types = flags.types?.split(",").map((type) => type.trim());
  const unknown = types?.find((type) => !(EVENTS as string[]).includes(type));
  if (unknown !== undefined) {
    const meant = didYouMean(unknown, EVENTS);
    throw new UsageError(`--types must be some of ${EVENTS.join(", ")}; got ${JSON.stringify(unknown)}${meant}`);
  }
  // Not imported at the top, because `gateway help listen` must not load the SDK.
  const values = await import("../lib/escrow/values.ts");
  const { "device-hash": deviceHash, merchant } = flags;
  if (deviceHash !== undefined) requireValue("device-hash", deviceHash, values.deviceHash);
  if (merchant !== undefined) requireValue("merchant", merchant, values.address);
  return { types: types && [...new Set(types as EventType[])], deviceHash, merchant };
}

function requireValue(flag: string, text: string, schema: z.ZodType): void {
  const read = schema.safeParse(text);
  if (!read.success) throw new UsageError(`--${flag} ${read.error.issues[0]!.message}`);
}
