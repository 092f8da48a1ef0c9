import { packAddress, packHash } from "../codec.ts";
import { type EventFilter, OWN_EVENT_TYPES } from "../event.ts";
import type { EventQuery } from "../store.ts";
import type { Answer, Parameter, Rows, Statement } from "./database.ts";

/** Some rows of the log. Each `?` stands for the next parameter. */
export interface Condition {
  where: string;
  params: Parameter[];
}

/** Rows that one index has next to each other, by sequence. */
export interface Range extends Condition {
  /** Absent: the primary key. */
  index?: string;
}

/** A column with an index of its own, which ends with the sequence. */
interface Subject {
  column: string;
  /** Whether `type` stands between the column and the sequence in its index. */
  byType: boolean;
  pack(value: string): Uint8Array | string;
}

/** A subject that a query names, with its value. */
interface Given {
  subject: Subject;
  value: Parameter;
}

/** Types join every subject's index or have their own. Heights bound the sequences. */
type SubjectKey = Exclude<keyof EventFilter, "types" | "fromHeight" | "toHeight">;

const SUBJECTS = {
  txHash: { column: "tx_hash", byType: false, pack: packHash },
  deviceHash: { column: "device_hash", byType: true, pack: packHash },
  agent: { column: "agent", byType: true, pack: packAddress },
  merchant: { column: "merchant", byType: true, pack: packAddress },
} satisfies Record<SubjectKey, Subject>;

type Order = "asc" | "desc";

/** The differences between the two drivers. */
export interface EventQueryParts {
  read<Row>(statement: Statement<Row>): Answer<Rows<Row>>;
  /** The table, to be searched by this index. */
  from(index?: string): string;
  /** The sequence as the indexes have it. The primary key has `sequence`. */
  sequence: string;
  /** The type as its own index has it. */
  type: string;
  isLate: string;
  /** The stored form of a packed hash or address. */
  valueOf(packed: Uint8Array | string): Parameter;
  /** Selects the events of all ranges by their order. The last parameters of a range are `limits` times the limit. */
  merge(ranges: Range[], order: Order): string;
  limits: number;
  types: { find(text: string): Answer<number | undefined>; numbers(): Answer<number[]> };
  log: { reached(height: number): Answer<number | undefined> };
}

export interface EventQueries<Row> {
  select(query: EventQuery & { order: Order; limit: number }): Promise<Row[]>;
  count(query: EventQuery & { limit: number }): Promise<number>;
}

/**
 * Finds events by ranges that hold nothing but matches, in order. So the depth of a page and the rarity of its matches do
 * not matter. Late events lie outside of the ledgers' order, and there are few. A webhook's query begins at a height far
 * below its cursor, and that costs nothing.
 */
