import type { SqliteDatabase } from "../../runtime/sqlite.ts";
import { heightOf } from "../event.ts";
import { ATTEMPTS_KEPT, FAILED_KEPT } from "../webhook.ts";
import { columnsOfPosition } from "./migrate_events.ts";
import { rowValues } from "./row_values.ts";

/** How far fan-out had come in schema 3: all for the events before the position, those up to `subscriptionId` for it. */
interface FanOutCursor {
  position: string;
  subscriptionId?: string;
}

/** The columns that name the event at a position, of a table with that name. */
const AT_POSITION = `
  event.height = (CAST(substr(former.position, 1, 4) AS INTEGER) << 32) + (CAST(substr(former.position, 6, 19) AS INTEGER) >> 32)
  AND event.place = CAST(substr(former.position, 6, 19) AS INTEGER) & 4294967295
  AND event.event_index = CAST(substr(former.position, 26) AS INTEGER)`;

/**
 * Turns what fan-out had handed on into cursors and failed deliveries: whatever a subscription was owed it is owed still.
 * @param inOrder the sequence of the last event that lies where its position says
 */
export function migrateReaders(database: SqliteDatabase, inOrder: number): void {
  const upTo = sequenceUpTo(database, inOrder);
  database.exec(`
    INSERT INTO subscription SELECT number, id, key_id, url, types, device_hash, merchant, 0, secret, previous_secret,
      previous_secret_until_ms, older_secret, older_secret_until_ms, created_at, 0 FROM former_subscription;
    UPDATE subscriptions_version SET version = 1 + (SELECT version FROM former_subscriptions_version)`);
  const subscriptions = database.prepare<{ number: number; id: string; start_position: string }>(
    "SELECT number, id, start_position FROM former_subscription",
  );
  const start = database.prepare("UPDATE subscription SET start_height = ? WHERE number = ?");
  const begin = database.prepare("INSERT INTO progress (subscription, cursor) VALUES (?, ?)");
  const cursorOf = formerCursors(database, upTo);
  for (const { number, id, start_position } of subscriptions.all()) {
    start.run(heightAfter(start_position), number);
    begin.run(number, cursorOf(id));
    migrateAttempts(database, number);
  }
  migrateDeliveries(database);
  migrateReplays(database, upTo);
}

/** The first height that has something after this position: the next one when it is the end of a ledger. */
function heightAfter(position: string): number {
  const { height, place } = columnsOfPosition(position);
  return place === 0xffff_ffff ? height + 1 : height;
}

/** The sequence of the last event up to a position; what was forgotten when there is none. */
function sequenceUpTo(database: SqliteDatabase, inOrder: number): (position: string) => number {
  const last = database.prepare<{ sequence: number }>(`
    SELECT sequence FROM event WHERE (height, place, event_index) <= (?, ?, ?) AND sequence <= ?
    ORDER BY height DESC, place DESC, event_index DESC LIMIT 1`);
  const { forgotten } = database.prepare<{ forgotten: number }>("SELECT forgotten FROM log").get()!;
  return (position) => last.get(...rowValues(columnsOfPosition(position)), inOrder)?.sequence ?? forgotten;
}

/** Those that had not got the event that fan-out stood in the middle of stand before it. */
function formerCursors(database: SqliteDatabase, upTo: (position: string) => number): (id: string) => number {
  const row = database.prepare<{ cursor: string }>("SELECT cursor FROM former_fan_out").get();
  const { position = "", subscriptionId: last } = row === undefined ? {} : JSON.parse(row.cursor) as FanOutCursor;
  const sequence = upTo(position);
  const isAtEvent = database.prepare(`
    SELECT 1 FROM (SELECT ? AS position) AS former JOIN event ON ${AT_POSITION} WHERE event.sequence = ?`)
    .get(position, sequence) !== undefined;
  return (id) => isAtEvent && last !== undefined && id > last ? sequence - 1 : sequence;
}

