import type { NounDriver } from "../checked_store.ts";
import type { SharedStateStore } from "../shared_state.ts";
import type { SqliteContext } from "./database.ts";

const PRUNED_AT_A_CALL = 500;

/** Small values that are changed one at a time. */
export function sqliteSharedState({ database, now }: SqliteContext): NounDriver<SharedStateStore> {
  const read = database.prepare<{ value: string }>("SELECT value FROM register WHERE name = ? AND until_ms > ?");
  const write = database.prepare("INSERT OR REPLACE INTO register (name, value, until_ms) VALUES (?, ?, ?)");
  const list = database.prepare<{ name: string; value: string; untilMs: number }>(
    "SELECT name, value, until_ms AS untilMs FROM register WHERE name > ? ORDER BY name LIMIT ?",
  );
  const prune = database.prepare(
    "DELETE FROM register WHERE name IN (SELECT name FROM register WHERE until_ms <= ? ORDER BY until_ms LIMIT ?)",
  );

  function valueOf<T>(name: string, nowMs: number): T | undefined {
    const row = read.get(name, nowMs);
    return row === undefined ? undefined : JSON.parse(row.value);
  }

  return {
    read: (name) => valueOf(name, now()),
    change: (name, change) =>
      database.transaction(() => {
        const nowMs = now();
        const { value, keepMs, answer } = change(valueOf(name, nowMs), nowMs);
        if (value !== undefined) write.run(name, JSON.stringify(value), nowMs + keepMs);
        return answer;
      }),
    list: ({ after = "", limit }) => list.all(after, limit).map((row) => ({ ...row, value: JSON.parse(row.value) })),
    prune: (overBeforeMs) => Number(prune.run(Math.min(now(), overBeforeMs), PRUNED_AT_A_CALL).changes),
  };
}