export function sqlEventQueries<Row>(parts: EventQueryParts): EventQueries<Row> {
  const { log, types } = parts;
  let own: Promise<number[]> | undefined;

  /** Texts depend on the columns, the number of types and the order alone: the statements stay few. */
  function statement<R>(sql: string, parameters: Parameter[]): Statement<R> {
    let number = 0;
    return { text: sql.replaceAll("?", () => `$${++number}`), parameters };
  }

  /** The named subject with the fewest events. It counts ever more events of each. */
  async function rarest(subjects: Given[]): Promise<Given | undefined> {
    if (subjects.length < 2) return subjects[0];
    for (let most = 64;; most *= 8) {
      for (const given of subjects) {
        const { column, byType } = given.subject;
        // In the order of its index: a planner that expects few values may search all of the log for a rare one.
        const few = `SELECT 1 ${parts.from(indexOf(column))} WHERE ${column} = ?
          ORDER BY ${byType ? "type, " : ""}${parts.sequence} LIMIT ${most}`;
        const [row] = await parts.read<{ n: number }>(
          statement(`SELECT count(*) AS n FROM (${few}) AS few`, [given.value]),
        );
        if (row!.n < most) return given;
      }
    }
  }

  /** The ranges that together hold the query's events. None when nothing can match. */
  async function rangesOf(
    { filter, after = 0, upTo = Number.MAX_SAFE_INTEGER, withOwn }: EventQuery,
  ): Promise<Range[]> {
    const { fromHeight, toHeight } = filter;
    const begin = fromHeight === undefined ? 1 : await log.reached(fromHeight);
    if (begin === undefined) return [];
    const beyond = toHeight === undefined ? undefined : await log.reached(toHeight + 1);
    const from = Math.max(after, begin - 1);
    const onTime = beyond === undefined ? upTo : Math.min(upTo, beyond - 1);
    const given = givenSubjects(filter, parts.valueOf);
    const wanted = filter.types && await numbersOf(filter.types);
    if (wanted?.length === 0) return [];
    const left = filter.types === undefined && !withOwn ? await ownNumbers() : [];
    const isKept = left.length === 0 ? [] : [notOfTypes(left)];

    // A late event may lie anywhere, and another gateway may append meanwhile.
    const heights = heightsWithin(filter);
    const by = await rarest(given);
    const rest = [
      ...given.filter((one) => one !== by).map(residual),
      ...heights,
      ...(by?.subject.byType ? [] : isKept),
    ];
    const ranges = (await subjectRanges(by, wanted, left)).map(({ index, ...range }) => {
      const sequence = index === undefined ? "sequence" : parts.sequence;
      return { index, ...all([range, between(sequence, from, onTime), ...rest]) };
    });
    if (onTime === upTo) return ranges;
    const late = all([
      { where: parts.isLate, params: [] },
      between(parts.sequence, Math.max(from, onTime), upTo),
      ...given.map(residual),
      ...(wanted === undefined ? isKept : [ofTypes(wanted)]),
      ...heights,
    ]);
    return [...ranges, { index: "event_late", ...late }];
  }

  /** The schema has these types, so their numbers never change. */
  function ownNumbers(): Promise<number[]> {
    return own ??= numbersOf([...OWN_EVENT_TYPES]).catch((error) => {
      own = undefined;
      throw error;
    });
  }

  /** Each number once, however often a query names the type. */
  async function numbersOf(names: string[]): Promise<number[]> {
    const found = new Set<number>();
    for (const name of names) {
      const number = await types.find(name);
      if (number !== undefined) found.add(number);
    }
    return [...found];
  }

  /** One range a type where the index has the type before the sequence. */
  async function subjectRanges(by: Given | undefined, wanted: number[] | undefined, left: number[]): Promise<Range[]> {
    if (by === undefined) {
      return wanted?.map((type) => ({ index: "event_by_type", ...equal(parts.type, type) })) ?? [all([])];
    }
    const { column, byType } = by.subject;
    const index = indexOf(column);
    const own = equal(column, by.value);
    if (!byType) return [{ index, ...all(wanted === undefined ? [own] : [own, ofTypes(wanted)]) }];
    const searched = wanted ?? (await types.numbers()).filter((type) => !left.includes(type));
    return searched.map((type) => ({ index, ...all([own, equal("type", type)]) }));
  }

  return {
    async select(query) {
      const ranges = await rangesOf(query);
      if (ranges.length === 0) return [];
      const limits = Array<number>(parts.limits).fill(query.limit);
      const params = ranges.flatMap(({ params }) => [...params, ...limits]);
      return await parts.read<Row>(statement(parts.merge(ranges, query.order), [...params, query.limit]));
    },
    async count(query) {
      const ranges = await rangesOf(query);
      if (ranges.length === 0) return 0;
      const selects = ranges.map(({ index, where }) => `SELECT 1 ${parts.from(index)} WHERE ${where}`);
      const sql = `SELECT count(*) AS n FROM (${selects.join(" UNION ALL ")} LIMIT ?) AS found`;
      const params = [...ranges.flatMap(({ params }) => params), query.limit];
      return (await parts.read<{ n: number }>(statement(sql, params)))[0]!.n;
    },
  };
}

const indexOf = (column: string) => `event_by_${column}`;

function givenSubjects(filter: EventFilter, valueOf: EventQueryParts["valueOf"]): Given[] {
  return Object.entries(SUBJECTS).flatMap(([key, subject]) => {
    const value = filter[key as SubjectKey];
    return value === undefined ? [] : [{ subject, value: valueOf(subject.pack(value)) }];
  });
}

/** A form that no index can serve, as in `residual` and `ofTypes`. */
function heightsWithin({ fromHeight, toHeight }: EventFilter): Condition[] {
  return [
    ...(fromHeight === undefined ? [] : [{ where: "height + 0 >= ?", params: [fromHeight] }]),
    ...(toHeight === undefined ? [] : [{ where: "height + 0 <= ?", params: [toHeight] }]),
  ];
}

/** The index of the range does not know this column, so the database reads the event itself. */
function residual({ subject, value }: Given): Condition {
  return { where: `${subject.column} IS NOT DISTINCT FROM ?`, params: [value] };
}

function ofTypes(numbers: number[]): Condition {
  return { where: `(type * 1) IN (${numbers.map(() => "?").join(", ")})`, params: numbers };
}

function notOfTypes(numbers: number[]): Condition {
  return { where: `(type * 1) NOT IN (${numbers.map(() => "?").join(", ")})`, params: numbers };
}

function equal(column: string, value: Parameter): Condition {
  return { where: `${column} = ?`, params: [value] };
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
