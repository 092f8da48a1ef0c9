import type { NounDriver } from "../checked_store.ts";
import type { IntentName, IntentStore, IntentVerdict, KeptIntent, NewIntent } from "../intent.ts";
import { type Parameter, send, type SqlContext, type Work } from "./database.ts";

interface IntentRow {
  version: string;
  request: string;
  /** JSON. */
  state: string;
  envelope: Uint8Array | null;
  used_at_ms: number;
}

interface NameRow extends Pick<IntentName, "kind" | "key"> {
  key_id: string;
}

const COLUMNS = "version, request, state, envelope, used_at_ms";

/** The most that `prune` deletes at a call. */
const PRUNED_AT_A_CALL = 500;

const namedBy = ({ keyId, kind, key }: IntentName) => [keyId, kind, key] as const;

function valuesOf({ name, version, intent: { request, state, envelope }, atMs = 0 }: NewIntent): Parameter[] {
  return [...namedBy(name), version, request, JSON.stringify(state), envelope ?? null, Math.floor(atMs)];
}

function toIntent({ version, request, state, envelope, used_at_ms }: IntentRow): KeptIntent {
  const intent = { version, request, state: JSON.parse(state), usedAtMs: used_at_ms };
  return envelope === null ? intent : { ...intent, envelope: new Uint8Array(envelope) };
}

export interface SqlIntents {
  methods: NounDriver<IntentStore>;
  /** Writes a new intent, first in the transaction that makes what the intent stands for. */
  add(made: NewIntent | undefined): Work<IntentVerdict>;
}

export function sqlIntents({ sql }: SqlContext): SqlIntents {
  const table = `${sql.prefix}intent`;
  const isNamed = "key_id = $1 AND kind = $2 AND key = $3";
  const countOf = (keyId: string) =>
    `(SELECT coalesce(sum(intents), 0) FROM ${sql.prefix}intent_count WHERE key_id = ${keyId})`;
  // One statement, so one commit and one round trip: the first write delays a payment.
  const insert = sql.prepare(sql.countingIntents(
    1,
    `INSERT INTO ${table} (key_id, kind, key, ${COLUMNS})
    SELECT $1, $2, $3, $4, $5, $6, $7, ${sql.greatest}(${sql.now}, CAST($8 AS bigint))
    WHERE ${countOf("$1")} < CAST($9 AS bigint) AND ${countOf("''")} < CAST($10 AS bigint)
    ON CONFLICT (key_id, kind, key) DO NOTHING RETURNING key_id`,
  ));
  const update = sql.prepare(
    `UPDATE ${table} SET version = $4, request = $5, state = $6, envelope = $7,
      used_at_ms = ${sql.greatest}(used_at_ms, ${sql.now}, CAST($8 AS bigint))
    WHERE ${isNamed} AND version = $9`,
  );
  const select = sql.prepare<IntentRow>(`SELECT ${COLUMNS} FROM ${table} WHERE ${isNamed}`);
  const list = sql.prepare<NameRow & IntentRow>(
    `SELECT key_id, kind, key, ${COLUMNS} FROM ${table}
    WHERE (key_id, kind, key) > ($1, $2, $3) ORDER BY key_id, kind, key LIMIT $4`,
  );
  // PostgreSQL checks the outer condition again for an intent that was used meanwhile, but not the inner SELECT.
  const prune = sql.prepare(sql.countingIntents(
    -1,
    `DELETE FROM ${table} WHERE (key_id, kind, key) IN (SELECT key_id, kind, key FROM ${table}
      WHERE used_at_ms < $1 ORDER BY used_at_ms LIMIT ${PRUNED_AT_A_CALL}) AND used_at_ms < $1 RETURNING key_id`,
  ));

  const inserting = (made: NewIntent) => insert(...valuesOf(made), made.mostOfKey, made.mostInAll);

  return {
    methods: {
      async get(name) {
        const [row] = await sql.read(select(...namedBy(name)));
        return row && toIntent(row);
      },
      async set({ seen, ...step }) {
        const isNew = seen === undefined;
        const { count } = await sql.writeTogether(isNew ? inserting(step) : update(...valuesOf(step), seen));
        if (count > 0) return "written";
        return isNew && (await sql.read(select(...namedBy(step.name)))).length === 0 ? "full" : "changed";
      },
      async list({ after, limit }) {
        const rows = await sql.read(list(after?.keyId ?? "", after?.kind ?? "", after?.key ?? "", limit));
        return rows.map((row) => ({ keyId: row.key_id, kind: row.kind, key: row.key, ...toIntent(row) }));
      },
      prune: async (usedBeforeMs) => (await sql.write(prune(usedBeforeMs))).count,
    },
    *add(made) {
      if (made === undefined) return "written";
      const [{ count }] = yield* send(inserting(made));
      if (count > 0) return "written";
      const [found] = yield* send(select(...namedBy(made.name)));
      return found.length > 0 ? "changed" : "full";
    },
  };
}
