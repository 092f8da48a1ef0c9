import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The directory of PostgreSQL's own programs, newest first; undefined without PostgreSQL. */
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
const AS_NOBODY = process.getuid?.() === 0
  ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", "--"]
  : [];

/** A directory that the servers can read and write; sockets in it have short names. */
export function serverDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "pg-"));
  if (AS_NOBODY.length > 0) chownSync(directory, NOBODY, NOBODY);
  return directory;
}

/** A file in it that no other user can read. */
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
 * Starts a program as the user `nobody`. Its standard input is a pipe that closes when this process ends. So the program ends
 * with this process.
 */
export function startServer(command: string[], stopSignal: string): ChildProcess {
  const script = `"$@" & child=$!; { cat >/dev/null; kill -${stopSignal} $child 2>/dev/null; } & wait $child`;
  // The pipe is the shell's own input, because a shell gives no input to background programs.
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

/** Runs one of PostgreSQL's programs in this directory as the user `nobody`. */
export function runPostgresProgram(programs: string, directory: string, name: string, ...args: string[]) {
  const [first, ...rest] = [...AS_NOBODY, join(programs, name), ...args];
  return run(first!, rest, { cwd: directory, env: { PATH: process.env.PATH, LC_ALL: "C", PGCONNECT_TIMEOUT: "5" } });
}
