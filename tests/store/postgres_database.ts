import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runPostgresProgram, writeServerFile } from "./postgres_programs.ts";

/** Where a server listens: its port, and the directory of its Unix socket, in which its data is, too. */
export interface ServerAddress {
  port: number;
  directory: string;
}

/** One database of a server. */
export interface TestDatabase extends ServerAddress {
  name: string;
  /** How `openStore` names a store in it; parameters are added to the URL. */
  setting(parameters?: Record<string, string>): string;
  /** Runs statements as the superuser; returns their output, unaligned. */
  sql(statements: string): Promise<string>;
  /** Restores a dump of `pg_dump`. */
  restore(dump: string): Promise<void>;
  /** From their next connection on, stores in this database use a stopped clock. `setClock` sets it. */
  useTestClock(): Promise<void>;
  setClock(nowMs: number): void;
}

/**
 * Replaces the database's clock by a function of the same name, which PostgreSQL finds before its own. Every session reads
 * the time that the test has written last.
 */
const testClock = (name: string) => `
  CREATE SCHEMA clock;
  CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql AS
    $$ SELECT to_timestamp(pg_read_file('clock_${name}')::bigint / 1000.0) $$;
  ALTER ROLE postgres IN DATABASE ${name} SET search_path = clock, pg_catalog`;

/** The directory of a server's data. */
export const dataDirectory = (directory: string) => join(directory, "data");

/** Runs statements in a database of this server as the superuser; returns their output, unaligned. */
export async function runSql(
  programs: string,
  { port, directory }: ServerAddress,
  database: string,
  statements: string,
): Promise<string> {
  const where = ["-h", directory, "-p", String(port), "-U", "postgres", "-d", database];
  const options = ["-qXAt", "-v", "ON_ERROR_STOP=1", "-c", statements];
  const { stdout } = await runPostgresProgram(programs, directory, "psql", ...where, ...options);
  return stdout.trim();
}

/** A database that is there already. */
export function databaseOn(programs: string, { port, directory }: ServerAddress, name: string): TestDatabase {
  const sql = (statements: string) => runSql(programs, { port, directory }, name, statements);
  const clock = join(dataDirectory(directory), `clock_${name}`);
  return {
    port,
    directory,
    name,
    setting(parameters = {}) {
      const query = new URLSearchParams(parameters).toString();
      return `postgres://postgres@127.0.0.1:${port}/${name}${query === "" ? "" : `?${query}`}`;
    },
    sql,
    async restore(dump) {
      const file = join(directory, `${name}.sql`);
      writeServerFile(file, dump);
      const where = ["-h", directory, "-p", String(port), "-U", "postgres", "-d", name];
      await runPostgresProgram(programs, directory, "psql", ...where, "-qX", "-v", "ON_ERROR_STOP=1", "-f", file);
      rmSync(file);
    },
    useTestClock: async () => void await sql(testClock(name)),
    setClock(nowMs) {
      // In one step: a session may read it at any moment.
      writeFileSync(`${clock}.new`, String(nowMs));
      renameSync(`${clock}.new`, clock);
    },
  };
}
