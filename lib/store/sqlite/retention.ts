import { createEventPruner, type PruneStep } from "../event_pruning.ts";
import { hasPassed } from "../fan_out_cursor.ts";
import type { SqliteContext } from "./store.ts";
import type { SqliteFanOutCursor } from "./late_events.ts";
import type { SqliteOutbox } from "./outbox.ts";
import type { WebhookStore } from "../webhook_store.ts";

type RetentionMethods = Pick<WebhookStore, "purgeDeleted" | "pruneEvents" | "prunedUpTo" | "pruneAttempts">;

/** Rows removed in one commit, so that the event loop is never held for long. */
const STEP = 200;
/** Events have five indexes, whose pages are all over the file. */
const EVENT_STEP = 100;
/** Events looked at in one go, to find those. */
const LOOK = 1_000;

/** Forgets what is no longer needed, a bounded piece at a time. */
export function sqliteRetention(
  { database, run }: SqliteContext,
  outbox: SqliteOutbox,
  cursor: SqliteFanOutCursor,
): RetentionMethods {
  const look = database.prepare(`
    SELECT position, ledger_closed_at,
      EXISTS (SELECT 1 FROM delivery
        WHERE delivery.position = event.position AND (due_at_ms IS NOT NULL OR created_at_ms >= ?)) OR
      EXISTS (SELECT 1 FROM late_event WHERE late_event.position = event.position) OR
      EXISTS (SELECT 1 FROM replay WHERE replay.position < event.position AND event.position <= up_to_position) AS is_needed
    FROM event WHERE position > ? ORDER BY position LIMIT ${LOOK}`);
  const removeEvent = database.prepare("DELETE FROM event WHERE position = ?");
  const removeDeliveries = database.prepare(`
    DELETE FROM delivery WHERE rowid IN (SELECT rowid FROM delivery WHERE position = ? LIMIT ${STEP})
    RETURNING subscription`);
  const readPruned = database.prepare("SELECT up_to FROM pruned");
  const writePruned = database.prepare(`
    INSERT INTO pruned (only_row, up_to) VALUES (1, ?) ON CONFLICT DO UPDATE SET up_to = max(up_to, excluded.up_to)`);
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

  /** Removes an event with its dead deliveries, a bounded number of them; answers how many these were. */
  function removeWithDead(position: string): { dead: number; isRemoved: boolean } {
    const dead = removeDeliveries.all(position);
    for (const [subscription, ofIt] of Map.groupBy(dead, (row) => row.subscription as number)) {
      outbox.tally(subscription, { pending: 0, dead: -ofIt.length });
    }
    const isRemoved = dead.length < STEP;
    if (isRemoved) removeEvent.run(position);
    return { dead: dead.length, isRemoved };
  }

  /** Of these, ascending, those that are old enough and need no longer be handed on, up to the bound of a commit. */
  function pruneSome(after: string, closedBefore: string): Awaited<ReturnType<PruneStep>> {
    const at = cursor.read();
    const events = look.all(Date.parse(closedBefore), after);
    let [removed, dead, upTo] = [0, 0, after];
    for (const { position, ledger_closed_at, is_needed } of events) {
      const isOld = (ledger_closed_at as string) < closedBefore;
      if (!isOld || !hasPassed(at, position as string)) return { removed, upTo, isEnd: true };
      if (is_needed === 0) {
        const went = removeWithDead(position as string);
        dead += went.dead;
        if (!went.isRemoved) return { removed, upTo, isEnd: false };
        writePruned.run(position as string);
        removed += 1;
      }
      upTo = position as string;
      if (removed === EVENT_STEP || dead >= STEP) return { removed, upTo, isEnd: false };
    }
    return { removed, upTo, isEnd: events.length < LOOK };
  }

  const pruneStep: PruneStep = (after, closedBefore) =>
    run(() => database.transaction(() => pruneSome(after, closedBefore)));

  return {
    pruneEvents: createEventPruner(pruneStep),
    prunedUpTo: () => run(() => readPruned.get()?.up_to as string | undefined),
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
