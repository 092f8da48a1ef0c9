import { Hono } from "hono";
import type { AppEnv } from "../exchange.ts";
import { assets } from "./assets.ts";
import { deliveries } from "./deliveries.ts";
import { devices } from "./devices.ts";
import { events } from "./events.ts";
import { health } from "./health.ts";
import { merchants } from "./merchants.ts";
import { network } from "./network.ts";
import { payments } from "./payments.ts";
import { status } from "./status.ts";
import { transactions } from "./transactions.ts";
import { wallets } from "./wallets.ts";
import { webhooks } from "./webhooks.ts";

/** Every noun of the surface, in the order of its description. */
export const NOUNS: readonly Hono<AppEnv>[] = [
  health,
  network,
  devices,
  wallets,
  merchants,
  payments,
  assets,
  events,
  transactions,
  webhooks,
  deliveries,
  status,
];
