import type { NounDriver } from "../checked_store.ts";
import type { SharedStateChange, SharedStateStore } from "../shared_state.ts";
import { send, type SqlContext } from "./database.ts";

const PRUNED_AT_A_CALL = 500;

/** Small values that gateways change in turn. */
export function sqlSharedState({ sql }: SqlContext): NounDriver<SharedStateStore> {
  const { now, prepare } = sql;
  const table = `${sql.prefix}register`;
  const read = prepare<{ value: string }>(`SELECT value FROM ${table} WHERE name = $1 AND until_ms > ${now}`);
  const insert = prepare(
    `INSERT INTO ${table} (name, value, until_ms) VALUES ($1, 'null', 0) ON CONFLICT (name) DO NOTHING`,
  );
  const lock = prepare<{ value: string; until_ms: number }>(
    `SELECT value, until_ms FROM ${table} WHERE name = $1 ${sql.lock("UPDATE")}`,
  );
  const time = prepare<{ now_ms: number }>(`SELECT ${now} AS now_ms`);
  const write = prepare(`UPDATE ${table} SET value = $2, until_ms = $3 WHERE name = $1`);
  const removeUnwritten = prepare(`DELETE FROM ${table} WHERE name = $1 AND until_ms = 0`);
  const list = prepare<{ name: string; value: string; until_ms: number }>(
    `SELECT name, value, until_ms FROM ${table} WHERE name > $1 ORDER BY name LIMIT $2`,
  );
  // PostgreSQL checks the outer condition again for a value that changed meanwhile, but not the inner SELECT.
  const isOver = `until_ms <= ${now} AND until_ms <= CAST($1 AS bigint)`;
  const prune = prepare(
    `DELETE FROM ${table} WHERE name ${
      sql.oneOf(`SELECT name FROM ${table} WHERE ${isOver} ORDER BY until_ms LIMIT ${PRUNED_AT_A_CALL}`)
    } AND ${isOver}`,
  );

  /** Locks the value until the commit. A missing one is inserted as one whose time is over. */
  function* locked(name: string) {
    for (;;) {
      // The time is read after the wait for the lock: it never goes back from one change to the next.
      const [, [row], [clock]] = yield* send(insert(name), lock(name), time());
      const nowMs = clock!.now_ms;
      // The retention job may delete the value between the two statements.
      if (row !== undefined) return { value: row.until_ms > nowMs ? JSON.parse(row.value) : undefined, nowMs };
    }
  }

  return {
    async read<T>(name: string): Promise<T | undefined> {
      const [row] = await sql.read(read(name));
      return row && JSON.parse(row.value);
    },
    change: <T, A>(name: string, change: (value: T | undefined, nowMs: number) => SharedStateChange<T, A>) =>
      sql.transaction(function* () {
        const { value: before, nowMs } = yield* locked(name);
        const { value, keepMs, answer } = change(before as T | undefined, nowMs);
        yield* send(
          value === undefined ? removeUnwritten(name) : write(name, JSON.stringify(value), nowMs + keepMs),
        );
        return answer;
      }),
    async list({ after = "", limit }) {
      const rows = await sql.read(list(after, limit));
      return rows.map(({ name, value, until_ms }) => ({ name, value: JSON.parse(value), untilMs: until_ms }));
    },
    prune: async (overBeforeMs) => (await sql.write(prune(overBeforeMs))).count,
  };
}
