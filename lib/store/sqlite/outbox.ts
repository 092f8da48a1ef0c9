import type { SqliteContext } from "./store.ts";
import type { Delivery } from "../webhook_store.ts";

/** Writes to what subscriptions are owed, to be called within a transaction. */
export interface SqliteOutbox {
  /** The number that stands for this subscription in other tables, undefined when it is gone. */
  numberOf(subscriptionId: string): number | undefined;
  /** Adds deliveries; passes over ids that are there already, and deleted subscriptions. */
  add(deliveries: Delivery[]): void;
  /** Notes how the counts changed, and what is first now. To be called after deliveries were written. */
  tally(subscription: number, change: { pending: number; dead: number }): void;
}

export function sqliteOutbox({ database }: Pick<SqliteContext, "database">): SqliteOutbox {
  const find = database.prepare("SELECT number FROM subscription WHERE id = ?");
  const insert = database.prepare(`
    INSERT INTO delivery (subscription, id, position, attempts, due_at_ms, created_at_ms)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id, subscription) DO NOTHING`);
  const count = database.prepare(`
    UPDATE outbox SET pending = pending + ?, dead = dead + ?,
      due_at_ms = (SELECT due_at_ms FROM delivery
        WHERE delivery.subscription = outbox.subscription AND due_at_ms IS NOT NULL ORDER BY due_at_ms LIMIT 1),
      oldest_created_at_ms = (SELECT created_at_ms FROM delivery
        WHERE delivery.subscription = outbox.subscription AND due_at_ms IS NOT NULL ORDER BY created_at_ms LIMIT 1)
    WHERE subscription = ?`);

  const numberOf: SqliteOutbox["numberOf"] = (id) => find.get(id)?.number as number | undefined;
  const tally: SqliteOutbox["tally"] = (subscription, { pending, dead }) => void count.run(pending, dead, subscription);

  return {
    numberOf,
    tally,
    add(deliveries) {
      for (const [subscriptionId, owed] of Map.groupBy(deliveries, (delivery) => delivery.subscriptionId)) {
        const subscription = numberOf(subscriptionId);
        if (subscription === undefined) continue;
        const added = { pending: 0, dead: 0 };
        for (const { id, position, attempts, dueAtMs, createdAtMs } of owed) {
          const { changes } = insert.run(subscription, id, position, attempts, dueAtMs, createdAtMs);
          added[dueAtMs === null ? "dead" : "pending"] += changes;
        }
        tally(subscription, added);
      }
    },
  };
}
