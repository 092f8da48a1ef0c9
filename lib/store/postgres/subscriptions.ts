import type { NounDriver } from "../checked_store.ts";
import { type IntentClaim, intentFenced } from "../intent.ts";
import { StoreError, type SubscriptionStore } from "../store.ts";
import type { FormerSecret, Secrets, Subscription } from "../webhook.ts";
import { givenRows, type PostgresDatabase, type Queries } from "./database.ts";
import { holdClaim } from "./intents.ts";
import { newestRow } from "./log.ts";
import type { PostgresContext } from "./store.ts";

export interface SubscriptionRow {
  /** Stands for the id in other tables. */
  number: number;
  id: string;
  key_id: string;
  url: string;
  /** Comma-separated; null: all. */
  types: string | null;
  device_hash: string | null;
  merchant: string | null;
  ordered: boolean;
  secret: string;
  previous_secret: string | null;
  previous_secret_until_ms: number | null;
  older_secret: string | null;
  older_secret_until_ms: number | null;
  created_at: string;
  start_height: number;
}

const SECRETS = "secret, previous_secret, previous_secret_until_ms, older_secret, older_secret_until_ms";
export const SUBSCRIPTION_COLUMNS =
  `id, key_id, url, types, device_hash, merchant, ordered, ${SECRETS}, created_at, start_height`;

/** Rows of failed deliveries, and of attempts, that one call of `purgeDeleted` removes. */
const PURGE_STEP = 300;

/** Raises the version where the rows named are any. */
export function raiseVersion(prefix: string, rows?: string): string {
  const where = rows === undefined ? "" : ` AND EXISTS (SELECT 1 FROM ${rows})`;
  return `UPDATE ${prefix}version SET version = version + 1 WHERE name = 'subscriptions'${where}`;
}

export async function versionOf(queries: Queries, prefix: string, name: "keys" | "subscriptions"): Promise<number> {
  const [row] = await queries.read<{ version: number }>(`SELECT version FROM ${prefix}version WHERE name = $1`, [name]);
  return row!.version;
}

/**
 * Deletes subscriptions with their progress and replay, notes what they leave behind, and raises the version. Progress
 * first, as whoever settles locks it: then none waits for the other in a circle.
 */
export function deleteSubscriptions(prefix: string, where: string): string {
  return `WITH gone AS (DELETE FROM ${prefix}subscription WHERE ${where} RETURNING number),
      without_progress AS (
        DELETE FROM ${prefix}progress WHERE subscription = ANY (ARRAY(SELECT number FROM gone)) RETURNING subscription
      ),
      without_replay AS (
        DELETE FROM ${prefix}replay WHERE subscription = ANY (ARRAY(SELECT subscription FROM without_progress))
      ),
      noted AS (INSERT INTO ${prefix}deleted_subscription (number) SELECT number FROM gone)
    ${raiseVersion(prefix, "gone")}`;
}

/** Subscriptions. Every statement that changes one raises the version in the same commit. */
export function postgresSubscriptions(context: PostgresContext): NounDriver<SubscriptionStore> {
  const { database, location, prefix } = context;

  async function insert(
    queries: Queries,
    subscription: Subscription,
    maxPerKey: number,
    claim: IntentClaim | undefined,
  ): Promise<void> {
    const { id, keyId } = subscription;
    // The version's row first: of those inserted at once each waits for the one before, so that the count is right.
    const [, isNewest, counted] = await Promise.all([
      queries.write(raiseVersion(prefix)),
      claim === undefined || holdClaim(queries, prefix, claim),
      queries.read<{ n: number }>(`SELECT count(*) AS n FROM ${prefix}subscription WHERE key_id = $1`, [keyId]),
    ]);
    if (!isNewest) throw intentFenced(location, claim!);
    if (counted[0]!.n >= maxPerKey) {
      throw new StoreError("exists", `${location}: the key "${keyId}" has ${maxPerKey} subscriptions already`);
    }
    const { count } = await queries.write(
      `WITH inserted AS (
        INSERT INTO ${prefix}subscription (${SUBSCRIPTION_COLUMNS})
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT (id) DO NOTHING RETURNING number
      ) INSERT INTO ${prefix}progress (subscription, cursor)
      SELECT inserted.number, log_end.last FROM inserted CROSS JOIN ${newestRow(prefix, "log_end")}`,
      subscriptionValues(subscription),
    );
    if (count === 0) {
      throw new StoreError("exists", `${location} holds a subscription with the id "${id}" already`);
    }
  }

  return {
    insert: (subscription, maxPerKey, claim) =>
      database.transaction((queries) => insert(queries, subscription, maxPerKey, claim)),
    async get(id) {
      const [row] = await database.read<SubscriptionRow>(
        `SELECT ${SUBSCRIPTION_COLUMNS} FROM ${prefix}subscription WHERE id = $1`,
        [id],
      );
      return row && toSubscription(row);
    },
    async list({ keyId, after = "", limit }) {
      const ofKey = keyId === undefined ? "" : "key_id = $3 AND";
      const rows = await database.read<SubscriptionRow>(
        `SELECT ${SUBSCRIPTION_COLUMNS} FROM ${prefix}subscription WHERE ${ofKey} id > $1 ORDER BY id LIMIT $2`,
        keyId === undefined ? [after, limit] : [after, limit, keyId],
      );
      return rows.map(toSubscription);
    },
    setSecrets: async (id, expectedSecret, secrets) =>
      await replaceSecrets(database, prefix, [{ ...secrets, id, expectedSecret }]) > 0,
    async delete(id) {
      const { count } = await database.write(deleteSubscriptions(prefix, "id = $1"), [id]);
      return count > 0;
    },
    purgeDeleted: () => purgeDeleted(database, prefix),
    async hearFrom(height) {
      await database.write(
        `WITH changed AS (
          UPDATE ${prefix}subscription SET start_height = $1 WHERE start_height > $1 RETURNING id
        ) ${raiseVersion(prefix, "changed")}`,
        [height],
      );
    },
    version: () => versionOf(database, prefix, "subscriptions"),
    async secretsCheck() {
      const [row] = await database.read<{ text: string }>(`SELECT text FROM ${prefix}secrets_check`);
      return row?.text;
    },
    resealSecrets: ({ secrets, check }) =>
      database.transaction(async (queries) => {
        const [rewritten] = await Promise.all([
          replaceSecrets(queries, prefix, secrets),
          check !== undefined && writeCheck(queries, prefix, check),
        ]);
        return rewritten;
      }),
  };
}

