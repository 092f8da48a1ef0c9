import type { LogBounds } from "../store.ts";
import type { SqliteContext } from "./database.ts";

/** The part of the log that every noun of the driver needs. Reads within a transaction see its writes. */
export interface SqliteLog {
  bounds(): LogBounds;
  /** The sequence of the first event of this height or above, deleted or not. Undefined while there was none. */
  reached(height: number): number | undefined;
  /** As `EventStore.before`. */
  before(height: number): number;
  /** Begins to append, once in a transaction. */
  append(): NextPlace;
  /** Begins an empty log after this sequence. */
  begin(after: number): void;
}

/** Gives the next event of this height its sequence, and returns whether it comes late. */
export type NextPlace = (height: number) => { sequence: number; isLate: boolean };

export function sqliteLog({ database, sql }: Pick<SqliteContext, "database" | "sql">): SqliteLog {
  const readBounds = database.prepare<LogBounds>(sql.logBounds);
  const firstAt = database.prepare<{ sequence: number }>(
    "SELECT sequence FROM height_start WHERE height >= ? ORDER BY height LIMIT 1",
  );
  const highest = database.prepare<{ height: number | null }>("SELECT max(height) AS height FROM height_start");
  const start = database.prepare("INSERT INTO height_start (height, sequence) VALUES (?, ?)");
  const begin = database.prepare("UPDATE log_start SET forgotten = ?");
  const bounds = () => readBounds.get()!;
  const reached = (height: number) => firstAt.get(height)?.sequence;

  return {
    bounds,
    reached,
    before(height) {
      const first = reached(height);
      const { last, forgotten } = bounds();
      return first === undefined ? last : Math.max(first - 1, forgotten);
    },
    append() {
      let { last } = bounds();
      let top = highest.get()!.height ?? -1;
      return function next(height) {
        last += 1;
        const isLate = height < top;
        if (height > top) start.run(height, last);
        top = Math.max(top, height);
        return { sequence: last, isLate };
      };
    },
    begin: (after) => void begin.run(after),
  };
}
