import type { Row } from "../../runtime/sqlite.ts";
import { checkBatch } from "../bounds.ts";
import { sameCursor } from "../fan_out_cursor.ts";
import type { SqliteContext } from "./store.ts";
import type { SqliteFanOutCursor } from "./late_events.ts";
import type { SqliteOutbox } from "./outbox.ts";
import type { Backlog, WebhookStore } from "../webhook_store.ts";

type DeliveryMethods = Pick<WebhookStore, "fanOutCursor" | "commitFanOut" | "backlog">;

/** What fan-out writes, and how much is owed. */
export function sqliteDeliveries(
  { database, run }: SqliteContext,
  outbox: SqliteOutbox,
  cursor: SqliteFanOutCursor,
): DeliveryMethods {
  const backlogOf = database.prepare(`
    SELECT pending, dead, oldest_created_at_ms FROM outbox
    WHERE subscription = (SELECT number FROM subscription WHERE id = ?)`);
  // One row a subscription, however much it is owed.
  const backlogOfAll = database.prepare(`
    SELECT coalesce(sum(pending), 0) AS pending, coalesce(sum(dead), 0) AS dead,
      min(oldest_created_at_ms) AS oldest_created_at_ms FROM outbox`);

  return {
    fanOutCursor: () => run(cursor.read),
    commitFanOut: (step) =>
      run(() => {
        checkBatch(step.deliveries, 200);
        return database.transaction(() => {
          if (!sameCursor(cursor.read(), step.expected)) return false;
          outbox.add(step.deliveries);
          cursor.write(step.cursor);
          return true;
        });
      }),
    backlog: (subscriptionId) =>
      run(() => toBacklog(subscriptionId === undefined ? backlogOfAll.get() : backlogOf.get(subscriptionId))),
  };
}

function toBacklog(row: Row | undefined): Backlog {
  if (!row) return { pending: 0, dead: 0, oldestCreatedAtMs: null };
  return {
    pending: row.pending as number,
    dead: row.dead as number,
    oldestCreatedAtMs: row.oldest_created_at_ms as number | null,
  };
}
