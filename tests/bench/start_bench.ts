import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mintKey } from "../../lib/keys/api_key.ts";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import { openStore } from "../../lib/store/open.ts";
import { environment } from "../e2e/sandbox_process.ts";
import { type Figure, median, withSpread } from "./figures.ts";
import { runtimeCommand } from "./processes.ts";

const ROUNDS = 9;
const KEYS = 100_000;

/** #12: the executable, from start to its first answer on a store of 100 000 keys, and to the end of `help` and `keygen`. */
export async function startFigures(root: string): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), "gateway-start-"));
  try {
    const gateway = join(folder, "gateway");
    execFileSync(join(root, "compile.sh"), { env: environment({ DIST: folder }), stdio: "ignore" });
    await fillStore(join(folder, "gateway.db"));
    const run = (command: string, args: string[]) =>
      execFileSync(command, args, { cwd: folder, env: environment(), stdio: "pipe" });
    const [bare, ...bareArgs] = bareCommand();
    const works: [string, string, () => number | Promise<number>][] = [
      ["start → first 200 (100 000 keys)", "≤ 150 ms", () => firstAnswerMs(gateway, folder)],
      ["help", "≤ 60 ms", () => timed(() => run(gateway, ["help"]))],
      [
        "keygen",
        "≤ 60 ms",
        () => timed(() => run(gateway, ["keygen", "--name", "b", "--scopes", "read", "--store", "sqlite:small.db"])),
      ],
    ];
    const figures: Figure[] = [];
    for (const [work, goal, measure] of works) {
      const rounds = [];
      for (let round = 0; round < ROUNDS; round++) {
        rounds.push({ reference: timed(() => run(bare!, bareArgs)), ours: await measure() });
      }
      figures.push({
        number: "12",
        work,
        runtime: "executable",
        measured: `${withSpread(rounds.map((r) => r.ours), 0)} ms`,
        reference: `\`bun -e 0\` ${median(rounds.map((r) => r.reference)).toFixed(0)} ms`,
        ratio: withSpread(rounds.map((r) => r.ours / r.reference), 1),
        goal,
      });
    }
    return figures;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Bun itself where its path is known; npx would be measured too otherwise. */
function bareCommand(): string[] {
  const path = runtimeCommand("bun").length === 1 ? runtimeCommand("bun")[0]! : undefined;
  if (path === undefined) throw new Error("set BENCH_BUN to the path of bun: npx has a start of its own");
  return [path, "-e", "0"];
}

function timed(work: () => void): number {
  const started = performance.now();
  work();
  return performance.now() - started;
}

async function firstAnswerMs(gateway: string, folder: string): Promise<number> {
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const started = performance.now();
  // No node is there: the first answer must not wait for one.
  const args = ["serve", "--port", String(port), "--rpc-url", "http://127.0.0.1:9", "--log-level", "error"];
  const child = spawn(gateway, args, { cwd: folder, env: environment(), stdio: "inherit" });
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/health`).catch(() => undefined);
    if (answer?.status === 200) break;
    if (performance.now() - started > 10_000) throw new Error("no answer within 10 s");
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const ms = performance.now() - started;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
  return ms;
}

/** Real keys, written the quick way: a hundred thousand commits would take minutes. */
async function fillStore(path: string): Promise<void> {
  await (await openStore(`sqlite:${path}`)).close();
  const database = await openSqlite(path);
  const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));
  const insert = database.prepare(
    "INSERT INTO api_key (id, name, hash, scopes, rate, disabled, created_at) VALUES (?, ?, ?, ?, ?, 0, ?)",
  );
  database.transaction(() => {
    for (let n = 0; n < KEYS; n++) {
      const { record } = mintKey({ name: `key ${n}`, scopes: ["read"], now: Date.now(), random });
      insert.run(record.id, record.name, record.hash, "read", null, record.createdAt);
    }
  });
  database.close();
}
