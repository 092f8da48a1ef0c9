import { randomBytes } from "node:crypto";
import { type Cluster, startCluster } from "./postgres_cluster.ts";
import { databaseOn, runSql, type ServerAddress, type TestDatabase } from "./postgres_database.ts";
import { findPostgres } from "./postgres_programs.ts";

/** The variable in which the test run passes the shared server: JSON of a `ServerAddress`. */
const VARIABLE = "TEST_POSTGRES";

/** A database of one test file on a server that other files use as well. */
export interface SharedDatabase extends TestDatabase {
  /** Ends its sessions and removes it. */
  remove(): Promise<void>;
}

/**
 * Only the superuser `postgres` needs no password over TCP. Vacuuming would cost processor time for databases that are gone
 * within a minute.
 */
const OPTIONS = {
  settings: ["max_connections = 400", "autovacuum = off"],
  access: ["local all all trust", "host all postgres 127.0.0.1/32 trust", "host all all 127.0.0.1/32 scram-sha-256"],
};

/** Starts the server of a test run; undefined where PostgreSQL is not installed. `env` tells the tests where it is. */
export async function startSharedCluster(): Promise<
  { env: Record<string, string>; stop(): Promise<void> } | undefined
> {
  const programs = findPostgres();
  if (programs === undefined) return undefined;
  const { port, directory, remove } = await startCluster(programs, OPTIONS);
  return { env: { [VARIABLE]: JSON.stringify({ port, directory }) }, stop: remove };
}

/** The server of this process, unless the test run has started one. It lives as long as one of its databases. */
let own: Promise<Cluster> | undefined;
let databases = 0;

/** Makes a database that is this test's alone; its server is shared. */
export async function createDatabase(programs: string): Promise<SharedDatabase> {
  databases += 1;
  const shared = process.env[VARIABLE];
  const server: ServerAddress = shared === undefined
    ? await (own ??= startCluster(programs, OPTIONS))
    : JSON.parse(shared);
  const name = `test_${randomBytes(6).toString("hex")}`;
  const ask = (statements: string) => runSql(programs, server, "postgres", statements);
  await ask(`CREATE DATABASE ${name}`);
  return {
    ...databaseOn(programs, server, name),
    async remove() {
      databases -= 1;
      if (own === undefined) return void await ask(`DROP DATABASE ${name} WITH (FORCE)`);
      if (databases > 0) return;
      const cluster = await own;
      own = undefined;
      await cluster.remove();
    },
  };
}
