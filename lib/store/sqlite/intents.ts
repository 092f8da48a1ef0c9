import type { NounDriver } from "../checked_store.ts";
import { claimedForMs, type Intent, type IntentStore, nonceAfter } from "../intent.ts";
import { PRUNED_AT_A_CALL, sqlIntents, withResult } from "../sql/intents.ts";
import type { SqliteContext } from "./database.ts";
import { sqliteTransactionIntents } from "./transaction_intents.ts";

interface IntentRow {
  id: string;
  term: number;
  request: string;
  /** The handle of the claim. Null: there is none. */
  claimed_by: string | null;
  claimed_until_ms: number;
  claim_duration_ms: number;
  result: string | null;
}

/** Intents, and issued nonces. */
export function sqliteIntents(context: SqliteContext): NounDriver<IntentStore> {
  const { database, handle, now, isHeld, commitTogether } = context;
  const select = database.prepare<IntentRow>(`
    SELECT id, term, request, claimed_by, claimed_until_ms, claim_duration_ms, result FROM intent
    WHERE key_id = ? AND kind = ? AND key = ?`);
  const insert = database.prepare(`
    INSERT INTO intent (key_id, kind, key, id, term, request, claimed_by, claimed_until_ms, claim_duration_ms, completed_at_ms)
    VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?)`);
  const claimAgain = database.prepare(`
    UPDATE intent SET term = term + 1, claimed_by = ?, claimed_until_ms = ?, claim_duration_ms = ?,
      completed_at_ms = max(completed_at_ms, ?)
    WHERE key_id = ? AND kind = ? AND key = ?`);
  const giveBack = database.prepare(`
    UPDATE intent SET claimed_by = NULL
    WHERE key_id = ? AND kind = ? AND key = ? AND id = ? AND term = ? AND result IS NOT NULL`);
  const forget = database.prepare(`
    DELETE FROM intent WHERE key_id = ? AND kind = ? AND key = ? AND id = ? AND term = ? AND result IS NULL`);
  const count = database.prepare<{ intents: number }>("SELECT intents FROM intent_count WHERE key_id = ?");
  const nonceOut = database.prepare<{ nonce: string; untilMs: number }>(`
    SELECT nonce, until_ms AS untilMs FROM nonce_out WHERE device_hash = ? AND agent = ?`);
  const handOut = database.prepare(`
    INSERT INTO nonce_out VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET nonce = excluded.nonce, until_ms = excluded.until_ms`);
  const prune = database.prepare(`
    DELETE FROM intent WHERE rowid IN
      (SELECT rowid FROM intent WHERE completed_at_ms < ? ORDER BY completed_at_ms LIMIT ?)`);
  const pruneNonces = database.prepare(`
    DELETE FROM nonce_out WHERE (device_hash, agent) IN
      (SELECT device_hash, agent FROM nonce_out WHERE until_ms <= ? ORDER BY until_ms LIMIT ?)`);

  /** A former holder of the store is dead, so its claim is over. */
  function toIntent({ claimed_by, claimed_until_ms, claim_duration_ms, ...row }: IntentRow): Intent {
    const isOver = claimed_by === null || (isHeld() && claimed_by !== handle);
    const claim = { untilMs: claimed_until_ms, durationMs: claim_duration_ms };
    return withResult({ ...row, claimedForMs: isOver ? 0 : claimedForMs(claim, now()) });
  }

  const isFull = (keyId: string, most: number) => (count.get(keyId)?.intents ?? 0) >= most;

  const { prune: pruneTransactions, ...transactions } = sqliteTransactionIntents(context, isFull);

  return {
    ...transactions,
    ...sqlIntents(context, "claimed_by = NULL"),
    get({ keyId, kind, key }) {
      const row = select.get(keyId, kind, key);
      return row && toIntent(row);
    },
    claim({ name, seen, id, request, durationMs, mostOfKey, mostInAll, atMs = 0 }) {
      const { keyId, kind, key } = name;
      return commitTogether(() => {
        const row = select.get(keyId, kind, key);
        const untilMs = now() + durationMs;
        const usedAtMs = Math.max(now(), atMs);
        if (row === undefined) {
          if (seen !== undefined) return "taken";
          if (isFull(keyId, mostOfKey) || isFull("", mostInAll)) return "full";
          insert.run(keyId, kind, key, id, request, handle, untilMs, durationMs, usedAtMs);
          return { ...name, id, term: 1 };
        }
        if (row.id !== seen?.id || row.term !== seen.term || toIntent(row).claimedForMs > 0) return "taken";
        claimAgain.run(handle, untilMs, durationMs, usedAtMs, keyId, kind, key);
        return { ...name, id: row.id, term: row.term + 1 };
      });
    },
    release: ({ keyId, kind, key, id, term }) =>
      commitTogether(() => {
        forget.run(keyId, kind, key, id, term);
        giveBack.run(keyId, kind, key, id, term);
      }),
    nextNonce: ({ deviceHash, agent, used, validForMs }) =>
      commitTogether(() => {
        const nonce = nonceAfter(used, nonceOut.get(deviceHash, agent), now());
        handOut.run(deviceHash, agent, nonce, now() + validForMs);
        return nonce;
      }),
    prune: (usedBeforeMs) =>
      database.transaction(() => {
        let gone = prune.run(usedBeforeMs, PRUNED_AT_A_CALL).changes;
        gone += pruneTransactions(usedBeforeMs, PRUNED_AT_A_CALL - gone);
        return gone + pruneNonces.run(now(), PRUNED_AT_A_CALL - gone).changes;
      }),
  };
}
