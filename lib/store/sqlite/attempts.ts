import type { Row } from "../../runtime/sqlite.ts";
import { checkLimit, END_OF_POSITIONS } from "../bounds.ts";
import type { SqliteContext } from "./store.ts";
import type { SqliteOutbox } from "./outbox.ts";
import type { Attempt, AttemptOutcome, WebhookStore } from "../webhook_store.ts";

/** Writes an attempt, to be called within a transaction; one whose id is there already is left as it is. */
export type NoteAttempt = (subscription: number, attempt: Attempt) => void;

type AttemptMethods = Pick<WebhookStore, "recordAttempt" | "listAttempts">;

/** Attempts that were made. */
export function sqliteAttempts(
  { database, run }: SqliteContext,
  outbox: SqliteOutbox,
): { methods: AttemptMethods; note: NoteAttempt } {
  const insert = database.prepare(`
    INSERT INTO attempt (subscription, id, delivery_id, event_id, event_type, number, at_ms, duration_ms, outcome,
      status_code, error, response_body, next_attempt_at_ms)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (subscription, id) DO NOTHING`);
  const list = database.prepare(`
    SELECT * FROM attempt WHERE subscription = (SELECT number FROM subscription WHERE id = ?) AND id < ?
    ORDER BY id DESC LIMIT ?`);

  const note: NoteAttempt = (subscription, attempt) =>
    void insert.run(
      subscription,
      attempt.id,
      attempt.deliveryId,
      attempt.eventId,
      attempt.eventType,
      attempt.number,
      attempt.atMs,
      attempt.durationMs,
      attempt.outcome,
      attempt.statusCode,
      attempt.error,
      attempt.responseBody,
      attempt.nextAttemptAtMs,
    );

  return {
    note,
    methods: {
      recordAttempt: (attempt) =>
        run(() =>
          database.transaction(() => {
            const subscription = outbox.numberOf(attempt.subscriptionId);
            if (subscription !== undefined) note(subscription, attempt);
          })
        ),
      listAttempts: (subscriptionId, { before = END_OF_POSITIONS, limit }) =>
        run(() => {
          checkLimit(limit, 200);
          return list.all(subscriptionId, before, limit).map((row) => toAttempt(subscriptionId, row));
        }),
    },
  };
}

function toAttempt(subscriptionId: string, row: Row): Attempt {
  return {
    id: row.id as string,
    subscriptionId,
    deliveryId: row.delivery_id as string | null,
    eventId: row.event_id as string,
    eventType: row.event_type as string,
    number: row.number as number,
    atMs: row.at_ms as number,
    durationMs: row.duration_ms as number,
    outcome: row.outcome as AttemptOutcome,
    statusCode: row.status_code as number | null,
    error: row.error as string | null,
    responseBody: row.response_body as string | null,
    nextAttemptAtMs: row.next_attempt_at_ms as number | null,
  };
}
