import type { NounDriver } from "../checked_store.ts";
import { StoreError, type SubscriptionStore } from "../store.ts";
import type { FormerSecret, Secrets, Subscription } from "../webhook.ts";
import { type Parameter, send, type SqlContext, type Statement } from "./database.ts";
import type { SqlIntents } from "./intents.ts";

interface SecretsRow {
  secret: string;
  previous_secret: string | null;
  previous_secret_until_ms: number | null;
  older_secret: string | null;
  older_secret_until_ms: number | null;
}

export interface SubscriptionRow extends SecretsRow {
  id: string;
  key_id: string;
  url: string;
  /** Comma-separated. Null: all. */
  types: string | null;
  device_hash: string | null;
  merchant: string | null;
  /** 0 or 1 in SQLite. */
  ordered: boolean | 0 | 1;
  created_at: string;
  start_height: number;
}

const SECRETS_COLUMNS = "secret, previous_secret, previous_secret_until_ms, older_secret, older_secret_until_ms";
const SUBSCRIPTION_COLUMNS =
  `id, key_id, url, types, device_hash, merchant, ordered, ${SECRETS_COLUMNS}, created_at, start_height`;

function secretsRow({ secret, previousSecret, olderSecret }: Secrets): SecretsRow {
  return {
    secret,
    previous_secret: previousSecret?.secret ?? null,
    previous_secret_until_ms: previousSecret?.untilMs ?? null,
    older_secret: olderSecret?.secret ?? null,
    older_secret_until_ms: olderSecret?.untilMs ?? null,
  };
}

function subscriptionRow(subscription: Subscription): SubscriptionRow {
  return {
    id: subscription.id,
    key_id: subscription.keyId,
    url: subscription.url,
    types: subscription.types?.join(",") ?? null,
    device_hash: subscription.deviceHash,
    merchant: subscription.merchant,
    ordered: subscription.ordered,
    ...secretsRow(subscription),
    created_at: subscription.createdAt,
    start_height: subscription.startHeight,
  };
}

function formerSecret(secret: string | null, untilMs: number | null): FormerSecret | null {
  return secret === null ? null : { secret, untilMs: untilMs! };
}

export function toSubscription(row: SubscriptionRow): Subscription {
  const olderSecret = formerSecret(row.older_secret, row.older_secret_until_ms);
  return {
    id: row.id,
    keyId: row.key_id,
    url: row.url,
    types: row.types === "" ? [] : row.types?.split(",") ?? null,
    deviceHash: row.device_hash,
    merchant: row.merchant,
    ordered: Boolean(row.ordered),
    secret: row.secret,
    previousSecret: formerSecret(row.previous_secret, row.previous_secret_until_ms),
    ...(olderSecret === null ? {} : { olderSecret }),
    createdAt: row.created_at,
    startHeight: row.start_height,
  };
}

/** One call of `purgeDeleted` removes so many rows of failed deliveries, and as many attempts. */
export const PURGE_STEP = 300;

const GIVEN_SECRETS =
  "of_id text, expected text, secret text, previous_secret text, previous_secret_until_ms bigint, " +
  "older_secret text, older_secret_until_ms bigint";

/** The differences between the two drivers. */
interface SubscriptionParts {
  /** Lets only one transaction at a time insert subscriptions, where the database does not. */
  lockInserts?: Statement<never>;
  /** Removes at most `PURGE_STEP` attempts of the subscription with the number `$1`. */
  purgeAttempts: string;
}