/** The newest attempts, in their order; those of test events had no delivery. */
function migrateAttempts(database: SqliteDatabase, subscription: number): void {
  const { changes } = database.prepare(`
    INSERT INTO attempt
    SELECT ?1 * ${ATTEMPTS_KEPT} + ordinal % ${ATTEMPTS_KEPT}, ordinal,
      CASE WHEN instr(delivery_id, ':') > 0 THEN substr(delivery_id, instr(delivery_id, ':') + 1) END,
      event_id, event_type, CASE WHEN delivery_id IS NULL THEN 0 ELSE number END, at_ms, duration_ms,
      CASE outcome WHEN 'ended' THEN 'rejected' ELSE outcome END, status_code, error,
      CASE outcome WHEN 'delivered' THEN NULL ELSE response_body END, next_attempt_at_ms
    FROM (SELECT *, row_number() OVER (ORDER BY id) AS ordinal FROM
      (SELECT * FROM former_attempt WHERE subscription = ?1 ORDER BY id DESC LIMIT ${ATTEMPTS_KEPT}))`).run(
    subscription,
  );
  database.prepare("UPDATE progress SET attempts = ? WHERE subscription = ?").run(changes, subscription);
}

/**
 * One for each subscription and event: of several (a replay's beside it) the one that is due first, a dead one last. What
 * lies after the subscription's cursor is delivered by that.
 */
function migrateDeliveries(database: SqliteDatabase): void {
  database.exec(`
    INSERT OR REPLACE INTO failed_delivery (subscription, sequence, state, attempts, due_at_ms, failed_at_ms)
    SELECT former.subscription, event.sequence, iif(due_at_ms IS NULL, 'dead', 'retrying'), former.attempts, due_at_ms,
      created_at_ms
    FROM former_delivery AS former
      JOIN subscription ON subscription.number = former.subscription
      JOIN progress ON progress.subscription = former.subscription
      CROSS JOIN event ON ${AT_POSITION}
    WHERE event.sequence <= progress.cursor OR event.height < subscription.start_height
    ORDER BY due_at_ms IS NOT NULL, due_at_ms DESC;

    UPDATE progress SET
      retrying = (SELECT count(*) FROM failed_delivery AS failed
        WHERE failed.subscription = progress.subscription AND state = 'retrying'),
      dead = (SELECT count(*) FROM failed_delivery AS failed
        WHERE failed.subscription = progress.subscription AND state = 'dead');
    UPDATE progress SET dead_kept = min(dead, ${FAILED_KEPT})`);
  const tooMany = database.prepare<{ subscription: number; dead: number }>(
    "SELECT subscription, dead FROM progress WHERE dead > dead_kept",
  );
  const removeOldest = database.prepare(`
    DELETE FROM failed_delivery WHERE subscription = ?1 AND sequence IN (
      SELECT sequence FROM failed_delivery WHERE subscription = ?1 AND state = 'dead' ORDER BY sequence LIMIT ?2)`);
  for (const { subscription, dead } of tooMany.all()) removeOldest.run(subscription, dead - FAILED_KEPT);
}

/** One whose end is not scanned yet ends with the log. */
function migrateReplays(database: SqliteDatabase, upTo: (position: string) => number): void {
  const replays = database.prepare<{
    id: string;
    subscription: number;
    after_position: string;
    up_to_position: string;
    position: string;
    deliveries: number;
    created_at_ms: number;
  }>("SELECT * FROM former_replay WHERE subscription IN (SELECT number FROM subscription)");
  const insert = database.prepare(`
    INSERT INTO replay (id, subscription, from_height, to_height, cursor, end_sequence, deliveries, at_least, created_at_ms)
    VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)`);
  const watcher = database.prepare<{ state: string }>("SELECT state FROM watcher").get();
  const { epoch = 0, scannedLedger = 0 } = watcher === undefined ? {} : JSON.parse(watcher.state);
  for (const { id, subscription, after_position, up_to_position, position, ...rest } of replays.all()) {
    const { height: toHeight } = columnsOfPosition(up_to_position);
    const isScanned = toHeight <= heightOf(epoch, scannedLedger);
    insert.run(
      id,
      subscription,
      heightAfter(after_position),
      toHeight,
      upTo(position),
      isScanned ? upTo(up_to_position) : null,
      rest.deliveries,
      rest.created_at_ms,
    );
  }
}
