import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { flagsFor, makeKey, runGateway, startSandbox } from "../e2e/sandbox_process.ts";
import { startServe } from "../faults/serve_process.ts";
import { findPostgres, startCluster } from "../store/postgres_cluster.ts";
import { type Figure, median, table, withSpread } from "./figures.ts";
import { listFigure } from "./list_bench.ts";
import { fillWithPayments, type PaymentsBench } from "./payment_store.ts";
import { innermost, peakMib, PINNED, runtimeCommand, type RuntimeName } from "./processes.ts";
import { reportFigure } from "./report_bench.ts";

/** With these a runtime keeps little garbage, so the peak of its memory is close to what the work needs. */
const SMALL_HEAP = {
  BUN_JSC_forceRAMSize: "200000000",
  DENO_V8_FLAGS: "--max-old-space-size=72,--max-semi-space-size=4",
};

/** #11 and #19: lists, exports and reports of many payments on sqlite, and on PostgreSQL where it is installed. */
export async function exportFigures(root: string, runtime: RuntimeName, isShort: boolean): Promise<Figure[]> {
  const [payments, rounds] = isShort ? [100_000, 3] : [1_000_000, 5];
  const folder = mkdtempSync(join(tmpdir(), "gateway-bench-"));
  const programs = findPostgres();
  if (programs === undefined) {
    process.stderr.write("no PostgreSQL here: lists and exports are measured on sqlite only\n");
  }
  async function on(kind: string, store: string): Promise<Figure[]> {
    // One for each store: a gateway finds the payments that others made.
    const network = await startSandbox([...runtimeCommand(runtime), join(root, "main.ts")]);
    try {
      return await figuresOn({ root, runtime, kind, store, payments, rounds, info: network.info });
    } finally {
      await network.stop();
    }
  }
  try {
    const figures = await on("sqlite", `sqlite:${folder}/gateway.db`);
    if (programs === undefined) return figures;
    const cluster = await startCluster(programs, { settings: ["shared_buffers = 128MB"] });
    try {
      return [...figures, ...await on("PostgreSQL", cluster.setting())];
    } finally {
      await cluster.remove();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function figuresOn(bench: PaymentsBench): Promise<Figure[]> {
  const { root, runtime, store, info } = bench;
  const program = [...runtimeCommand(runtime), join(root, "main.ts")];
  const filled = await fillWithPayments(store, bench.payments, info);
  const key = await makeKey(program, store, { scopes: "read", rate: 1_000_000 });
  const start = (env: Record<string, string> = {}) =>
    startServe(flagsFor(info, { store, "log-level": "info" }), { command: [...PINNED, ...program], env });
  const small = await start(SMALL_HEAP);
  const inSmallHeap = await smallHeapFigure(bench, { url: small.url, key, pid: innermost(small.pid) })
    .finally(async () => {
      small.signal("SIGTERM");
      await small.ended;
    });
  const gateway = await start();
  try {
    const exported = await exportFigure(bench, { url: gateway.url, key, pid: innermost(gateway.pid) });
    const listed = await listFigure(bench, filled, { url: gateway.url, key });
    process.stderr.write(`${table([listed, exported, inSmallHeap])}\n`);
    // The range of a report begins in the log, so the log needs a movement.
    const { code, stderr } = await runGateway(["trigger", "--sandbox", info.gateway], {}, program);
    if (code !== 0) throw new Error(`gateway trigger ended with ${code}:\n${stderr}`);
    return [listed, exported, inSmallHeap, await reportFigure(bench, { url: gateway.url, key }, program)];
  } finally {
    gateway.signal("SIGTERM");
    await gateway.ended;
  }
}

interface MeasuredGateway {
  url: string;
  key: string;
  pid: number;
}

/** All payments as CSV over HTTP, against a reader of the same pages straight from the store. */
async function exportFigure(
  { root, runtime, kind, store, payments, rounds }: PaymentsBench,
  { url, key, pid }: MeasuredGateway,
): Promise<Figure> {
  const smallMib = await peakOfSmallExports(url, key, pid);
  const reader = [...PINNED, ...runtimeCommand(runtime), join(root, "tests/bench/read_payments.ts"), store];
  const measured = [];
  for (let round = 0; round < rounds; round++) {
    const rawMs = await readRaw(reader, payments);
    measured.push({ rawMs, ms: await exportAll(url, key, payments), peak: peakMib(pid) });
  }
  return {
    number: "19",
    work: `GET /v1/payments as CSV, ${payments} payments on ${kind}`,
    runtime,
    measured: `${secondsOf(measured.map(({ ms }) => ms))}; ${peakTold(smallMib, measured.map(({ peak }) => peak))}`,
    reference: `its pages read from the store: ${secondsOf(measured.map(({ rawMs }) => rawMs))}`,
    ratio: withSpread(measured.map(({ ms, rawMs }) => ms / rawMs), 2),
    goal: "≤ 3; ≤ 64 MiB more",
  };
}

/** The memory of the same export when the runtime keeps little garbage. */
async function smallHeapFigure(
  { runtime, kind, payments, rounds }: PaymentsBench,
  { url, key, pid }: MeasuredGateway,
): Promise<Figure> {
  const smallMib = await peakOfSmallExports(url, key, pid);
  const measured = [];
  for (let round = 0; round < rounds; round++) {
    measured.push({ ms: await exportAll(url, key, payments), peak: peakMib(pid) });
  }
  return {
    number: "19",
    work: `the same in a small heap, ${payments} payments on ${kind}`,
    runtime,
    measured: `${secondsOf(measured.map(({ ms }) => ms))}; ${peakTold(smallMib, measured.map(({ peak }) => peak))}`,
    reference: "–",
    ratio: "–",
    goal: "≤ 64 MiB more",
  };
}

async function peakOfSmallExports(url: string, key: string, pid: number): Promise<number> {
  for (let warmUp = 0; warmUp < 3; warmUp++) await downloaded(`${url}/v1/payments?format=csv&limit=1000`, key);
  return peakMib(pid);
}

/** Milliseconds. */
async function exportAll(url: string, key: string, payments: number): Promise<number> {
  const { ms, lines } = await downloaded(`${url}/v1/payments?format=csv`, key);
  if (lines !== payments + 1) throw new Error(`the file has ${lines} lines`);
  return ms;
}

function peakTold(smallMib: number, peaks: number[]): string {
  const [first, last] = [peaks[0]!, peaks.at(-1)!].map((peak) => (peak - smallMib).toFixed(0));
  return `peak memory after 1000 payments ${
    smallMib.toFixed(0)
  } MiB, ${first} MiB more after the first round, ${last} after the last`;
}

const secondsOf = (ms: number[]) => `${(median(ms) / 1_000).toFixed(1)} s`;

/** Milliseconds of the reader, by its own clock. */
async function readRaw([program, ...args]: string[], payments: number): Promise<number> {
  const { stdout } = await promisify(execFile)(program!, args);
  const { rows, ms } = JSON.parse(stdout);
  if (rows !== payments) throw new Error(`the reader found ${rows} payments`);
  return ms;
}

async function downloaded(url: string, key: string): Promise<{ ms: number; lines: number }> {
  let lines = 0;
  const beganAt = performance.now();
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
  for await (const piece of response.body!) for (const byte of piece) if (byte === 10) lines += 1;
  return { ms: performance.now() - beganAt, lines };
}
