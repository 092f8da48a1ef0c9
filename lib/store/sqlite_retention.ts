import { createEventPruner, type PruneStep } from "./event_pruning.ts";
import { hasPassed } from "./fan_out_cursor.ts";
import type { SqliteContext } from "./sqlite.ts";
import type { FanOutCursor, WebhookStore } from "./webhook_store.ts";

type RetentionMethods = Pick<WebhookStore, "purgeDeleted" | "pruneEvents" | "pruneAttempts">;

/** Rows removed in one commit, so that the event loop is never held for long. */
const STEP = 200;
/** Events have five indexes, whose pages are all over the file. */
const EVENT_STEP = 100;
/** Events looked at in one go, to find those. */
const LOOK = 1_000;

/** Forgets what is no longer needed, a bounded piece at a time. */
export function sqliteRetention({ database, run }: SqliteContext): RetentionMethods {
  const readCursor = database.prepare("SELECT cursor FROM fan_out");
  const look = database.prepare(`
    SELECT position, ledger_closed_at,
      EXISTS (SELECT 1 FROM delivery WHERE delivery.position = event.position) OR
      EXISTS (SELECT 1 FROM replay WHERE replay.position < event.position AND event.position <= up_to_position) AS is_needed
    FROM event WHERE position > ? ORDER BY position LIMIT ${LOOK}`);
  const removeEvent = database.prepare("DELETE FROM event WHERE position = ?");
  const pruneAttempts = database.prepare(`
    DELETE FROM attempt WHERE rowid IN (SELECT rowid FROM attempt WHERE at_ms < ? ORDER BY at_ms LIMIT ${STEP})`);
  const firstDeleted = database.prepare("SELECT number FROM deleted_subscription ORDER BY number LIMIT 1");
  const purges = ["delivery WHERE due_at_ms IS NOT NULL AND", "delivery WHERE due_at_ms IS NULL AND", "attempt WHERE"]
    .map((from) => {
      const [table] = from.split(" ");
      return database.prepare(
        `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${from} subscription = ? LIMIT ${STEP})`,
      );
    });
  const forgetDeleted = database.prepare("DELETE FROM deleted_subscription WHERE number = ?");

  const pruneStep: PruneStep = (after, closedBefore) =>
    run(() =>
      database.transaction(() => {
        const row = readCursor.get();
        const cursor = row && JSON.parse(row.cursor as string) as FanOutCursor;
        const events = look.all(after);
        let [removed, upTo] = [0, after];
        for (const { position, ledger_closed_at, is_needed } of events) {
          const isOld = (ledger_closed_at as string) < closedBefore;
          if (!isOld || !hasPassed(cursor, position as string)) return { removed, upTo, isEnd: true };
          upTo = position as string;
          if (is_needed === 0) removed += removeEvent.run(upTo).changes;
          if (removed === EVENT_STEP) return { removed, upTo, isEnd: false };
        }
        return { removed, upTo, isEnd: events.length < LOOK };
      })
    );

  return {
    pruneEvents: createEventPruner(pruneStep),
    pruneAttempts: (beforeMs) => run(() => pruneAttempts.run(beforeMs).changes),
    purgeDeleted: () =>
      run(() =>
        database.transaction(() => {
          const deleted = firstDeleted.get()?.number as number | undefined;
          if (deleted === undefined) return false;
          let isEmpty = true;
          for (const purge of purges) if (purge.run(deleted).changes === STEP) isEmpty = false;
          if (isEmpty) forgetDeleted.run(deleted);
          return !isEmpty || firstDeleted.get() !== undefined;
        })
      ),
  };
}
