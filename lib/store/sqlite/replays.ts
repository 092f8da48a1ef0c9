import type { Row } from "../../runtime/sqlite.ts";
import { checkBatch, checkLimit } from "../bounds.ts";
import type { SqliteContext } from "./store.ts";
import type { SqliteOutbox } from "./outbox.ts";
import { StoreError } from "../store.ts";
import type { Replay, WebhookStore } from "../webhook_store.ts";

type ReplayMethods = Pick<WebhookStore, "insertReplay" | "listReplays" | "commitReplay">;

/** Replays under way. */
export function sqliteReplays({ database, location, run }: SqliteContext, outbox: SqliteOutbox): ReplayMethods {
  const insert = database.prepare(`
    INSERT INTO replay (id, subscription, after_position, up_to_position, position, deliveries, created_at_ms)
    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`);
  const list = database.prepare(`
    SELECT replay.*, subscription.id AS subscription_id FROM replay JOIN subscription ON number = subscription
    ORDER BY created_at_ms, replay.id LIMIT ?`);
  const readPosition = database.prepare("SELECT position FROM replay WHERE id = ?");
  const move = database.prepare("UPDATE replay SET position = ? WHERE id = ?");
  const remove = database.prepare("DELETE FROM replay WHERE id = ?");

  return {
    insertReplay: ({ id, subscriptionId, afterPosition, upToPosition, position, deliveries, createdAtMs }) =>
      run(() =>
        database.transaction(() => {
          const subscription = outbox.numberOf(subscriptionId);
          if (subscription === undefined) return;
          const { changes } = insert.run(
            id,
            subscription,
            afterPosition,
            upToPosition,
            position,
            deliveries,
            createdAtMs,
          );
          if (changes === 0) {
            throw new StoreError(
              "exists",
              `${location} holds a replay of the subscription "${subscriptionId}" already`,
            );
          }
        })
      ),
    listReplays: (limit) =>
      run(() => {
        checkLimit(limit, 100);
        return list.all(limit).map(toReplay);
      }),
    commitReplay: (step) =>
      run(() => {
        checkBatch(step.deliveries, 200);
        return database.transaction(() => {
          if (readPosition.get(step.id)?.position !== step.expectedPosition) return false;
          outbox.add(step.deliveries);
          if (step.done) remove.run(step.id);
          else move.run(step.position, step.id);
          return true;
        });
      }),
  };
}

function toReplay(row: Row): Replay {
  return {
    id: row.id as string,
    subscriptionId: row.subscription_id as string,
    afterPosition: row.after_position as string,
    upToPosition: row.up_to_position as string,
    position: row.position as string,
    deliveries: row.deliveries as number,
    createdAtMs: row.created_at_ms as number,
  };
}
