import { checkBatch, checkLimit } from "../bounds.ts";
import { hasPassed, raiseRereads } from "../fan_out_cursor.ts";
import type { SqliteContext } from "./store.ts";
import { eventColumns, toEvent } from "./history.ts";
import type { SqliteOutbox } from "./outbox.ts";
import type { StoredEvent } from "../store.ts";
import type { FanOutCursor, WebhookStore } from "../webhook_store.ts";

/** Where fan-out stands, to be read and written within a transaction. */
export interface SqliteFanOutCursor {
  read(): FanOutCursor | undefined;
  write(cursor: FanOutCursor): void;
}

export function sqliteFanOutCursor({ database }: Pick<SqliteContext, "database">): SqliteFanOutCursor {
  const read = database.prepare("SELECT cursor FROM fan_out");
  const write = database.prepare("INSERT OR REPLACE INTO fan_out (only_row, cursor) VALUES (1, ?)");
  return {
    read: () => {
      const row = read.get();
      return row && JSON.parse(row.cursor as string) as FanOutCursor;
    },
    write: (cursor) => void write.run(JSON.stringify(cursor)),
  };
}

/** Notes what becomes known late, to be called within a transaction. */
export interface SqliteLateness {
  /** Whether an event at this position may have been forgotten. */
  isPruned(position: string): boolean;
  /** Of these new events, those that are decoded and that fan-out has passed become late. */
  note(added: StoredEvent[]): void;
  /** Makes fan-out go back to its cursor. */
  raiseRereads(): void;
}

export function sqliteLateness({ database }: SqliteContext, cursor: SqliteFanOutCursor): SqliteLateness {
  const note = database.prepare("INSERT INTO late_event (position) VALUES (?) ON CONFLICT DO NOTHING");
  const isPruned = database.prepare("SELECT 1 FROM pruned WHERE up_to >= ?");
  return {
    isPruned: (position) => isPruned.get(position) !== undefined,
    note(added) {
      if (added.length === 0) return;
      const at = cursor.read();
      for (const { type, position } of added) if (type !== null && hasPassed(at, position)) note.run(position);
    },
    raiseRereads: () => cursor.write(raiseRereads(cursor.read())),
  };
}

/** What fan-out hands on beside its cursor. */
export function sqliteLateEvents(
  { database, run }: SqliteContext,
  outbox: SqliteOutbox,
): Pick<WebhookStore, "lateEvents" | "commitLateEvents"> {
  const list = database.prepare(`
    SELECT late_event.subscription_id, ${eventColumns("event")}
    FROM late_event JOIN event ON event.position = late_event.position ORDER BY late_event.position LIMIT ?`);
  const read = database.prepare("SELECT subscription_id FROM late_event WHERE position = ?");
  const remove = database.prepare("DELETE FROM late_event WHERE position = ?");
  const move = database.prepare("UPDATE late_event SET subscription_id = ? WHERE position = ?");

  return {
    lateEvents: (limit) =>
      run(() => {
        checkLimit(limit, 100);
        return list.all(limit).map((row) => {
          const event = toEvent(row);
          return row.subscription_id === null ? { event } : { event, subscriptionId: row.subscription_id as string };
        });
      }),
    commitLateEvents: ({ events, begunUpTo, deliveries }) =>
      run(() => {
        checkBatch(events, 100);
        checkBatch(deliveries, 200);
        return database.transaction(() => {
          const isExpected = ({ position, subscriptionId }: typeof events[number]) => {
            const held = read.get(position);
            return held !== undefined && (held.subscription_id ?? undefined) === subscriptionId;
          };
          if (!events.every(isExpected)) return false;
          outbox.add(deliveries);
          for (const { position } of events) {
            if (begunUpTo !== undefined && position === events.at(-1)!.position) move.run(begunUpTo, position);
            else remove.run(position);
          }
          return true;
        });
      }),
  };
}
