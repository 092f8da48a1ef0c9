import type { Row } from "../../runtime/sqlite.ts";
import { checkBatch, checkLimit } from "../bounds.ts";
import type { SqliteContext } from "./store.ts";
import { StoreError } from "../store.ts";
import type { FormerSecret, Secrets, Subscription, WebhookStore } from "../webhook_store.ts";

type SubscriptionMethods = Pick<
  WebhookStore,
  | "insertSubscription"
  | "getSubscription"
  | "listSubscriptions"
  | "setSubscriptionSecrets"
  | "deleteSubscription"
  | "subscriptionsVersion"
  | "secretsCheck"
  | "resealSecrets"
>;

/** Subscriptions. The schema's triggers raise the version, open the outbox, and note what a delete leaves behind. */
export function sqliteSubscriptions({ database, location, run }: SqliteContext): SubscriptionMethods {
  const insert = database.prepare(`
    INSERT INTO subscription (id, key_id, url, types, device_hash, merchant, secret, previous_secret,
      previous_secret_until_ms, older_secret, older_secret_until_ms, created_at, start_position)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`);
  const countOfKey = database.prepare("SELECT count(*) AS count FROM subscription WHERE key_id = ?");
  const select = database.prepare("SELECT * FROM subscription WHERE id = ?");
  const list = database.prepare("SELECT * FROM subscription WHERE id > ? ORDER BY id LIMIT ?");
  const listOfKey = database.prepare("SELECT * FROM subscription WHERE key_id = ? AND id > ? ORDER BY id LIMIT ?");
  const setSecrets = database.prepare(`
    UPDATE subscription SET secret = ?, previous_secret = ?, previous_secret_until_ms = ?, older_secret = ?,
      older_secret_until_ms = ? WHERE id = ? AND secret = ?`);
  const remove = database.prepare("DELETE FROM subscription WHERE id = ?");
  const version = database.prepare("SELECT version FROM subscriptions_version");
  const readCheck = database.prepare("SELECT text FROM secrets_check");
  const writeCheck = database.prepare("INSERT OR REPLACE INTO secrets_check (only_row, text) VALUES (1, ?)");
  const removeCheck = database.prepare("DELETE FROM secrets_check");

  function replaceSecrets(id: string, expected: string, { secret, previousSecret, olderSecret }: Secrets): boolean {
    const former = [...columnsOf(previousSecret), ...columnsOf(olderSecret)];
    return setSecrets.run(secret, ...former, id, expected).changes > 0;
  }

  return {
    insertSubscription: (subscription, maxPerKey) =>
      run(() => {
        const { id, keyId, url, types, deviceHash, merchant, secret } = subscription;
        database.transaction(() => {
          if (countOfKey.get(keyId)!.count as number >= maxPerKey) {
            throw new StoreError("exists", `${location}: the key "${keyId}" has ${maxPerKey} subscriptions already`);
          }
          const { changes } = insert.run(
            id,
            keyId,
            url,
            types?.join(",") ?? null,
            deviceHash,
            merchant,
            secret,
            ...columnsOf(subscription.previousSecret),
            ...columnsOf(subscription.olderSecret),
            subscription.createdAt,
            subscription.startPosition,
          );
          if (changes === 0) {
            throw new StoreError("exists", `${location} holds a subscription with the id "${id}" already`);
          }
        });
      }),
    getSubscription: (id) =>
      run(() => {
        const row = select.get(id);
        return row && toSubscription(row);
      }),
    listSubscriptions: ({ keyId, after = "", limit }) =>
      run(() => {
        checkLimit(limit, 1_000);
        const rows = keyId === undefined ? list.all(after, limit) : listOfKey.all(keyId, after, limit);
        return rows.map(toSubscription);
      }),
    setSubscriptionSecrets: (id, expectedSecret, secrets) => run(() => replaceSecrets(id, expectedSecret, secrets)),
    deleteSubscription: (id) => run(() => database.transaction(() => remove.run(id).changes > 0)),
    subscriptionsVersion: () => run(() => version.get()!.version as number),
    secretsCheck: () => run(() => readCheck.get()?.text as string | undefined),
    resealSecrets: ({ secrets, check }) =>
      run(() => {
        checkBatch(secrets, 100);
        return database.transaction(() => {
          const rewritten = secrets.filter(({ id, expectedSecret, ...sealed }) =>
            replaceSecrets(id, expectedSecret, sealed)
          );
          if (check === null) removeCheck.run();
          else if (check !== undefined) writeCheck.run(check);
          return rewritten.length;
        });
      }),
  };
}

function columnsOf(former: FormerSecret | null = null): [string | null, number | null] {
  return [former?.secret ?? null, former?.untilMs ?? null];
}

function formerSecret(secret: Row[string], untilMs: Row[string]): FormerSecret | null {
  return secret === null ? null : { secret: secret as string, untilMs: untilMs as number };
}

function toSubscription(row: Row): Subscription {
  const types = row.types as string | null;
  const olderSecret = formerSecret(row.older_secret!, row.older_secret_until_ms!);
  return {
    id: row.id as string,
    keyId: row.key_id as string,
    url: row.url as string,
    types: types === "" ? [] : types?.split(",") ?? null,
    deviceHash: row.device_hash as string | null,
    merchant: row.merchant as string | null,
    secret: row.secret as string,
    previousSecret: formerSecret(row.previous_secret!, row.previous_secret_until_ms!),
    ...(olderSecret === null ? {} : { olderSecret }),
    createdAt: row.created_at as string,
    startPosition: row.start_position as string,
  };
}
