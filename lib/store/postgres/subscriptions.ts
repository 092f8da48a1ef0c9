import type { NounDriver } from "../checked_store.ts";
import { type IntentClaim, intentFenced } from "../intent.ts";
import {
  secretsRow,
  SUBSCRIPTION_COLUMNS,
  type SubscriptionRow,
  subscriptionRow,
  toSubscription,
} from "../sql/subscriptions.ts";
import { StoreError, type SubscriptionStore } from "../store.ts";
import type { Secrets, Subscription } from "../webhook.ts";
import { givenRows, type PostgresContext, type PostgresDatabase, type Queries } from "./database.ts";
import { holdClaim } from "./intents.ts";
import { newestRow } from "./log.ts";

/** Rows of failed deliveries, and of attempts, that one call of `purgeDeleted` removes. */
const PURGE_STEP = 300;

/**
 * Raises a version where the rows named are any. By how much nobody can tell: what others change on a standby that was promoted
 * without the last commits is not taken for what was seen before.
 */
export function raiseVersion(prefix: string, rows?: string, name: "keys" | "subscriptions" = "subscriptions"): string {
  const where = rows === undefined ? "" : ` AND EXISTS (SELECT 1 FROM ${rows})`;
  return `UPDATE ${prefix}version SET version = version + 1 + floor(random() * 1000000)::bigint WHERE name = '${name}'${where}`;
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
      Object.values(subscriptionRow(subscription)),
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

const GIVEN_SECRETS = "id text, expected text, secret text, previous_secret text, previous_secret_until_ms bigint, " +
  "older_secret text, older_secret_until_ms bigint";

/** Replaces the secrets of those that still have the expected one; answers how many. */
async function replaceSecrets(
  queries: Queries,
  prefix: string,
  replaced: (Secrets & { id: string; expectedSecret: string })[],
): Promise<number> {
  if (replaced.length === 0) return 0;
  const rows = replaced.map(({ id, expectedSecret, ...secrets }) => (
    { id, expected: expectedSecret, ...secretsRow(secrets) }
  ));
  const changed = await queries.write(
    `WITH changed AS (
      UPDATE ${prefix}subscription AS kept SET secret = given.secret, previous_secret = given.previous_secret,
        previous_secret_until_ms = given.previous_secret_until_ms, older_secret = given.older_secret,
        older_secret_until_ms = given.older_secret_until_ms
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
