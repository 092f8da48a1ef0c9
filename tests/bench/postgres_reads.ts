import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as passed } from "node:timers/promises";
import { asArguments, environment, flagsFor, makeKey, type SandboxInfo, startSandbox } from "../e2e/sandbox_process.ts";
import { freePort, startServe } from "../faults/serve_process.ts";
import { type Figure, median, withSpread } from "./figures.ts";
import { keyHeaders, registerDevice, sizes } from "./http_bench.ts";
import { load, type LoadTarget } from "./load.ts";
import type { PostgresBench } from "./postgres_bench.ts";
import { innermost, runtimeCommand } from "./processes.ts";
import { fullestWindow, overload } from "./shared_limit.ts";

const GATEWAYS = 4;
/** What the key may, per minute. */
const RATE = 1_200;
const READ_SECONDS = 3;
const SERVER_CPU = "0";

/** What a key may over four gateways together, and held reads at one of them. */
export async function postgresReadFigures(bench: PostgresBench): Promise<Figure[]> {
  const command = [...runtimeCommand(bench.runtime), join(bench.root, "main.ts")];
  const network = await startSandbox(command);
  try {
    return [await limitFigure(bench, command, network.info), await readFigure(bench, command, network.info)];
  } finally {
    await network.stop();
  }
}

async function limitFigure({ cluster, runtime, overloadSeconds }: PostgresBench, command: string[], info: SandboxInfo) {
  const store = cluster.setting({ schema: `limit_${runtime}` });
  const key = await makeKey(command, store, { scopes: "read", rate: RATE });
  const flags = flagsFor(info, { store });
  const gateways = await Promise.all(Array.from({ length: GATEWAYS }, () => startServe(flags, { command })));
  try {
    const { admissions, refused, startedAt, endedAt } = await overload(
      gateways.map(({ url }) => url),
      key,
      overloadSeconds,
    );
    const allowed = RATE * (1 + (endedAt - startedAt) / 60_000);
    const [used, fullest] = [admissions.length / allowed, fullestWindow(admissions, RATE)];
    if (fullest > 1) throw new Error(`a key of ${RATE} a minute was let through ${fullest} times as often`);
    return {
      number: "14",
      work: `one key at ${GATEWAYS} gateways on PostgreSQL, overloaded for ${overloadSeconds} s`,
      runtime,
      measured: `${admissions.length} of ${admissions.length + refused} let through`,
      reference: `its bucket: ${allowed.toFixed(0)}`,
      ratio: `${used.toFixed(3)}; fullest window ${fullest.toFixed(3)}`,
      goal: "≥ 0.95; ≤ 1",
    };
  } finally {
    for (const { signal } of gateways) signal("SIGTERM");
    await Promise.all(gateways.map(({ ended }) => ended));
  }
}

async function readFigure(bench: PostgresBench, command: string[], info: SandboxInfo): Promise<Figure> {
  const { cluster, root, runtime, rounds } = bench;
  const deviceHash = await registerDevice(info);
  const folder = mkdtempSync(join(tmpdir(), "gateway-bench-"));
  const stores = { sqlite: `sqlite:${folder}/gateway.db`, postgres: cluster.setting({ schema: `read_${runtime}` }) };
  const serve = (store: string) => serveQuietly(["taskset", "-c", SERVER_CPU, ...command], flagsFor(info, { store }));
  const gateways = { sqlite: await serve(stores.sqlite), postgres: await serve(stores.postgres) };
  /** A key of its own for each round: even the highest rate is used up at this pace. */
  const measure = async (name: "sqlite" | "postgres", seconds: number) => {
    const { url, child } = gateways[name];
    const headers = await keyHeaders(root, runtime, stores[name]);
    return await load(await targetOf(`${url}/v1/devices/${deviceHash}`, innermost(child.pid!), headers), seconds);
  };
  try {
    await measure("sqlite", 2);
    await measure("postgres", 2);
    const measured = [];
    for (let round = 0; round < rounds; round++) {
      measured.push({
        sqlite: await measure("sqlite", READ_SECONDS),
        postgres: await measure("postgres", READ_SECONDS),
      });
    }
    const said = (loads: { requestsPerSecond: number; cpuMicroseconds: number }[]) =>
      `${median(loads.map((one) => one.requestsPerSecond)).toFixed(0)}/s, ` +
      `${median(loads.map((one) => one.cpuMicroseconds)).toFixed(1)} µs CPU`;
    return {
      number: "14",
      work: "GET /v1/devices/:hash, held, on PostgreSQL",
      runtime,
      measured: said(measured.map((round) => round.postgres)),
      reference: `on sqlite: ${said(measured.map((round) => round.sqlite))}`,
      ratio: withSpread(measured.map((one) => one.postgres.requestsPerSecond / one.sqlite.requestsPerSecond), 2),
      goal: "≥ 0.95",
    };
  } finally {
    await Promise.all(
      Object.values(gateways).map(({ child }) => {
        const ended = once(child, "exit");
        child.kill();
        return ended;
      }),
    );
    rmSync(folder, { recursive: true });
  }
}

/** Starts `gateway serve` that logs nothing but errors, as the load would have it log each request. */
async function serveQuietly(command: string[], flags: Record<string, string>) {
  const port = String(await freePort());
  const args = ["serve", ...asArguments({ ...flags, port, "log-level": "error" })];
  const child = spawn(command[0]!, [...command.slice(1), ...args], { stdio: "inherit", env: environment() });
  const url = `http://127.0.0.1:${port}`;
  while (!await fetch(`${url}/v1/health`).then(({ ok }) => ok, () => false)) {
    if (child.exitCode !== null) throw new Error(`gateway serve ended with ${child.exitCode}`);
    await passed(50);
  }
  return { url, child };
}

async function targetOf(url: string, pid: number, headers: Record<string, string>): Promise<LoadTarget> {
  const sample = await fetch(url, { headers });
  const body = await sample.text();
  if (sample.status !== 200) throw new Error(`${url} answered ${sample.status} ${body}`);
  return { url, pid, headers, answerBytes: sizes(sample, body) };
}
