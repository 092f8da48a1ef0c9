import type { SqliteDatabase } from "../../runtime/sqlite.ts";

/**
 * The texts that events name by number: few, so all of them are kept in memory. Only `add` is for use within a transaction:
 * what that has written may be rolled back, and must not be remembered.
 */
export interface Words {
  /** The number of a text, undefined when it is not held. */
  find(text: string): number | undefined;
  /** All numbers there are. */
  numbers(): number[];
  /** The text of a number that is held. */
  text(number: number): string;
  /** The number of a text, which is added when it is new; to be called within a transaction. */
  add(text: string): number;
}

/** @param table `event_type` or `contract`: nothing is ever deleted from them, so their numbers are 1, 2, 3 … */
export function sqliteWords(database: SqliteDatabase, table: "event_type" | "contract"): Words {
  const newest = database.prepare<{ number: number | null }>(`SELECT max(number) AS number FROM ${table}`);
  const readAll = database.prepare<{ number: number; text: string }>(`SELECT number, text FROM ${table}`);
  const read = database.prepare<{ number: number }>(`SELECT number FROM ${table} WHERE text = ?`);
  const insert = database.prepare<{ number: number }>(`INSERT INTO ${table} (text) VALUES (?) RETURNING number`);
  const textOf = new Map<number, string>();
  const numberOf = new Map<string, number>();

  /** Another handle may have added some. */
  function refresh(): void {
    if ((newest.get()!.number ?? 0) === textOf.size) return;
    for (const { number, text } of readAll.all()) {
      textOf.set(number, text);
      numberOf.set(text, number);
    }
  }

  return {
    find(text) {
      if (!numberOf.has(text)) refresh();
      return numberOf.get(text);
    },
    numbers() {
      refresh();
      return [...textOf.keys()];
    },
    text(number) {
      if (!textOf.has(number)) refresh();
      return textOf.get(number)!;
    },
    add: (text) => numberOf.get(text) ?? read.get(text)?.number ?? insert.get(text)!.number,
  };
}
