import type { NounDriver } from "../checked_store.ts";
import { type IntentClaim, intentFenced, type IntentStore, type ListedIntent } from "../intent.ts";
import { send, type SqlContext, type Work } from "./database.ts";

/** The most that `prune` deletes at a call. */
export const PRUNED_AT_A_CALL = 500;

interface ListedIntentRow extends Omit<ListedIntent, "keyId" | "result"> {
  key_id: string;
  result: string | null;
}

interface NonceRow {
  device_hash: string;
  agent: string;
  nonce: string;
  until_ms: number;
}

/** A stored null is absent in answers. */
export function withResult<T>({ result, ...intent }: T & { result: string | null }) {
  return result === null ? intent : { ...intent, result };
}

/**
 * Checks a claim within the transaction that writes under it. No caller can claim the intent until the commit.
 * @throws StoreError `fenced` unless the claim is the newest of its intent
 */
export function intentFence({ sql, location }: SqlContext): (claim: IntentClaim | undefined) => Work<void> {
  const select = sql.prepare<{ term: number }>(
    `SELECT term FROM ${sql.prefix}intent WHERE key_id = $1 AND kind = $2 AND key = $3 AND id = $4 AND term = $5 ${
      sql.lock("SHARE")
    }`,
  );
  return function* fence(claim) {
    if (claim === undefined) return;
    const { keyId, kind, key, id, term } = claim;
    const [found] = yield* send(select(keyId, kind, key, id, term));
    if (found.length === 0) throw intentFenced(location, claim);
  };
}

/** @param endClaim the assignment that ends a claim */
export function sqlIntents(
  { sql, location }: SqlContext,
  endClaim: string,
): Pick<NounDriver<IntentStore>, "complete" | "list" | "nonces"> {
  const table = `${sql.prefix}intent`;
  const complete = sql.prepare(
    `UPDATE ${table} SET term = term + 1, request = $6, result = $7, ${endClaim},
      completed_at_ms = ${sql.greatest}(completed_at_ms, ${sql.now}, CAST($8 AS bigint))
    WHERE key_id = $1 AND kind = $2 AND key = $3 AND id = $4 AND term = $5`,
  );
  const list = sql.prepare<ListedIntentRow>(
    `SELECT key_id, kind, key, id, request, result FROM ${table}
    WHERE (key_id, kind, key) > ($1, $2, $3) ORDER BY key_id, kind, key LIMIT $4`,
  );
  const nonces = sql.prepare<NonceRow>(
    `SELECT device_hash, agent, CAST(nonce AS text) AS nonce, until_ms FROM ${sql.prefix}nonce_out
    WHERE (device_hash, agent) > ($1, $2) ORDER BY device_hash, agent LIMIT $3`,
  );

  return {
    async complete(claim, { request, result, atMs = 0 }) {
      const { keyId, kind, key, id, term } = claim;
      const { count } = await sql.writeTogether(
        complete(keyId, kind, key, id, term, request, result, Math.floor(atMs)),
      );
      if (count === 0) throw intentFenced(location, claim);
    },
    async list({ after, limit }) {
      const rows = await sql.read(list(after?.keyId ?? "", after?.kind ?? "", after?.key ?? "", limit));
      return rows.map(({ key_id, ...row }) => withResult({ keyId: key_id, ...row }));
    },
    async nonces({ after, limit }) {
      const rows = await sql.read(nonces(after?.deviceHash ?? "", after?.agent ?? "", limit));
      return rows.map(({ device_hash, agent, nonce, until_ms }) => {
        return { deviceHash: device_hash, agent, nonce, untilMs: until_ms };
      });
    },
  };
}
