import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";

const run = promisify(execFile);
export const ROOT = join(import.meta.dirname!, "../..");
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");
const TIMEOUT_MS = 120_000;

/** The first tool for the built client's tests that this machine lacks; undefined when it has all. */
export async function missing(): Promise<string | undefined> {
  if (!existsSync(TSC)) return "needs node_modules (bun install)";
  const found = await run("node", ["-p", "process.versions.node"]).then(({ stdout }) => stdout, () => undefined);
  if (found === undefined) return "needs node";
  return Number(found.split(".")[0]) >= 20 ? undefined : `needs Node 20 or later, not ${found}`;
}

/** An application that has installed the client as `npm pack` makes it, with the Stellar SDK beside it. */
export interface Application {
  folder: string;
  /** The package's files. */
  files: string[];
  /** Runs a program in it to its end and answers standard output. */
  run(program: string, args: string[], env?: Record<string, string>): Promise<string>;
  tsc(...args: string[]): Promise<string>;
  remove(): Promise<void>;
}

/** Builds the client, packs it as it would be published, and installs that. */
export async function installBuilt(): Promise<Application> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-client-"));
  const [source, modules] = [join(folder, "source"), join(folder, "app/node_modules")];
  await mkdir(source);
  await mkdir(modules, { recursive: true });
  for (const file of ["package.json", "README.md"]) await cp(join(ROOT, "lib/client/npm", file), join(source, file));
  await runNode(TSC, "-p", join(ROOT, "lib/client/npm/tsconfig.json"), "--outDir", join(source, "dist"));
  const pack = ["pack", "--silent", "--json", "--ignore-scripts", "--pack-destination", folder];
  const { stdout } = await run("npm", pack, { cwd: source, timeout: TIMEOUT_MS });
  const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
  await run("tar", ["-xzf", join(folder, filename), "-C", modules]);
  await cp(join(modules, "package"), join(modules, "payment-escrow-gateway-client"), { recursive: true });
  await rm(join(modules, "package"), { recursive: true });
  await symlink(join(ROOT, "node_modules/@stellar"), join(modules, "@stellar"));
  const app = join(folder, "app");
  await writeFile(join(app, "package.json"), JSON.stringify({ name: "app", type: "module" }));
  return {
    folder: app,
    files: files.map(({ path }) => path),
    async run(program, args, env = {}) {
      const options = { cwd: app, timeout: TIMEOUT_MS, env: { ...process.env, ...env } };
      return (await run(program, args, options)).stdout;
    },
    tsc: (...args) => runNode(TSC, ...args),
    remove: () => rm(folder, { recursive: true }),
  };

  async function runNode(...args: string[]): Promise<string> {
    try {
      return (await run("node", args, { cwd: join(folder, "app"), timeout: TIMEOUT_MS })).stdout;
    } catch (error) {
      // tsc writes its errors to standard output.
      throw new Error((error as { stdout?: string }).stdout || String(error));
    }
  }
}
