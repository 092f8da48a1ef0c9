import { createRecentMap } from "../../bounded_map.ts";
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
  /** Records that the events up to this sequence are deleted. */
  forget(upTo: number): void;
}

/** Gives the next event of this height its sequence, and returns whether it comes late. */
export type NextPlace = (height: number) => { sequence: number; isLate: boolean };

export function sqliteLog({ database }: Pick<SqliteContext, "database">): SqliteLog {
  const readBounds = database.prepare<LogBounds>(`
    SELECT max(coalesce((SELECT max(sequence) FROM event), 0), forgotten) AS last, forgotten FROM log`);
  const firstAt = database.prepare<{ sequence: number }>(
    "SELECT sequence FROM height_start WHERE height >= ? ORDER BY height LIMIT 1",
  );
  const highest = database.prepare<{ height: number | null }>("SELECT max(height) AS height FROM height_start");
  const start = database.prepare("INSERT INTO height_start (height, sequence) VALUES (?, ?)");
  const writeForgotten = database.prepare("UPDATE log SET forgotten = ?");
  // The last of them stays, for late events. The search begins at the lowest, where few are left. From the highest, each step
  // would read those of the whole log.
  const forgetStarts = database.prepare(`
    DELETE FROM height_start WHERE height < (SELECT max(height) FROM height_start WHERE height < ifnull(
      (SELECT height FROM height_start WHERE sequence > ? ORDER BY height LIMIT 1), ${Number.MAX_SAFE_INTEGER}))`);
  /** The answers of `reached` that never change. */
  const known = createRecentMap<number>(1_000);
  const bounds = () => readBounds.get()!;

  function reached(height: number): number | undefined {
    const before = known.get(String(height));
    if (before !== undefined) return before;
    const first = firstAt.get(height)?.sequence;
    if (first !== undefined) known.set(String(height), first);
    return first;
  }

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
    forget(upTo) {
      writeForgotten.run(upTo);
      forgetStarts.run(upTo);
    },
  };
}
