import type { NounDriver } from "../checked_store.ts";
import type { SharedStateChange, SharedStateStore } from "../shared_state.ts";
import { NOW_MS, type PostgresContext, type Queries } from "./database.ts";

const PRUNED_AT_A_CALL = 500;

/** Small values that are changed one at a time. */
export function postgresSharedState({ database, prefix }: PostgresContext): NounDriver<SharedStateStore> {
  /** Makes the register where there is none, as one whose time is over, and holds it until the commit. */
  async function lock(queries: Queries, name: string): Promise<{ value: unknown; nowMs: number }> {
    for (;;) {
      const [, [row], [time]] = await Promise.all([
        queries.write(
          `INSERT INTO ${prefix}register (name, value, until_ms) VALUES ($1, 'null', 0) ON CONFLICT (name) DO NOTHING`,
          [name],
        ),
        queries.read<{ value: string; until_ms: number }>(
          `SELECT value, until_ms FROM ${prefix}register WHERE name = $1 FOR UPDATE`,
          [name],
        ),
        // After the wait for whoever had it: time never goes back from one change to the next.
        queries.read<{ now_ms: number }>(`SELECT ${NOW_MS} AS now_ms`),
      ]);
      const nowMs = time!.now_ms;
      // It may be forgotten between the two statements.
      if (row !== undefined) return { value: row.until_ms > nowMs ? JSON.parse(row.value) : undefined, nowMs };
    }
  }

  return {
    async read<T>(name: string) {
      const [row] = await database.read<{ value: string }>(
        `SELECT value FROM ${prefix}register WHERE name = $1 AND until_ms > ${NOW_MS}`,
        [name],
      );
      return row === undefined ? undefined : JSON.parse(row.value) as T;
    },
    change: <T, A>(name: string, change: (value: T | undefined, nowMs: number) => SharedStateChange<T, A>) =>
      database.transaction(async (queries) => {
        const { value: before, nowMs } = await lock(queries, name);
        const { value, keepMs, answer } = change(before as T | undefined, nowMs);
        if (value === undefined) {
          await queries.write(`DELETE FROM ${prefix}register WHERE name = $1 AND until_ms = 0`, [name]);
        } else {
          await queries.write(
            `UPDATE ${prefix}register SET value = $2, until_ms = $3 WHERE name = $1`,
            [name, JSON.stringify(value), nowMs + keepMs],
          );
        }
        return answer;
      }),
    async list({ after = "", limit }) {
      const rows = await database.read<{ name: string; value: string; untilMs: number }>(
        `SELECT name, value, until_ms AS "untilMs" FROM ${prefix}register
        WHERE name > $1 ORDER BY name LIMIT $2`,
        [after, limit],
      );
      return rows.map((row) => ({ ...row, value: JSON.parse(row.value) }));
    },
    async prune(overBeforeMs) {
      const { count } = await database.write(
        // The condition twice: one that was changed meanwhile is looked at anew, and the inner SELECT is not.
        `DELETE FROM ${prefix}register WHERE name = ANY (ARRAY(SELECT name FROM ${prefix}register
          WHERE until_ms <= least(${NOW_MS}, $1::bigint) ORDER BY until_ms LIMIT ${PRUNED_AT_A_CALL}))
          AND until_ms <= ${NOW_MS}`,
        [overBeforeMs],
      );
      return count;
    },
  };
}
