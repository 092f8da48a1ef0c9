import type { Parameter, Sql } from "./database.ts";

/**
 * A table whose rows have a state and a place: a text in the order of the list. The state and each subject have an index,
 * `TABLE_by_COLUMN`, which ends with the state and the place.
 */
export interface PlacedTable {
  /** Without the prefix. */
  name: string;
  /** The columns that a list selects. */
  selected: string;
  /** The column of the state, and its values. */
  state: string;
  states: readonly string[];
  /** The column of the place in the indexes. */
  inIndex: string;
  /** The primary key has the place alone. */
  isOwnKey: boolean;
}

/** A column, and the value that a row must have there. */
export type Equal = readonly [column: string, value: string];

export interface PlacedQuery {
  /** The columns that every index begins with. */
  owner?: Equal;
  /** Columns with an index each. */
  subjects: Equal[];
  state?: string;
  /** Bounds of the place: `from` is inclusive, the others are not. */
  from?: string;
  to?: string;
  after?: string;
  order: "asc" | "desc";
  limit: number;
}

/**
 * Reads a list by ranges of one index: that of the subject with the fewest rows. In a range all rows match, except for further
 * subjects.
 */
export async function readPlaced<Row>(sql: Sql, table: PlacedTable, query: PlacedQuery): Promise<Row[]> {
  return await sql.read<Row>(listStatement(sql, table, query, await rarest(sql, table, query)));
}

/** The subject with the fewest rows. It counts ever more rows of each. */
async function rarest(sql: Sql, table: PlacedTable, { owner, subjects }: PlacedQuery): Promise<Equal | undefined> {
  if (subjects.length < 2) return subjects[0];
  const { state, inIndex } = table;
  for (let most = 64;; most *= 8) {
    for (const subject of subjects) {
      const equal = [...(owner === undefined ? [] : [owner]), subject];
      const where = equal.map(([column], at) => `${column} = $${at + 1}`).join(" AND ");
      const rows = rowsBy(sql, table, subject[0]);
      const few = `SELECT 1 AS one FROM ${rows} WHERE ${where} ORDER BY ${state}, ${inIndex} LIMIT ${most}`;
      const text = `SELECT count(*) AS n FROM (${few}) AS few`;
      const [row] = await sql.read<{ n: number }>({ text, parameters: equal.map(([, value]) => value) });
      if (row!.n < most) return subject;
    }
  }
}

function rowsBy(sql: Sql, { name }: PlacedTable, column: string): string {
  return `${sql.prefix}${name} ${sql.indexedBy(`${name}_by_${column}`)}`;
}

/** Reads one range of an index for each state, because every index has the state before the place. */
function listStatement(sql: Sql, table: PlacedTable, query: PlacedQuery, subject: Equal | undefined) {
  const { owner, order, limit, from, to, after } = query;
  const parameters: Parameter[] = [];
  const given = (value: Parameter) => `$${parameters.push(value)}`;
  const most = given(limit);
  const isWhole = table.isOwnKey && subject === undefined && query.state === undefined;
  const place = isWhole ? "place" : table.inIndex;
  const rows = isWhole ? `${sql.prefix}${table.name}` : rowsBy(sql, table, subject?.[0] ?? table.state);
  const begins = [owner, subject].filter((one) => one !== undefined).map(([name, value]) =>
    `${name} = ${given(value)}`
  );
  // One bound on each side: of two, SQLite searches by one and reads all rows up to the other.
  const isAfterFrom = order === "asc" && after !== undefined && (from === undefined || after >= from);
  const isBeforeTo = order === "desc" && after !== undefined && (to === undefined || after < to);
  const lower = isAfterFrom ? [">", after] as const : from && [">=", from] as const;
  const upper = isBeforeTo ? ["<", after] as const : to && ["<", to] as const;
  const bounds = [lower, upper].flatMap((bound) => bound ? [`${place} ${bound[0]} ${given(bound[1])}`] : []);
  const others = query.subjects.filter((other) => other !== subject)
    .map(([name, value]) => `${name} IS NOT DISTINCT FROM ${given(value)}`);
  const states = query.state !== undefined ? [query.state] : isWhole ? [undefined] : table.states;
  const ranges = states.map((state, at) => {
    const ofState = state === undefined ? [] : [`${table.state} = ${given(state)}`];
    const where = [...begins, ...ofState, ...bounds, ...others];
    const condition = where.length === 0 ? "" : `WHERE ${where.join(" AND ")}`;
    return `SELECT * FROM (SELECT place, ${table.selected} FROM ${rows}
      ${condition} ORDER BY ${place} ${order} LIMIT ${most}) AS range_${at}`;
  });
  return { text: `${ranges.join(" UNION ALL ")} ORDER BY place ${order} LIMIT ${most}`, parameters };
}