const GIVEN_SECRETS = "id text, expected text, secret text, previous text, " +
  '"previousUntilMs" bigint, older text, "olderUntilMs" bigint';

/** Replaces the secrets of those that still have the expected one; answers how many. */
async function replaceSecrets(
  queries: Queries,
  prefix: string,
  replaced: (Secrets & { id: string; expectedSecret: string })[],
): Promise<number> {
  if (replaced.length === 0) return 0;
  const rows = replaced.map(({ id, expectedSecret, ...secrets }) => {
    const [secret, previous, previousUntilMs, older, olderUntilMs] = secretColumns(secrets);
    return { id, expected: expectedSecret, secret, previous, previousUntilMs, older, olderUntilMs };
  });
  const changed = await queries.write(
    `WITH changed AS (
      UPDATE ${prefix}subscription AS kept SET secret = given.secret, previous_secret = given.previous,
        previous_secret_until_ms = given."previousUntilMs", older_secret = given.older,
        older_secret_until_ms = given."olderUntilMs"
      FROM ${givenRows(GIVEN_SECRETS)}
      WHERE kept.id = given.id AND kept.secret = given.expected RETURNING kept.id
    ), raised AS (${raiseVersion(prefix, "changed")}) SELECT id FROM changed`,
    [rows],
  );
  return changed.length;
}

async function writeCheck(queries: Queries, prefix: string, check: string | null): Promise<void> {
  if (check === null) await queries.write(`DELETE FROM ${prefix}secrets_check`);
  else {
    await queries.write(
      `INSERT INTO ${prefix}secrets_check (only_row, text) VALUES (1, $1)
      ON CONFLICT (only_row) DO UPDATE SET text = excluded.text`,
      [check],
    );
  }
}

async function purgeDeleted(database: PostgresDatabase, prefix: string): Promise<boolean> {
  return await database.transaction(async (queries) => {
    const [deleted, another] = await queries.read<{ number: number }>(
      `SELECT number FROM ${prefix}deleted_subscription ORDER BY number LIMIT 2 FOR UPDATE`,
    );
    if (deleted === undefined) return false;
    const purged = await Promise.all(
      [["failed_delivery", "sequence"], ["attempt", "ordinal"]].map(([table, column]) =>
        queries.write(
          `DELETE FROM ${prefix}${table} WHERE subscription = $1 AND ${column} IN (
          SELECT ${column} FROM ${prefix}${table} WHERE subscription = $1 ORDER BY ${column} LIMIT ${PURGE_STEP})`,
          [deleted.number],
        )
      ),
    );
    if (purged.some(({ count }) => count === PURGE_STEP)) return true;
    await Promise.all([
      // One that was inserted while its subscription was deleted.
      queries.write(`DELETE FROM ${prefix}replay WHERE subscription = $1`, [deleted.number]),
      queries.write(`DELETE FROM ${prefix}deleted_subscription WHERE number = $1`, [deleted.number]),
    ]);
    return another !== undefined;
  });
}

/** The values of `SUBSCRIPTION_COLUMNS`. */
export function subscriptionValues(subscription: Subscription): (string | number | boolean | null)[] {
  const { id, keyId, url, types, deviceHash, merchant, ordered, createdAt, startHeight } = subscription;
  return [
    ...[id, keyId, url, types?.join(",") ?? null, deviceHash, merchant, ordered],
    ...secretColumns(subscription),
    ...[createdAt, startHeight],
  ];
}

function secretColumns({ secret, previousSecret, olderSecret }: Secrets): (string | number | null)[] {
  return [secret, ...columnsOf(previousSecret), ...columnsOf(olderSecret)];
}

function columnsOf(former: FormerSecret | null = null): [string | null, number | null] {
  return [former?.secret ?? null, former?.untilMs ?? null];
}

function formerSecret(secret: string | null, untilMs: number | null): FormerSecret | null {
  return secret === null ? null : { secret, untilMs: untilMs! };
}

export function toSubscription(row: Omit<SubscriptionRow, "number">): Subscription {
  const olderSecret = formerSecret(row.older_secret, row.older_secret_until_ms);
  return {
    id: row.id,
    keyId: row.key_id,
    url: row.url,
    types: row.types === "" ? [] : row.types?.split(",") ?? null,
    deviceHash: row.device_hash,
    merchant: row.merchant,
    ordered: row.ordered,
    secret: row.secret,
    previousSecret: formerSecret(row.previous_secret, row.previous_secret_until_ms),
    ...(olderSecret === null ? {} : { olderSecret }),
    createdAt: row.created_at,
    startHeight: row.start_height,
  };
}
