import type { SqliteDatabase, SqliteStatement, SqliteValue } from "../../runtime/sqlite.ts";
import { storableJson } from "../codec.ts";
import type { Parameter, Rows, Sql, Statement, Work } from "../sql/database.ts";

/** Does the work in the commit that ends this turn of the event loop. Only an error of the database may make the work throw. */
export type CommitTogether = <T>(work: () => T) => Promise<T>;

/** The SQLite side of the shared nouns. Every answer comes at once. */
export interface SqliteSql extends Sql {
  read<Row>(statement: Statement<Row>): Rows<Row>;
  write<Row>(statement: Statement<Row>): Rows<Row>;
  /** Does the work within a transaction that is open already. */
  run<T>(work: Work<T>): T;
}

interface Prepared {
  statement: SqliteStatement<unknown>;
  returnsRows: boolean;
  /** The statement takes the time as its last parameter. */
  takesNow: boolean;
}

/** Stands for the time in a statement. Callers never pass it. */
const NOW = "$now";

export function createSqliteSql(
  { database, now, commitTogether }: { database: SqliteDatabase; now(): number; commitTogether: CommitTogether },
): SqliteSql {
  const prepared = new Map<string, Prepared>();

  /** SQLite numbers parameters as `?1`. */
  function prepareOnce(text: string): Prepared {
    const most = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
    const one: Prepared = {
      statement: database.prepare(text.replaceAll(NOW, `?${most + 1}`).replaceAll(/\$(\d+)/g, "?$1")),
      returnsRows: /^\s*SELECT\b|\bRETURNING\b/.test(text),
      takesNow: text.includes(NOW),
    };
    prepared.set(text, one);
    return one;
  }

  function execute<Row>({ text, parameters }: Statement<Row>): Rows<Row> {
    const { statement, returnsRows, takesNow } = prepared.get(text) ?? prepareOnce(text);
    const values = parameters.map(bound);
    if (takesNow) values.push(now());
    const rows = (returnsRows ? statement.all(...values) : []) as unknown as Rows<Row>;
    rows.count = returnsRows ? rows.length : statement.run(...values).changes;
    return rows;
  }

  function run<T>(work: Work<T>): T {
    let step = work.next();
    while (!step.done) step = work.next(step.value.map(execute));
    return step.value;
  }

  return {
    prefix: "",
    now: NOW,
    greatest: "max",
    lock: () => "",
    given,
    oneOf: (select) => `IN (${select})`,
    indexedBy: (index) => `INDEXED BY ${index}`,
    field: (column, name) => `(${column} ->> '${name}')`,
    logEnd: `(SELECT ${LAST} FROM log_start)`,
    logBounds: `SELECT ${LAST} AS last, forgotten FROM log_start`,
    progress: () => "progress ON progress.subscription = subscription.number",
    deleteGiven: (table, columns) => {
      const names = namesOf(columns).join(", ");
      return `DELETE FROM ${table} WHERE (${names}) IN (SELECT ${names} FROM ${given(columns)})`;
    },
    versions: {
      read: (name) => `SELECT version FROM ${name}_version`,
      raising: (_, statement) => statement,
      deleteSubscriptions: (where) => `DELETE FROM subscription WHERE ${where}`,
    },
    countingIntents: (_, statement) => statement,
    prepare(text) {
      prepareOnce(text);
      return (...parameters) => ({ text, parameters });
    },
    read: execute,
    write: execute,
    writeTogether: (statement) => commitTogether(() => execute(statement)),
    transaction: (work) => database.transaction(() => run(work())),
    transactionTogether: (work) => commitTogether(() => run(work())),
    run,
  };
}

const LAST = "max(coalesce((SELECT max(sequence) FROM event), 0), forgotten)";

const namesOf = (columns: string) => columns.split(",").map((column) => column.trim().split(" ")[0]!);

const given = (columns: string) =>
  `(SELECT ${namesOf(columns).map((name) => `value ->> '${name}' AS ${name}`).join(", ")} FROM json_each($1)) AS given`;

function bound(parameter: Parameter): SqliteValue {
  if (typeof parameter === "boolean") return Number(parameter);
  return Array.isArray(parameter) ? storableJson(parameter) : parameter as SqliteValue;
}
