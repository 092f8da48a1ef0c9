import type { NounDriver } from "../checked_store.ts";
import type { GivenReference, ReferenceRows } from "../reference.ts";
import type { SqlContext } from "./database.ts";

interface ReferenceRow {
  hash: string;
  key_id: string;
  reference: string;
  prepared_at_ms: number;
}

/** Later than any time. */
const AFTER_ALL_MS = Number.MAX_SAFE_INTEGER + 1;
const COLUMNS = "hash, key_id, reference, prepared_at_ms";

function toGiven({ hash, key_id, reference, prepared_at_ms }: ReferenceRow): GivenReference {
  return { hash, keyId: key_id, reference, preparedAtMs: prepared_at_ms };
}

/** References of prepared transactions. */
export function sqlReferences({ sql }: SqlContext): NounDriver<ReferenceRows> {
  const table = `${sql.prefix}reference`;
  const adding = (select: string) =>
    `INSERT INTO ${table} (${COLUMNS}) ${select} ON CONFLICT (hash, key_id) DO NOTHING`;
  const insert = sql.prepare(adding("VALUES ($1, $2, $3, $4)"));
  const copy = sql.prepare(adding(
    `SELECT CAST($2 AS text), key_id, reference, prepared_at_ms FROM ${table} WHERE hash = $1`,
  ));
  const isAny = sql.prepare(`SELECT 1 FROM ${table} WHERE hash > '' ORDER BY hash LIMIT 1`);
  const find = sql.prepare<ReferenceRow>(
    `SELECT ${COLUMNS} FROM ${table} WHERE hash ${sql.oneOf(`SELECT hash FROM ${sql.given("hash text")}`)}`,
  );
  const ofReference = (order: "asc" | "desc") =>
    sql.prepare<ReferenceRow>(
      `SELECT ${COLUMNS} FROM ${table} WHERE key_id = $1 AND reference = $2
        AND (prepared_at_ms, hash) ${order === "asc" ? ">" : "<"} ($3, $4)
      ORDER BY prepared_at_ms ${order}, hash ${order} LIMIT $5`,
    );
  const [ascending, descending] = [ofReference("asc"), ofReference("desc")];
  const nextKey = sql.prepare<{ key_id: string }>(
    `SELECT key_id FROM ${table} WHERE reference = $1 AND key_id > $2 ORDER BY key_id LIMIT 1`,
  );
  const list = sql.prepare<ReferenceRow>(
    `SELECT ${COLUMNS} FROM ${table} WHERE (prepared_at_ms, hash, key_id) > ($1, $2, $3) AND prepared_at_ms < $4
    ORDER BY prepared_at_ms, hash, key_id LIMIT $5`,
  );
  const remove = sql.prepare(sql.deleteGiven("reference", "hash text, key_id text"));
  const prune = sql.prepare(
    `DELETE FROM ${table} WHERE (hash, key_id) IN
      (SELECT hash, key_id FROM ${table} WHERE prepared_at_ms < $1 ORDER BY prepared_at_ms LIMIT 500)`,
  );

  return {
    async record({ hash, keyId, reference, preparedAtMs }) {
      await sql.writeTogether(insert(hash, keyId, reference, preparedAtMs));
    },
    async copy(hash, bumpHash) {
      await sql.writeTogether(copy(hash, bumpHash));
    },
    isAny: async () => (await sql.read(isAny())).length > 0,
    find: async (hashes) => (await sql.read(find(hashes.map((hash) => ({ hash }))))).map(toGiven),
    async ofReference({ keyId, reference, order, after, limit }) {
      const [select, ms] = order === "asc" ? [ascending, -1] : [descending, AFTER_ALL_MS];
      const found = select(keyId, reference, after?.preparedAtMs ?? ms, after?.hash ?? "", limit);
      return (await sql.read(found)).map(toGiven);
    },
    async keysOf({ reference, limit }) {
      const keys: string[] = [];
      while (keys.length < limit) {
        const [next] = await sql.read(nextKey(reference, keys.at(-1) ?? ""));
        if (next === undefined) break;
        keys.push(next.key_id);
      }
      return keys;
    },
    async list({ after, preparedBeforeMs = AFTER_ALL_MS, limit }) {
      const { preparedAtMs = -1, hash = "", keyId = "" } = after ?? {};
      return (await sql.read(list(preparedAtMs, hash, keyId, preparedBeforeMs, limit))).map(toGiven);
    },
    async delete(records) {
      await sql.write(remove(records.map(({ hash, keyId }) => ({ hash, key_id: keyId }))));
    },
    prune: async (preparedBeforeMs) => (await sql.write(prune(preparedBeforeMs))).count,
  };
}
