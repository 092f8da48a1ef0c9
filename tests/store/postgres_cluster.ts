import type { ChildProcess } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as passed } from "node:timers/promises";
import { databaseOn, dataDirectory, runSql, type TestDatabase } from "./postgres_database.ts";
import { freePort, runPostgresProgram, serverDirectory, startServer, writeServerFile } from "./postgres_programs.ts";

export { findPgbouncer, findPostgres } from "./postgres_programs.ts";

/**
 * A PostgreSQL server of this test alone, with the database `gateway`: for tests that stop it or set it up in their own way.
 * A test that needs only a database takes one of the shared server (`createDatabase`).
 */
export interface Cluster extends TestDatabase {
  /** Stops it, `fast` or as by a power cut, and starts it again. */
  restart(mode: "fast" | "immediate"): Promise<void>;
  stop(mode: "fast" | "immediate"): Promise<void>;
  start(): Promise<void>;
  /** Stops it permanently, and removes its files. */
  remove(): Promise<void>;
}

export interface ClusterOptions {
  /** More lines of its configuration. */
  settings?: string[];
  /** Whether commits wait for the disk, as they do in use; tests have no time for it. */
  isDurable?: boolean;
  /** Files to put beside its data, which only the server can read: certificates and their keys. */
  files?: Record<string, string>;
  /** Lines of `pg_hba.conf` instead of those that trust everybody on this machine. */
  access?: string[];
}

const DATABASE = "gateway";

/** Starts a server on data of its own, with the database `gateway` in it. */
export async function startCluster(programs: string, options: ClusterOptions = {}): Promise<Cluster> {
  const directory = serverDirectory();
  const data = dataDirectory(directory);
  let port = await freePort();
  const program = (name: string, ...args: string[]) => runPostgresProgram(programs, directory, name, ...args);
  await program("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync");
  for (const [name, text] of Object.entries(options.files ?? {})) writeServerFile(join(data, name), text);
  writeServerFile(join(data, "postgresql.auto.conf"), configuration(directory, port, options));
  if (options.access) writeServerFile(join(data, "pg_hba.conf"), `${options.access.join("\n")}\n`);
  let server: ChildProcess | undefined;

  const ask = (statements: string) => runSql(programs, { port, directory }, "postgres", statements);

  async function start(): Promise<void> {
    server = startServer([join(programs, "postgres"), "-D", data], "QUIT");
    for (let tries = 0;; tries++) {
      try {
        return void await ask("SELECT 1");
      } catch (error) {
        if (tries === 1_000 || server.exitCode !== null) throw error;
        await passed(50);
      }
    }
  }

  /** Somebody else may have taken the port that was free a moment ago. */
  async function startFirst(): Promise<void> {
    for (let tries = 1;; tries++) {
      try {
        return await start();
      } catch (error) {
        if (tries === 5) throw error;
        port = await freePort();
        writeServerFile(join(data, "postgresql.auto.conf"), configuration(directory, port, options));
      }
    }
  }

  async function stop(mode: "fast" | "immediate"): Promise<void> {
    const ended = new Promise((resolve) => server!.once("exit", resolve));
    await program("pg_ctl", "stop", "-D", data, "-m", mode, "-W");
    await ended;
    server = undefined;
  }

  await startFirst();
  await ask(`CREATE DATABASE ${DATABASE}`);
  return {
    ...databaseOn(programs, { port, directory }, DATABASE),
    start,
    stop,
    async restart(mode) {
      await stop(mode);
      await start();
    },
    async remove() {
      if (server !== undefined) await stop("immediate");
      rmSync(directory, { recursive: true });
    },
  };
}

function configuration(directory: string, port: number, { settings = [], isDurable = false }: ClusterOptions): string {
  return [
    "listen_addresses = '127.0.0.1'",
    `unix_socket_directories = '${directory}'`,
    `port = ${port}`,
    "shared_buffers = 64MB",
    "max_connections = 60",
    ...(isDurable ? [] : ["fsync = off", "full_page_writes = off"]),
    ...settings,
    "",
  ].join("\n");
}
