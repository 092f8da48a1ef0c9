import type { NounDriver } from "../checked_store.ts";
import { checkForget } from "../bounds.ts";
import type { EventStore } from "../store.ts";
import type { SqliteLog } from "./log.ts";
import type { SqliteContext } from "./database.ts";

/** `EventStore.forget`: deletes the oldest events with their failed deliveries. */
export function sqliteForget({ database }: SqliteContext, log: SqliteLog): NounDriver<EventStore>["forget"] {
  const removeEvents = database.prepare("DELETE FROM event WHERE sequence <= ?");
  const countFailed = database.prepare<{ subscription: number; state: string; failed: number }>(`
    SELECT subscription, state, count(*) AS failed FROM failed_delivery
    INDEXED BY failed_delivery_by_sequence WHERE sequence <= ? GROUP BY subscription, state`);
  const deleteFailed = database.prepare("DELETE FROM failed_delivery WHERE sequence <= ?");
  // A delivery in the state `retrying` is dead now. The others stay counted, without their rows.
  const count = database.prepare(`
    UPDATE progress SET retrying = retrying - ?2, dead = dead + ?2, rejected_kept = rejected_kept - ?3,
      dead_kept = dead_kept - ?4 WHERE subscription = ?1`);
  const cursorOf = database.prepare<{ subscription: number; cursor: number }>(`
    SELECT subscription, cursor FROM progress WHERE subscription = (SELECT number FROM subscription WHERE id = ?)`);
  const move = database.prepare(`
    UPDATE progress SET cursor = max(cursor, ?2), dead = dead + ?3 WHERE subscription = ?1`);

  return ({ upTo, undelivered, areMore = false }) =>
    database.transaction(() => {
      checkForget(upTo, log.bounds());
      const consumers = undelivered.flatMap(({ subscriptionId, cursor, events }) => {
        const found = cursorOf.get(subscriptionId);
        return found === undefined ? [] : [{ ...found, expected: cursor, events }];
      });
      if (consumers.some(({ cursor, expected }) => cursor !== expected)) return false;
      for (const { subscription, events } of consumers) move.run(subscription, upTo, events);
      if (areMore || upTo <= log.bounds().forgotten) return true;
      for (const { subscription, state, failed } of countFailed.all(upTo)) {
        const of = (wanted: string) => state === wanted ? failed : 0;
        count.run(subscription, of("retrying"), of("rejected"), of("dead"));
      }
      deleteFailed.run(upTo);
      removeEvents.run(upTo);
      log.forget(upTo);
      return true;
    });
}
