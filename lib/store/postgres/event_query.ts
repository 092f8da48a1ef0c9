import type { EventFilter } from "../event.ts";
import { packAddress, packHash } from "../packing.ts";
import type { EventQuery } from "../store.ts";
import type { Parameter } from "./connection.ts";
import type { PostgresDatabase } from "./database.ts";
import { columnOf, EVENT_COLUMNS, type EventRow } from "./event_rows.ts";
import type { PostgresLog } from "./log.ts";
import type { PostgresContext } from "./store.ts";
import type { Words } from "./words.ts";

/** Some rows of the log; each `?` stands for the next parameter. */
interface Condition {
  where: string;
  params: Parameter[];
}

/** A condition on a column that has an index of its own, which ends with the sequence; most telling first. */
interface Subject {
  column: string;
  /** Whether `type` stands between the column and the sequence in its index. */
  byType: boolean;
  pack(value: string): Uint8Array;
}

/** One that a query has, with the value wanted. */
interface Given {
  subject: Subject;
  value: Uint8Array;
}

/** What is not a subject: types join every subject's index or have their own; heights bound the sequences. */
type SubjectKey = Exclude<keyof EventFilter, "types" | "fromHeight" | "toHeight">;

const hash = (value: string) => columnOf(packHash(value));
const address = (value: string) => columnOf(packAddress(value));
const SUBJECTS = {
  txHash: { column: "tx_hash", byType: false, pack: hash },
  deviceHash: { column: "device_hash", byType: true, pack: hash },
  agent: { column: "agent", byType: true, pack: address },
  merchant: { column: "merchant", byType: true, pack: address },
} satisfies Record<SubjectKey, Subject>;

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
  async function rarest(subjects: Given[]): Promise<Given | undefined> {
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
  async function rangesOf({ filter, after = 0, upTo = Number.MAX_SAFE_INTEGER }: EventQuery): Promise<Condition[]> {
    const { fromHeight, toHeight } = filter;
    const begin = fromHeight === undefined ? 1 : await log.reached(fromHeight);
    if (begin === undefined) return [];
    const beyond = toHeight === undefined ? undefined : await log.reached(toHeight + 1);
    const from = Math.max(after, begin - 1);
    const onTime = beyond === undefined ? upTo : Math.min(upTo, beyond - 1);
    const given = Object.entries(SUBJECTS).flatMap(([key, subject]) => {
      const value = filter[key as SubjectKey];
      return value === undefined ? [] : [{ subject, value: subject.pack(value) }];
    });
    const wanted = filter.types && await numbersOf(filter.types);
    if (wanted?.length === 0) return [];

    // A late event may lie anywhere, and another gateway may append meanwhile. No index is of use for a height.
    const heights: Condition[] = [
      ...(fromHeight === undefined ? [] : [{ where: "height + 0 >= ?", params: [fromHeight] }]),
      ...(toHeight === undefined ? [] : [{ where: "height + 0 <= ?", params: [toHeight] }]),
    ];
    const by = await rarest(given);
    const rest = [...given.filter((one) => one !== by).map(residual), ...heights];
    const ranges = (await subjectRanges(by, wanted))
      .map((range) => all([range, between(range === EVERYTHING ? "sequence" : IN_INDEX, from, onTime), ...rest]));
    if (onTime === upTo) return ranges;
    const late = all([
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
  async function subjectRanges(by: Given | undefined, wanted?: number[]): Promise<Condition[]> {
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
const EVERYTHING: Condition = { where: "", params: [] };

function numbered(sql: string): string {
  let number = 0;
  return sql.replaceAll("?", () => `$${++number}`);
}

function equal(column: string, value: Parameter): Condition {
  return { where: `${column} = ?`, params: [value] };
}

/** What the range's index does not say: looked up in the event itself, in a form that no index is of use for. */
function residual({ subject, value }: Given): Condition {
  return { where: `${subject.column} IS NOT DISTINCT FROM ?`, params: [value] };
}

/** In a form that no index is of use for. */
function ofTypes(numbers: number[]): Condition {
  return { where: "(type * 1) = ANY (?::integer[])", params: [`{${numbers.join(",")}}`] };
}

function between(column: string, after: number, upTo: number): Condition {
  return { where: `${column} > ? AND ${column} <= ?`, params: [after, upTo] };
}

function all(conditions: Condition[]): Condition {
  return {
    where: conditions.map(({ where }) => where).filter((where) => where !== "").join(" AND "),
    params: conditions.flatMap(({ params }) => params),
  };
}