/** Subscriptions. Every statement that changes one raises the version in the same commit. */
export function sqlSubscriptions(
  { sql, location }: SqlContext,
  { intents, lockInserts, purgeAttempts }: SubscriptionParts & { intents: SqlIntents },
): NounDriver<SubscriptionStore> {
  const { prefix, prepare, versions } = sql;
  const table = `${prefix}subscription`;
  const countOfKey = prepare<{ n: number }>(`SELECT count(*) AS n FROM ${table} WHERE key_id = $1`);
  const insert = prepare<{ number: number }>(
    `INSERT INTO ${table} (${SUBSCRIPTION_COLUMNS})
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT (id) DO NOTHING RETURNING number`,
  );
  const begin = prepare(`INSERT INTO ${prefix}progress (subscription, cursor) VALUES ($1, ${sql.logEnd})`);
  const selectWhere = (where: string) =>
    prepare<SubscriptionRow>(`SELECT ${SUBSCRIPTION_COLUMNS} FROM ${table} WHERE ${where}`);
  const select = selectWhere("id = $1");
  const list = selectWhere("id > $1 ORDER BY id LIMIT $2");
  const listOfKey = selectWhere("key_id = $3 AND id > $1 ORDER BY id LIMIT $2");
  const setSecrets = prepare(versions.raising(
    "subscriptions",
    `UPDATE ${table} AS kept SET secret = given.secret, previous_secret = given.previous_secret,
      previous_secret_until_ms = given.previous_secret_until_ms, older_secret = given.older_secret,
      older_secret_until_ms = given.older_secret_until_ms
    FROM ${sql.given(GIVEN_SECRETS)} WHERE kept.id = given.of_id AND kept.secret = given.expected RETURNING id`,
  ));
  const remove = prepare(versions.deleteSubscriptions("id = $1"));
  const version = prepare<{ version: number }>(versions.read("subscriptions"));
  const readCheck = prepare<{ text: string }>(`SELECT text FROM ${prefix}secrets_check`);
  const removeCheck = prepare(`DELETE FROM ${prefix}secrets_check`);
  const writeCheck = prepare(
    `INSERT INTO ${prefix}secrets_check (only_row, text) VALUES (1, $1)
    ON CONFLICT (only_row) DO UPDATE SET text = excluded.text`,
  );
  const deleted = prepare<{ number: number }>(
    `SELECT number FROM ${prefix}deleted_subscription ORDER BY number LIMIT 2 ${sql.lock("UPDATE")}`,
  );
  const purges = [
    prepare(
      `DELETE FROM ${prefix}failed_delivery WHERE subscription = $1 AND sequence IN (SELECT sequence
        FROM ${prefix}failed_delivery WHERE subscription = $1 ORDER BY sequence LIMIT ${PURGE_STEP})`,
    ),
    prepare(purgeAttempts),
  ];
  // A replay that was inserted while its subscription was deleted.
  const purgeReplay = prepare(`DELETE FROM ${prefix}replay WHERE subscription = $1`);
  const forgetDeleted = prepare(`DELETE FROM ${prefix}deleted_subscription WHERE number = $1`);

  return {
    insert: (subscription, maxPerKey, intent) =>
      sql.transaction(function* () {
        const { id, keyId } = subscription;
        const verdict = yield* intents.add(intent);
        if (verdict !== "written") return verdict;
        if (lockInserts !== undefined) yield* send(lockInserts);
        const [[counted]] = yield* send(countOfKey(keyId));
        if (counted!.n >= maxPerKey) {
          throw new StoreError("exists", `${location}: the key "${keyId}" has ${maxPerKey} subscriptions already`);
        }
        const [[inserted]] = yield* send(insert(...Object.values<Parameter>({ ...subscriptionRow(subscription) })));
        if (inserted === undefined) {
          throw new StoreError("exists", `${location} holds a subscription with the id "${id}" already`);
        }
        yield* send(begin(inserted.number));
        return verdict;
      }),
    async get(id) {
      const [row] = await sql.read(select(id));
      return row && toSubscription(row);
    },
    async list({ keyId, after = "", limit }) {
      const found = keyId === undefined ? list(after, limit) : listOfKey(after, limit, keyId);
      return (await sql.read(found)).map(toSubscription);
    },
    delete: async (id) => (await sql.write(remove(id))).count > 0,
    purgeDeleted: () =>
      sql.transaction(function* () {
        const [[first, another]] = yield* send(deleted());
        if (first === undefined) return false;
        const purged = yield* send(...purges.map((purge) => purge(first.number)));
        if (purged.some(({ count }) => count === PURGE_STEP)) return true;
        yield* send(purgeReplay(first.number), forgetDeleted(first.number));
        return another !== undefined;
      }),
    version: async () => (await sql.read(version()))[0]!.version,
    secretsCheck: async () => (await sql.read(readCheck()))[0]?.text,
    setSecrets: ({ secrets, check }) =>
      sql.transaction(function* () {
        const rows = secrets.map(({ id, expectedSecret, ...rest }) => {
          return { of_id: id, expected: expectedSecret, ...secretsRow(rest) };
        });
        const [{ count }] = yield* send(
          setSecrets(rows),
          ...(check === undefined ? [] : [check === null ? removeCheck() : writeCheck(check)]),
        );
        return count;
      }),
  };
}
