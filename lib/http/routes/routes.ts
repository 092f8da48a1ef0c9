import { Hono } from "hono";
import type { AppEnv } from "../request_context.ts";
import { cards } from "./cards.ts";
import { deliveries } from "./deliveries.ts";
import { events } from "./events.ts";
import { network } from "./network.ts";
import { payments } from "./payments.ts";
import { reconciliation } from "./reconciliation.ts";
import { status } from "./status.ts";
import { transactions } from "./transactions.ts";
import { webhooks } from "./webhooks.ts";

/** The endpoints by noun, in the order of the API description. */
export const NOUNS: readonly Hono<AppEnv>[] = [
  network,
  cards,
  payments,
  events,
  transactions,
  webhooks,
  deliveries,
  reconciliation,
  status,
];
