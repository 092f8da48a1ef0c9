/**
 * Runs one tier of the tests: `quick`, `test` or `all`. Ends with the line `N passed, N failed`; exit code 1 when one failed.
 * Both runtimes run side by side, `TEST_JOBS` files at a time each; the files that took longest the last time begin first.
 */
import { spawn, spawnSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { startSharedCluster } from "../store/postgres_shared.ts";
import { denoTimes, readJunit, type TestResult } from "./junit.ts";
import { type Needs, needsOf } from "./needs.ts";

type Runtime = "bun" | "deno";

const tier = process.argv[2] ?? "test";
if (!["quick", "test", "all"].includes(tier)) throw new Error(`the tier is quick, test or all; got ${tier}`);

/** Logs, reports and the times of the last run, for which git does not look. */
const CACHE = "node_modules/.cache/tests";
mkdirSync(CACHE, { recursive: true });

/** All tests of these run in the quick tier, which runs those of other rooms that a change touches. */
const QUICK_ROOMS =
  /^tests\/(?:(?:keys|limits|metrics|stellar|events|webhooks|model|run)\/|[^/]*$|store\/sqlite_test\.ts$)/;
/** Where nothing is known of the last time: rooms whose files take long, in seconds. */
const USUAL_SECONDS: Record<string, number> = { faults: 20, e2e: 20, browser: 20, docs: 15, simulation: 15, store: 20 };
/** Files at a time on each runtime: much of a test on Bun is waiting, and Deno keeps a processor busy with each. */
const CORES = Math.min(4, availableParallelism());
const JOBS: Record<Runtime, number> = {
  bun: Number(process.env.TEST_JOBS ?? 2 * CORES),
  deno: Number(process.env.TEST_JOBS ?? CORES),
};
/** The priority of tests, as of `nice`: a database has 0. */
const BELOW_DATABASE = 5;
const DENO = ["npx", "--yes", `deno@${JSON.parse(readFileSync("package.json", "utf8")).config.deno}`];

interface TestFile extends Needs {
  path: string;
}

const files: TestFile[] = readdirSync("tests", { recursive: true, encoding: "utf8" })
  .map((path) => `tests/${path.replaceAll("\\", "/")}`)
  .filter((path) => path.endsWith("_test.ts"))
  // A file without a first line runs on both; house_rules_test.ts rejects it.
  .map((path) => ({ path, ...(needsOf(readFileSync(path, "utf8")) ?? { on: "runtime" as const, isLong: false }) }))
  .sort((a, b) => a.path < b.path ? -1 : 1);

const environment: NodeJS.ProcessEnv = {
  ...process.env,
  TEST_TIER: tier,
  // Where what is made once for all files lies, as the executable.
  TEST_RUN_FOLDER: mkdtempSync(join(tmpdir(), "gateway-tests-")),
  // Deno looks for a newer version once a day, also in a test's own environment.
  DENO_NO_UPDATE_CHECK: "1",
  DENO_JOBS: String(JOBS.deno),
  // Requests of the tests to this machine must not go through a proxy.
  NO_PROXY: ["127.0.0.1,localhost,::1", process.env.NO_PROXY].filter(Boolean).join(","),
};
environment.no_proxy = environment.NO_PROXY;

const total = { passed: 0, failed: 0, skipped: 0 };
/** The failures, printed once at the end. */
const failures: string[] = [];
const slowest: { seconds: number; name: string }[] = [];

interface Ended {
  code: number;
  output: string;
  seconds: number;
}

/** Runs a command to its end; what it writes goes to a file of the cache. */
function run(name: string, [program, ...args]: string[]): Promise<Ended> {
  const path = `${CACHE}/${name}.log`;
  const log = openSync(path, "w");
  const startedAt = performance.now();
  const child = spawn(program!, args, { env: environment, stdio: ["ignore", log, log] });
  // The database that all files share answers first, as on a machine of its own.
  if (child.pid !== undefined) setPriority(child.pid, BELOW_DATABASE);
  return new Promise((resolve) => {
    const end = (code: number, more = "") => {
      closeSync(log);
      // deno-lint-ignore no-control-regex -- colours
      const output = readFileSync(path, "utf8").replaceAll(/\x1b\[[0-9;]*m/g, "") + more;
      resolve({ code, output, seconds: (performance.now() - startedAt) / 1000 });
    };
    child.once("error", (error) => end(1, String(error)));
    child.once("close", (code) => end(code ?? 1));
  });
}

function report(name: string, seconds: number, passed: number, failed: number, skipped = 0): void {
  total.passed += passed;
  total.failed += failed;
  total.skipped += skipped;
  const counts = `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
  console.log(`${failed > 0 ? "FAIL" : "ok  "}  ${name}: ${counts} (${Math.round(seconds)} s)`);
}

/** One check: passed when its command succeeds. */
async function check(name: string, command: string[]): Promise<void> {
  const { code, output, seconds } = await run(name, command);
  if (code !== 0) failures.push(`FAIL  ${name}\n${output}`);
  report(name, seconds, code === 0 ? 1 : 0, code === 0 ? 0 : 1);
}

/** Milliseconds that each file took the last time, and a guess for the others. */
function lastTimes(runtime: Runtime): Record<string, number> {
  let known: Record<string, number> = {};
  try {
    known = JSON.parse(readFileSync(`${CACHE}/${runtime}_times.json`, "utf8")).files;
  } catch {
    // The first run here.
  }
  const guess = (path: string) => (USUAL_SECONDS[path.split("/")[1]!] ?? 1) * 1000;
  return Object.fromEntries(files.map(({ path }) => [path, known[path] ?? guess(path)]));
}

function keepTimes(runtime: Runtime, times: Record<string, number>): void {
  writeFileSync(`${CACHE}/${runtime}_times.json`, JSON.stringify({ version: 1, files: times }, undefined, 1));
}

/** Runs files of tests on one runtime. */
async function suite(name: string, runtime: Runtime, paths: string[], extra: string[] = []): Promise<void> {
  if (paths.length === 0) return;
  const times = lastTimes(runtime);
  const ordered = paths.toSorted((a, b) => times[b]! - times[a]!).map((path) => `./${path}`);
  const junit = `${CACHE}/${name}.xml`;
  rmSync(junit, { force: true });
  // Bun takes the order from the file; one global for all files of a worker halves the work.
  keepTimes(runtime, times);
  const bun = [process.execPath, "test", "--only-failures", `--parallel=${JOBS.bun}`, "--no-isolate"];
  bun.push(`--timings=${CACHE}/bun_times.json`, "--update-timings");
  bun.push("--reporter=junit", `--reporter-outfile=${junit}`, ...extra);
  const deno = [...DENO, "test", "-A", "--no-check", "--parallel", `--junit-path=${junit}`];
  const ended = await run(name, [...(runtime === "bun" ? bun : deno), ...ordered]);
  let xml = "";
  try {
    xml = readFileSync(junit, "utf8");
  } catch {
    // It died without a report, or no file was to be run; its exit code tells.
  }
  if (runtime === "deno") keepTimes(runtime, { ...times, ...denoTimes(xml) });
  tell(name, runtime, ended, readJunit(xml), extra.length === 0 ? paths.length : undefined);
}

/** @param expected how many files were to run; undefined where that is not known */
function tell(name: string, runtime: Runtime, ended: Ended, results: TestResult[], expected?: number): void {
  const { code, output, seconds } = ended;
  const count = (state: TestResult["state"]) => results.filter((result) => result.state === state).length;
  const failed = results.filter(({ state }) => state === "failed");
  for (const { file, name, why } of failed) failures.push(`FAIL  ${runtime} ${file}: ${name}\n${why}`);
  // A module that does not load is in no report, and a test may end its process as if all were well.
  const ran = Number(/^Ran \d+ tests? across (\d+) files?/m.exec(output)?.[1]);
  const isWhole = runtime === "deno" ? /^(ok|FAILED) \| /m.test(output) : expected === undefined || ran === expected;
  const isOutside = (code !== 0 && failed.length === 0) || !isWhole;
  if (isOutside) failures.push(`FAIL  ${name} ended with ${code}\n${output.slice(-10_000)}`);
  for (const { file, name, seconds } of results) slowest.push({ seconds, name: `${runtime} ${file}: ${name}` });
  report(name, seconds, count("passed"), failed.length + (isOutside ? 1 : 0), count("skipped"));
}

/** The commit to compare a change with: the branch point from `main`, or the last commit. */
function changeBase(): string {
  const base = spawnSync("git", ["merge-base", "HEAD", "main"], { encoding: "utf8" });
  return base.status === 0 ? base.stdout.trim() : "HEAD";
}

async function quick(): Promise<void> {
  const fast = files.filter(({ on, isLong }) => !isLong && on !== "once");
  const [own, others] = [fast.filter(isQuick), fast.filter((file) => !isQuick(file) && file.on === "neutral")];
  await suite("quick", "bun", own.map(({ path }) => path));
  const changed = [`--changed=${changeBase()}`, "--pass-with-no-tests"];
  await suite("what imports a change", "bun", others.map(({ path }) => path), changed);
}

function isQuick({ path }: TestFile): boolean {
  return QUICK_ROOMS.test(path);
}

async function whole(): Promise<void> {
  const chosen = files.filter(({ isLong }) => tier === "all" || !isLong);
  const cluster = await startSharedCluster();
  Object.assign(environment, cluster?.env);
  const both = chosen.filter(({ on }) => on === "runtime");
  await Promise.all([
    suite("bun test", "bun", chosen.map(({ path }) => path)),
    suite("deno test", "deno", both.map(({ path }) => path)),
  ]);
  await cluster?.stop();
}

const startedAt = performance.now();
// Before the tests, some of which write samples into a folder here, into which these two would look.
await Promise.all([check("format", [...DENO, "fmt", "--check"]), check("lint", [...DENO, "lint"])]);
const types = check("types", [...DENO, "check", "main.ts", "cli", "compile", "lib", "tests"]);
await (tier === "quick" ? quick() : whole());
await types;
rmSync(environment.TEST_RUN_FOLDER!, { recursive: true, force: true });

const top = slowest.sort((a, b) => b.seconds - a.seconds).slice(0, 10);
console.log(`\nslowest:\n${top.map(({ seconds, name }) => `${seconds.toFixed(1).padStart(7)} s  ${name}`).join("\n")}`);
if (failures.length > 0) console.log(`\n${failures.join("\n\n")}`);
if (total.skipped > 0) {
  console.log(`\n${total.skipped} skipped: a tool is missing here, or the test is for npm run test:all`);
}
console.log(`\n${Math.round((performance.now() - startedAt) / 1000)} s`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 ? 0 : 1;
