import { all, between, type Condition, equal, type Given, givenSubjects, heightsWithin } from "../sql/event_query.ts";
import type { EventQuery } from "../store.ts";
import type { Parameter } from "./connection.ts";
import type { PostgresContext, PostgresDatabase } from "./database.ts";
import { columnOf, EVENT_COLUMNS, type EventRow, type Words } from "./event_rows.ts";
import type { PostgresLog } from "./log.ts";

/** The sequence as the indexes of types and subjects have it (schema.ts). */
const IN_INDEX = "indexed_sequence";

export interface EventQueries {
  select(query: EventQuery & { order: "asc" | "desc"; limit: number }): Promise<EventRow[]>;
  count(query: EventQuery & { limit: number }): Promise<number>;
}

/**
 * Finds events by ranges that hold nothing but matches, in order, so the depth of a page and the rarity of its matches do
 * not matter. What came late, in a ledger below one that was known already, lies out of the ledgers' order: there are few.
 */
export function postgresEventQueries(
  { database, prefix }: Pick<PostgresContext, "prefix"> & { database: Pick<PostgresDatabase, "read"> },
  types: Words,
  log: PostgresLog,
): EventQueries {
  /** The given subject that has the fewest events, by counting ever more of each. */
  async function rarest(subjects: Given<Parameter>[]): Promise<Given<Parameter> | undefined> {
    if (subjects.length < 2) return subjects[0];
    for (let most = 64;; most *= 8) {
      for (const found of subjects) {
        const { column, byType } = found.subject;
        // In its index's order: else a planner that knows of few values may look for a rare one in all of the log.
        const few = `SELECT 1 FROM ${prefix}event WHERE ${column} = $1
          ORDER BY ${byType ? "type, " : ""}${IN_INDEX} LIMIT ${most}`;
        const [row] = await database.read<{ n: number }>(`SELECT count(*) AS n FROM (${few}) AS few`, [found.value]);
        if (row!.n < most) return found;
      }
    }
  }

  /** The ranges that together hold what the query is about; none when nothing can match. */
  async function rangesOf(
    { filter, after = 0, upTo = Number.MAX_SAFE_INTEGER }: EventQuery,
  ): Promise<Condition<Parameter>[]> {
    const { fromHeight, toHeight } = filter;
    const begin = fromHeight === undefined ? 1 : await log.reached(fromHeight);
    if (begin === undefined) return [];
    const beyond = toHeight === undefined ? undefined : await log.reached(toHeight + 1);
    const from = Math.max(after, begin - 1);
    const onTime = beyond === undefined ? upTo : Math.min(upTo, beyond - 1);
    const given = givenSubjects<Parameter>(filter, columnOf);
    const wanted = filter.types && await numbersOf(filter.types);
    if (wanted?.length === 0) return [];

    // A late event may lie anywhere, and another gateway may append meanwhile. No index is of use for a height.
    const heights = heightsWithin(filter, "height + 0");
    const by = await rarest(given);
    const rest = [...given.filter((one) => one !== by).map(residual), ...heights];
    const ranges = (await subjectRanges(by, wanted))
      .map((range) => all([range, between(range === EVERYTHING ? "sequence" : IN_INDEX, from, onTime), ...rest]));
    if (onTime === upTo) return ranges;
    const late = all<Parameter>([
      { where: "is_late", params: [] },
      between(IN_INDEX, Math.max(from, onTime), upTo),
      ...given.map(residual),
      ...(wanted === undefined ? [] : [ofTypes(wanted)]),
      ...heights,
    ]);
    return [...ranges, late];
  }

  async function numbersOf(names: string[]): Promise<number[]> {
    const found = new Set<number>();
    for (const name of names) {
      const number = await types.find(name);
      if (number !== undefined) found.add(number);
    }
    return [...found];
  }

  /** One range a type where the index has the type before the sequence. */
  async function subjectRanges(by: Given<Parameter> | undefined, wanted?: number[]): Promise<Condition<Parameter>[]> {
    if (by === undefined) return wanted?.map((type) => equal("(type + 0)", type)) ?? [EVERYTHING];
    const own = equal(by.subject.column, by.value);
    if (!by.subject.byType) return [all(wanted === undefined ? [own] : [own, ofTypes(wanted)])];
    return (wanted ?? await types.numbers()).map((type) => all([own, equal("type", type)]));
  }

  return {
    async select(query) {
      const ranges = await rangesOf(query);
      if (ranges.length === 0) return [];
      const column = ranges[0]!.where.startsWith("sequence") ? "sequence" : IN_INDEX;
      const inOrder = `ORDER BY ${column}${query.order === "asc" ? "" : " DESC"} LIMIT ?`;
      const selects = ranges.map(({ where }) =>
        `(SELECT ${IN_INDEX}, ${EVENT_COLUMNS} FROM ${prefix}event WHERE ${where} ${inOrder})`
      );
      const params = ranges.flatMap(({ params }) => [...params, query.limit]);
      // Each range by itself: of several together a planner does not see that an index has each in order.
      return await database.read<EventRow>(
        numbered(`SELECT * FROM (${selects.join(" UNION ALL ")}) AS found ${inOrder}`),
        [...params, query.limit],
      );
    },
    async count(query) {
      const ranges = await rangesOf(query);
      if (ranges.length === 0) return 0;
      const selects = ranges.map(({ where }) => `SELECT 1 FROM ${prefix}event WHERE ${where}`);
      const sql = `SELECT count(*) AS n FROM (${selects.join(" UNION ALL ")} LIMIT ?) AS found`;
      const params = [...ranges.flatMap(({ params }) => params), query.limit];
      return (await database.read<{ n: number }>(numbered(sql), params))[0]!.n;
    },
  };
}

/** The log itself, by its primary key. */
const EVERYTHING: Condition<Parameter> = { where: "", params: [] };

function numbered(sql: string): string {
  let number = 0;
  return sql.replaceAll("?", () => `$${++number}`);
}

/** What the range's index does not say: looked up in the event itself, in a form that no index is of use for. */
function residual({ subject, value }: Given<Parameter>): Condition<Parameter> {
  return { where: `${subject.column} IS NOT DISTINCT FROM ?`, params: [value] };
}

/** In a form that no index is of use for. */
function ofTypes(numbers: number[]): Condition<Parameter> {
  return { where: "(type * 1) = ANY (?::integer[])", params: [`{${numbers.join(",")}}`] };
}
