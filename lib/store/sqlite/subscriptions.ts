import type { NounDriver } from "../checked_store.ts";
import {
  secretsRow,
  SUBSCRIPTION_COLUMNS,
  type SubscriptionRow,
  subscriptionRow,
  toSubscription,
} from "../sql/subscriptions.ts";
import { StoreError, type SubscriptionStore } from "../store.ts";
import { ATTEMPTS_KEPT, type Secrets } from "../webhook.ts";
import { intentFence } from "./intents.ts";
import type { SqliteLog } from "./log.ts";
import { rowValues, type SqliteContext } from "./database.ts";

const INSERT_SUBSCRIPTION = `
  INSERT INTO subscription (${SUBSCRIPTION_COLUMNS})
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING number`;

/** Rows of failed deliveries, and of attempts, that one call of `purgeDeleted` removes. */
const PURGE_STEP = 300;

/** Subscriptions. The schema's triggers raise the version, and note what a delete leaves behind. */
export function sqliteSubscriptions(
  context: SqliteContext,
  log: SqliteLog,
): NounDriver<SubscriptionStore> {
  const { database, location } = context;
  const fence = intentFence(context);
  const insert = database.prepare<{ number: number }>(INSERT_SUBSCRIPTION);
  const begin = database.prepare("INSERT INTO progress (subscription, cursor) VALUES (?, ?)");
  const countOfKey = database.prepare<{ count: number }>("SELECT count(*) AS count FROM subscription WHERE key_id = ?");
  const select = database.prepare<SubscriptionRow>("SELECT * FROM subscription WHERE id = ?");
  const list = database.prepare<SubscriptionRow>("SELECT * FROM subscription WHERE id > ? ORDER BY id LIMIT ?");
  const listOfKey = database.prepare<SubscriptionRow>(
    "SELECT * FROM subscription WHERE key_id = ? AND id > ? ORDER BY id LIMIT ?",
  );
  const setSecrets = database.prepare(`
    UPDATE subscription SET secret = ?, previous_secret = ?, previous_secret_until_ms = ?, older_secret = ?,
      older_secret_until_ms = ? WHERE id = ? AND secret = ?`);
  const remove = database.prepare("DELETE FROM subscription WHERE id = ?");
  const version = database.prepare<{ version: number }>("SELECT version FROM subscriptions_version");
  const readCheck = database.prepare<{ text: string }>("SELECT text FROM secrets_check");
  const writeCheck = database.prepare("INSERT OR REPLACE INTO secrets_check (only_row, text) VALUES (1, ?)");
  const removeCheck = database.prepare("DELETE FROM secrets_check");
  const firstDeleted = database.prepare<{ number: number }>(
    "SELECT number FROM deleted_subscription ORDER BY number LIMIT 1",
  );
  const purgeFailed = database.prepare(`
    DELETE FROM failed_delivery WHERE subscription = ?1 AND sequence IN
      (SELECT sequence FROM failed_delivery WHERE subscription = ?1 LIMIT ${PURGE_STEP})`);
  const purgeAttempts = database.prepare(`
    DELETE FROM attempt WHERE place IN (
      SELECT place FROM attempt WHERE place >= ?1 * ${ATTEMPTS_KEPT} AND place < (?1 + 1) * ${ATTEMPTS_KEPT}
      LIMIT ${PURGE_STEP})`);
  const forgetDeleted = database.prepare("DELETE FROM deleted_subscription WHERE number = ?");

  function replaceSecrets(id: string, expected: string, secrets: Secrets): boolean {
    return setSecrets.run(...rowValues(secretsRow(secrets)), id, expected).changes > 0;
  }

  return {
    insert: (subscription, maxPerKey, claim) =>
      database.transaction(() => {
        const { id, keyId } = subscription;
        fence(claim);
        if (countOfKey.get(keyId)!.count >= maxPerKey) {
          throw new StoreError("exists", `${location}: the key "${keyId}" has ${maxPerKey} subscriptions already`);
        }
        const inserted = insert.get(...rowValues(subscriptionRow(subscription)));
        if (inserted === undefined) {
          throw new StoreError("exists", `${location} holds a subscription with the id "${id}" already`);
        }
        begin.run(inserted.number, log.bounds().last);
      }),
    get(id) {
      const row = select.get(id);
      return row && toSubscription(row);
    },
    list: ({ keyId, after = "", limit }) =>
      (keyId === undefined ? list.all(after, limit) : listOfKey.all(keyId, after, limit)).map(toSubscription),
    setSecrets: replaceSecrets,
    delete: (id) => database.transaction(() => remove.run(id).changes > 0),
    purgeDeleted: () =>
      database.transaction(() => {
        const deleted = firstDeleted.get();
        if (deleted === undefined) return false;
        const purged = [purgeFailed, purgeAttempts].map((purge) => purge.run(deleted.number).changes);
        if (purged.some((rows) => rows === PURGE_STEP)) return true;
        forgetDeleted.run(deleted.number);
        return firstDeleted.get() !== undefined;
      }),
    version: () => version.get()!.version,
    secretsCheck: () => readCheck.get()?.text,
    resealSecrets: ({ secrets, check }) =>
      database.transaction(() => {
        const rewritten = secrets.filter(({ id, expectedSecret, ...sealed }) =>
          replaceSecrets(id, expectedSecret, sealed)
        );
        if (check === null) removeCheck.run();
        else if (check !== undefined) writeCheck.run(check);
        return rewritten.length;
      }),
  };
}
