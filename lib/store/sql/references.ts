import type { NounDriver } from "../checked_store.ts";
import type { GivenReference, ReferenceRows } from "../reference.ts";
import type { SqlContext } from "./database.ts";

interface ReferenceRow {
  hash: string;
  key_id: string;
  reference: string;
  prepared_at_ms: number;
}

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
  const list = sql.prepare<ReferenceRow>(
    `SELECT ${COLUMNS} FROM ${table} WHERE (hash, key_id) > ($1, $2) ORDER BY hash, key_id LIMIT $3`,
  );
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
    list: async ({ after, limit }) => (await sql.read(list(after?.hash ?? "", after?.keyId ?? "", limit))).map(toGiven),
    prune: async (preparedBeforeMs) => (await sql.write(prune(preparedBeforeMs))).count,
  };
}
