import type { SqliteDatabase, SqliteStatement, SqliteValue } from "../../runtime/sqlite.ts";
import { all, between, type Condition, equal, type Given, givenSubjects, heightsWithin } from "../sql/event_query.ts";
import type { EventQuery } from "../store.ts";
import type { EventRow, Words } from "./event_rows.ts";
import type { SqliteLog } from "./log.ts";

/** Rows that one index has next to each other, by sequence. */
interface Range extends Condition<SqliteValue> {
  /** Absent: the table itself. */
  index?: string;
}

export interface EventQueries {
  select(query: EventQuery & { order: "asc" | "desc"; limit: number }): EventRow[];
  count(query: EventQuery & { limit: number }): number;
}

/**
 * Finds events by ranges that hold nothing but matches, in order, so the depth of a page and the rarity of its matches do
 * not matter. What came late, in a ledger below one that was known already, lies out of the ledgers' order: there are few.
 *
 * Every query of a webhook begins at a height, and its cursor lies far above it: that must not cost a look.
 */
export function sqliteEventQueries(
  database: SqliteDatabase,
  types: Words,
  log: SqliteLog,
): EventQueries {
  const statements = new Map<string, SqliteStatement<unknown>>();

  /** What is asked for is bound and never spelt out: the forms are bounded by the columns, how many types, which order. */
  function prepared<R>(sql: string): SqliteStatement<R> {
    let statement = statements.get(sql);
    if (statement === undefined) statements.set(sql, statement = database.prepare(sql));
    return statement as SqliteStatement<R>;
  }

  /** The given subject that has the fewest events, by counting ever more of each. */
  function rarest(subjects: Given<SqliteValue>[]): Given<SqliteValue> | undefined {
    if (subjects.length < 2) return subjects[0];
    for (let most = 64;; most *= 8) {
      for (const found of subjects) {
        const { column } = found.subject;
        const sql = `SELECT count(*) AS n FROM (SELECT 1 FROM event WHERE ${column} = ? LIMIT ${most})`;
        if (prepared<{ n: number }>(sql).get(found.value)!.n < most) return found;
      }
    }
  }

  /** The ranges that together hold what the query is about; none when nothing can match. */
  function rangesOf({ filter, after = 0, upTo = Number.MAX_SAFE_INTEGER }: EventQuery): Range[] {
    const { fromHeight, toHeight } = filter;
    const begin = fromHeight === undefined ? 1 : log.reached(fromHeight);
    if (begin === undefined) return [];
    const beyond = toHeight === undefined ? undefined : log.reached(toHeight + 1);
    const from = Math.max(after, begin - 1);
    const onTime = beyond === undefined ? upTo : Math.min(upTo, beyond - 1);
    const given = givenSubjects<SqliteValue>(filter, (packed) => packed);
    const wanted = filter.types && numbersOf(filter.types);
    if (wanted?.length === 0) return [];

    // A late event may lie anywhere, and another handle may append meanwhile.
    const heights = heightsWithin(filter, "height");
    const by = rarest(given);
    const rest = [...given.filter((one) => one !== by).map(residual), ...heights];
    const ranges = subjectRanges(by, wanted)
      .map(({ index, ...range }) => ({ index, ...all([range, between("sequence", from, onTime), ...rest]) }));
    if (onTime === upTo) return ranges;
    const late = all<SqliteValue>([
      { where: "is_late = 1", params: [] },
      between("sequence", Math.max(from, onTime), upTo),
      ...given.map(residual),
      ...(wanted === undefined ? [] : [ofTypes(wanted)]),
      ...heights,
    ]);
    return [...ranges, { index: "event_late", ...late }];
  }

  /** Each once, however often it is named: statements go by how many there are. */
  function numbersOf(names: string[]): number[] {
    return [...new Set(names.map((name) => types.find(name)).filter((number) => number !== undefined))];
  }

  /** One range a type where the index has the type before the sequence. */
  function subjectRanges(by: Given<SqliteValue> | undefined, wanted?: number[]): Range[] {
    if (by === undefined) {
      return wanted?.map((type) => ({ index: "event_by_type", ...equal("type", type) })) ?? [all([])];
    }
    const { column, byType } = by.subject;
    const index = `event_by_${column}`;
    const own = equal(column, by.value);
    if (!byType) return [{ index, ...all(wanted === undefined ? [own] : [own, ofTypes(wanted)]) }];
    return (wanted ?? types.numbers()).map((type) => ({ index, ...all([own, equal("type", type)]) }));
  }

  return {
    select(query) {
      const ranges = rangesOf(query);
      if (ranges.length === 0) return [];
      const selects = ranges.map((range) => `SELECT * ${from(range)}`);
      const order = query.order === "asc" ? "" : "DESC";
      return prepared<EventRow>(`${selects.join(" UNION ALL ")} ORDER BY sequence ${order} LIMIT ?`)
        .all(...ranges.flatMap(({ params }) => params), query.limit);
    },
    count(query) {
      const ranges = rangesOf(query);
      if (ranges.length === 0) return 0;
      const selects = ranges.map((range) => `SELECT 1 ${from(range)}`);
      return prepared<{ n: number }>(`SELECT count(*) AS n FROM (${selects.join(" UNION ALL ")} LIMIT ?)`)
        .get(...ranges.flatMap(({ params }) => params), query.limit)!.n;
    },
  };
}

function from({ index, where }: Range): string {
  return `FROM event ${index === undefined ? "NOT INDEXED" : `INDEXED BY ${index}`} WHERE ${where}`;
}

/** What the range's index does not say: looked up in the event itself. */
function residual({ subject, value }: Given<SqliteValue>): Condition<SqliteValue> {
  return equal(`+${subject.column}`, value);
}

function ofTypes(numbers: number[]): Condition<SqliteValue> {
  return { where: `+type IN (${numbers.map(() => "?").join(", ")})`, params: numbers };
}
