import type { NounDriver } from "../checked_store.ts";
import { CLAIM_SLACK_MS, claimedForMs, type Intent, type IntentStore, MAX_NONCE } from "../intent.ts";
import { PRUNED_AT_A_CALL, sqlIntents, withResult } from "../sql/intents.ts";
import { NOW_MS, type PostgresContext } from "./database.ts";
import { anyShard, intentCounts, postgresTransactionIntents } from "./transaction_intents.ts";

interface IntentRow {
  id: string;
  term: number;
  request: string;
  /** Null: there is no claim. */
  claimed_until_ms: number | null;
  claim_duration_ms: number;
  result: string | null;
  now_ms: number;
}

const IS_NAMED = "key_id = $1 AND kind = $2 AND key = $3";
const IS_CLAIMED = `${IS_NAMED} AND id = $4 AND term = $5`;

/** Intents, and issued nonces. */
export function postgresIntents(context: PostgresContext): NounDriver<IntentStore> {
  const { database, prefix } = context;
  const { hasRoom, countMade, countGone } = intentCounts(prefix);
  const { prune: pruneTransactions, ...transactions } = postgresTransactionIntents(context);
  // One statement, so one commit and one round trip: the first claim delays a payment.
  const make = `
    WITH room AS (SELECT 1 WHERE ${hasRoom("$7", "$8")}),
    made AS (
      INSERT INTO ${prefix}intent (key_id, kind, key, id, term, request, claimed_until_ms, claim_duration_ms, completed_at_ms)
      SELECT $1, $2, $3, $4, 1, $5, ${NOW_MS} + $6::bigint, $6::bigint, greatest(${NOW_MS}, $10::bigint) FROM room
      ON CONFLICT (key_id, kind, key) DO NOTHING RETURNING id
    ), counted AS (${countMade("$9")})
    SELECT (SELECT count(*) FROM made) AS made, (SELECT count(*) FROM room) AS room,
      (SELECT count(*) FROM ${prefix}intent WHERE ${IS_NAMED}) AS there`;
  const claimAgain = `
    UPDATE ${prefix}intent SET term = term + 1, claimed_until_ms = ${NOW_MS} + $6::bigint, claim_duration_ms = $6::bigint,
      completed_at_ms = greatest(completed_at_ms, ${NOW_MS}, $7::bigint)
    WHERE ${IS_CLAIMED} AND (claimed_until_ms IS NULL OR claimed_until_ms <= ${NOW_MS}
      OR claimed_until_ms - ${NOW_MS} > claim_duration_ms + ${CLAIM_SLACK_MS})`;

  return {
    ...transactions,
    ...sqlIntents(context, "claimed_until_ms = NULL"),
    async get({ keyId, kind, key }) {
      const [row] = await database.read<IntentRow>(
        `SELECT id, term, request, claimed_until_ms, claim_duration_ms, result, ${NOW_MS} AS now_ms
        FROM ${prefix}intent WHERE ${IS_NAMED}`,
        [keyId, kind, key],
      );
      return row && toIntent(row);
    },
    async claim({ name, seen, id, request, durationMs, mostOfKey, mostInAll, atMs = 0 }) {
      const { keyId, kind, key } = name;
      const networkMs = Math.floor(atMs);
      if (seen !== undefined) {
        const { count } = await database.write(claimAgain, [
          keyId,
          kind,
          key,
          seen.id,
          seen.term,
          durationMs,
          networkMs,
        ]);
        return count === 0 ? "taken" : { ...name, id: seen.id, term: seen.term + 1 };
      }
      const [found] = await database.write<{ made: number; room: number; there: number }>(
        make,
        [keyId, kind, key, id, request, durationMs, mostOfKey, mostInAll, anyShard(), networkMs],
      );
      if (found!.made > 0) return { ...name, id, term: 1 };
      return found!.room > 0 || found!.there > 0 ? "taken" : "full";
    },
    release: ({ keyId, kind, key, id, term }) =>
      database.transaction(async (queries) => {
        const claim = [keyId, kind, key, id, term];
        const [gone] = await Promise.all([
          queries.write<{ key_id: string }>(
            `DELETE FROM ${prefix}intent WHERE ${IS_CLAIMED} AND result IS NULL RETURNING key_id`,
            claim,
          ),
          queries.write(`UPDATE ${prefix}intent SET claimed_until_ms = NULL WHERE ${IS_CLAIMED}`, claim),
        ]);
        await countGone(queries, gone);
      }),
    async nextNonce({ deviceHash, agent, used, validForMs }) {
      // The same as `nonceAfter`, but atomic.
      const [row] = await database.write<{ nonce: string }>(
        `INSERT INTO ${prefix}nonce_out AS kept (device_hash, agent, nonce, until_ms)
        VALUES ($1, $2, least($3::numeric + 1, ${MAX_NONCE}), ${NOW_MS} + $4)
        ON CONFLICT (device_hash, agent) DO UPDATE SET until_ms = ${NOW_MS} + $4, nonce = least(
          CASE WHEN kept.until_ms > ${NOW_MS} THEN greatest(kept.nonce, $3::numeric) ELSE $3::numeric END + 1, ${MAX_NONCE})
        RETURNING kept.nonce::text AS nonce`,
        [deviceHash, agent, used, validForMs],
      );
      return row!.nonce;
    },
    prune: (usedBeforeMs) =>
      database.transaction(async (queries) => {
        const gone = await queries.write<{ key_id: string }>(
          // PostgreSQL checks the outer condition again for an intent that was used meanwhile, but not the inner SELECT.
          `DELETE FROM ${prefix}intent WHERE (key_id, kind, key) IN (SELECT key_id, kind, key FROM ${prefix}intent
            WHERE completed_at_ms < $1 ORDER BY completed_at_ms LIMIT ${PRUNED_AT_A_CALL})
            AND completed_at_ms < $1 RETURNING key_id`,
          [usedBeforeMs],
        );
        const goneTransactions = await pruneTransactions(queries, usedBeforeMs, PRUNED_AT_A_CALL - gone.length);
        gone.push(...goneTransactions);
        const [nonces] = await Promise.all([
          queries.write(
            `DELETE FROM ${prefix}nonce_out WHERE (device_hash, agent) IN (SELECT device_hash, agent
              FROM ${prefix}nonce_out WHERE until_ms <= ${NOW_MS} ORDER BY until_ms LIMIT $1)
              AND until_ms <= ${NOW_MS}`,
            [PRUNED_AT_A_CALL - gone.length],
          ),
          countGone(queries, gone),
        ]);
        return gone.length + nonces.count;
      }),
  };
}

function toIntent({ claimed_until_ms, claim_duration_ms, now_ms, ...row }: IntentRow): Intent {
  const remainingMs = claimed_until_ms === null
    ? 0
    : claimedForMs({ untilMs: claimed_until_ms, durationMs: claim_duration_ms }, now_ms);
  return withResult({ ...row, claimedForMs: remainingMs });
}
