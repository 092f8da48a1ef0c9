import { randomBytes } from "node:crypto";
import { setTimeout as passed } from "node:timers/promises";
import { randomBase62 } from "../../random.ts";
import type { PostgresDatabase } from "./database.ts";

/** One for all stores of a database: who commits while another does so waits for it, so it is never part of other work. */
const CHANNEL = "payment_escrow_gateway";
const TELL_EVERY_MS = 50;

/** Gateways tell one another that the log has grown; what is missed is found by asking, as on any store. */
export interface PostgresNews {
  /** Tells the others soon, and no more often than every 50 ms. */
  tell(): void;
  /** Calls it when another has told. */
  listen(onNews: () => void): void;
}

export function postgresNews(database: PostgresDatabase, prefix: string): PostgresNews {
  const own = `${prefix} ${randomBase62(12, randomBytes)}`;
  let isUntold = false;
  let telling: Promise<void> | undefined;

  async function tellUntold(): Promise<void> {
    while (isUntold) {
      isUntold = false;
      await database.write("SELECT pg_notify($1, $2)", [CHANNEL, own]);
      await passed(TELL_EVERY_MS);
    }
  }

  return {
    tell() {
      isUntold = true;
      telling ??= tellUntold().catch(() => {}).finally(() => telling = undefined);
    },
    listen: (onNews) =>
      database.listen(CHANNEL, (payload) => {
        if (payload !== own && payload.startsWith(`${prefix} `)) onNews();
      }),
  };
}
