/** A parameter of a statement. A list of rows goes to the database as JSON, for `Sql.given`. */
export type Parameter = string | number | boolean | null | Uint8Array | readonly object[];

/** The rows that a statement returns, and how many rows it changed. */
export type Rows<Row> = Row[] & { count: number };

/** A statement with its parameters `$1`, `$2` … */
export interface Statement<Row> {
  text: string;
  parameters: Parameter[];
  /** Never set: it carries the type of the rows. */
  row?: Row;
}

/** The work of one transaction: it yields statements, and receives the rows of each. */
// deno-lint-ignore no-explicit-any -- `send` gives each statement's rows their type
export type Work<T> = Generator<Statement<any>[], T, Rows<any>[]>;

type RowsOf<Statements> = {
  [Key in keyof Statements]: Statements[Key] extends Statement<infer Row> ? Rows<Row> : never;
};

/** Runs statements within a transaction, in their order. PostgreSQL receives them in one go. */
export function* send<Statements extends Statement<unknown>[]>(
  ...statements: Statements
): Work<RowsOf<Statements>> {
  return (yield statements) as RowsOf<Statements>;
}

/** Does several works step by step together, so that PostgreSQL receives the statements of all in one go. */
export function* together<Works extends Work<unknown>[]>(
  ...works: Works
): Work<{ [Key in keyof Works]: Works[Key] extends Work<infer T> ? T : never }> {
  const steps = works.map((work) => work.next());
  while (steps.some(({ done }) => !done)) {
    const rows = yield steps.flatMap((step) => step.done ? [] : step.value);
    let at = 0;
    steps.forEach((step, n) => {
      if (!step.done) steps[n] = works[n]!.next(rows.slice(at, at += step.value.length));
    });
  }
  return steps.map(({ value }) => value) as never;
}

/** SQLite answers at once, PostgreSQL over the wire. */
export type Answer<T> = T | Promise<T>;

/** The words in which SQLite and PostgreSQL differ. */
export interface Dialect {
  /** Stands before the name of every table. */
  prefix: string;
  /** The store's clock, Unix ms. */
  now: string;
  /** The function that returns the greatest of its arguments. */
  greatest: string;
  /** Locks the rows that a SELECT reads until the commit. */
  lock(strength: "UPDATE" | "SHARE", table?: string): string;
  /** The list of rows `$1` as a table `given`, for instance with the columns `id text, count bigint`. */
  given(columns: string): string;
  /** The condition that a column has one of the selected values. It finds the rows by an index. */
  oneOf(select: string): string;
  /** After a table: the index to use. SQLite has no statistics, and takes another one for equal. PostgreSQL has them. */
  indexedBy(index: string): string;
  /** A field of the JSON in a text column, as text. */
  field(column: string, name: string): string;
  /** The newest sequence of the log. */
  logEnd: string;
  /** Selects the `LogBounds`. */
  logBounds: string;
  /** Joins the progress of `subscription`, the outer table. */
  progress(lock?: "UPDATE"): string;
  /** Deletes the rows whose columns are in the list of rows `$1`. */
  deleteGiven(table: string, columns: string): string;
}

/** Both drivers offer this to the nouns that they share. */
export interface Sql extends Dialect {
  /** Prepares a statement, once, when the store opens. */
  prepare<Row = never>(text: string): (...parameters: Parameter[]) => Statement<Row>;
  read<Row>(statement: Statement<Row>): Answer<Rows<Row>>;
  /** Runs a statement in a commit of its own. */
  write<Row>(statement: Statement<Row>): Answer<Rows<Row>>;
  /** As `write`. On SQLite, all writes of one turn of the event loop share one commit, and one wait for the disk. */
  writeTogether<Row>(statement: Statement<Row>): Answer<Rows<Row>>;
  /** Does the work in one transaction. PostgreSQL may repeat the work after a conflict, so it must do nothing else. */
  transaction<T>(work: () => Work<T>): Answer<T>;
  /** As `transaction`. On SQLite it shares its commit, as `writeTogether` does. */
  transactionTogether<T>(work: () => Work<T>): Answer<T>;
  /** How the store counts changes of keys and subscriptions. */
  versions: Versions;
  /** Wraps a statement that returns the `key_id` of each new or deleted intent, so that its commit counts them. SQLite has triggers. */
  countingIntents(change: 1 | -1, statement: string): string;
}

export type VersionName = "keys" | "subscriptions";

/** Counts the changes of keys, and of subscriptions and replays. SQLite counts with triggers. */
export interface Versions {
  /** A SELECT of the column `version`. */
  read(name: VersionName): string;
  /** Wraps a statement that returns the changed rows (`RETURNING`), so that its commit raises the version if there are any. */
  raising(name: VersionName, statement: string): string;
  /** Deletes subscriptions with progress and replay, lists them in `deleted_subscription`, and raises the version. */
  deleteSubscriptions(where: string): string;
}

/** The context of each shared noun. */
export interface SqlContext {
  sql: Sql;
  location: string;
}
