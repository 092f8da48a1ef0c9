import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as passed } from "node:timers/promises";
import { promisify } from "node:util";

/** A PostgreSQL server of this test alone. */
export interface Cluster {
  port: number;
  /** The directory of its Unix socket. */
  directory: string;
  /** How `openStore` names a store in it; parameters are added to the URL. */
  setting(parameters?: Record<string, string>): string;
  /** Runs statements as the superuser; answers what they print, unaligned. */
  sql(statements: string): Promise<string>;
  /** Makes what `pg_dump` wrote. */
  restore(dump: string): Promise<void>;
  /** Has stores in it go by a clock that stands, from their next connection on; `setClock` sets it. */
  useTestClock(): Promise<void>;
  setClock(nowMs: number): void;
  /** Stops it, `fast` or as by a power cut, and starts it again. */
  restart(mode: "fast" | "immediate"): Promise<void>;
  stop(mode: "fast" | "immediate"): Promise<void>;
  start(): Promise<void>;
  /** Stops it for good, and removes what it kept. */
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

const run = promisify(execFile);

/** The directory of PostgreSQL's own programs, newest first; undefined where there is none. */
export function findPostgres(): string | undefined {
  const versions = existsSync("/usr/lib/postgresql") ? readdirSync("/usr/lib/postgresql") : [];
  const packaged = versions.sort((a, b) => Number(b) - Number(a)).map((version) =>
    `/usr/lib/postgresql/${version}/bin`
  );
  const places = [...(process.env.PATH ?? "").split(delimiter), ...packaged];
  return places.find((place) => ["initdb", "postgres", "psql"].every((name) => existsSync(join(place, name))));
}

/** The same for pgbouncer's one program. */
export function findPgbouncer(): string | undefined {
  const places = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin"];
  return places.map((place) => join(place, "pgbouncer")).find((path) => existsSync(path));
}

/** PostgreSQL and pgbouncer refuse to run as root. */
const NOBODY = 65_534;
export const AS_NOBODY = process.getuid?.() === 0
  ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", "--"]
  : [];

/** A directory that the servers can read and write; sockets in it have short names. */
export function serverDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "pg-"));
  if (AS_NOBODY.length > 0) chownSync(directory, NOBODY, NOBODY);
  return directory;
}

/** A file in it that nobody else can read. */
export function writeServerFile(path: string, text: string): void {
  writeFileSync(path, text);
  chmodSync(path, 0o600);
  if (AS_NOBODY.length > 0) chownSync(path, NOBODY, NOBODY);
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * Starts a program as nobody, so that it ends with this process whatever becomes of that: its standard input is a pipe
 * that is closed then.
 */
export function startServer(command: string[], stopSignal: string): ChildProcess {
  const script = `"$@" & child=$!; { cat >/dev/null; kill -${stopSignal} $child 2>/dev/null; } & wait $child`;
  // The pipe is what the shell had as its input: a shell gives what runs behind it none.
  const [program, ...args] = [
    ...AS_NOBODY,
    "sh",
    "-c",
    `exec 3<&0; ${script.replace("cat", "cat <&3")}`,
    "sh",
    ...command,
  ];
  return spawn(program!, args, { stdio: ["pipe", "ignore", "ignore"] });
}

/**
 * The database's clock, as a store asks for it: a function of that name is found before PostgreSQL's own. What the test
 * wrote another session reads at once.
 */
const TEST_CLOCK = `
  CREATE SCHEMA clock;
  CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql AS
    $$ SELECT to_timestamp(pg_read_file('clock')::bigint / 1000.0) $$;
  ALTER ROLE postgres IN DATABASE gateway SET search_path = clock, pg_catalog`;

/** Starts a server on data of its own, with the database `gateway` in it. */
export async function startCluster(programs: string, options: ClusterOptions = {}): Promise<Cluster> {
  const directory = serverDirectory();
  const data = join(directory, "data");
  let port = await freePort();
  const program = (name: string, ...args: string[]) => {
    const [first, ...rest] = [...AS_NOBODY, join(programs, name), ...args];
    return run(first!, rest, { cwd: directory, env: { PATH: process.env.PATH, LC_ALL: "C", PGCONNECT_TIMEOUT: "5" } });
  };
  await program("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync");
  for (const [name, text] of Object.entries(options.files ?? {})) writeServerFile(join(data, name), text);
  writeServerFile(join(data, "postgresql.auto.conf"), configuration(directory, port, options));
  if (options.access) writeServerFile(join(data, "pg_hba.conf"), `${options.access.join("\n")}\n`);
  let server: ChildProcess | undefined;

  async function restore(dump: string): Promise<void> {
    const file = join(directory, "restored.sql");
    writeServerFile(file, dump);
    const where = ["-h", directory, "-p", String(port), "-U", "postgres", "-d", "gateway"];
    await program("psql", ...where, "-qX", "-v", "ON_ERROR_STOP=1", "-f", file);
  }

  async function sql(statements: string, database = "gateway"): Promise<string> {
    const where = ["-h", directory, "-p", String(port), "-U", "postgres", "-d", database];
    const { stdout } = await program("psql", ...where, "-qXAt", "-v", "ON_ERROR_STOP=1", "-c", statements);
    return stdout.trim();
  }

  async function start(): Promise<void> {
    server = startServer([join(programs, "postgres"), "-D", data], "QUIT");
    for (let tries = 0;; tries++) {
      try {
        return void await sql("SELECT 1", "postgres");
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
  await sql("CREATE DATABASE gateway", "postgres");
  return {
    port,
    directory,
    setting(parameters = {}) {
      const query = new URLSearchParams(parameters).toString();
      return `postgres://postgres@127.0.0.1:${port}/gateway${query === "" ? "" : `?${query}`}`;
    },
    sql,
    restore,
    useTestClock: async () => void await sql(TEST_CLOCK),
    setClock: (nowMs) => writeFileSync(join(data, "clock"), String(nowMs)),
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
