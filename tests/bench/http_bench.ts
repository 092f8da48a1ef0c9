import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { createClient } from "../e2e/client.ts";
import type { SandboxInfo } from "../e2e/sandbox_process.ts";
import { type Figure, median, withSpread } from "./figures.ts";
import { load, type LoadTarget } from "./load.ts";
import { runtimeCommand, type RuntimeName, type Started, startPinned } from "./processes.ts";

const ROUNDS = 5;
const SECONDS = 3;
const SERVER_CPU = 0;

/** #1 and #2: the health check and a held device read, each against a bare server that answers the same. */
export async function httpFigures(root: string, runtime: RuntimeName): Promise<Figure[]> {
  const command = runtimeCommand(runtime);
  const gateway = await startPinned(SERVER_CPU, [
    ...command,
    join(root, "main.ts"),
    "sandbox",
    "--json",
    "--port",
    "0",
    "--rpc-port",
    "0",
  ]);
  try {
    const info = JSON.parse(gateway.line) as SandboxInfo;
    const hash = await registerDevice(info);
    const health = await measured(root, runtime, gateway, `${info.gateway}/v1/health`, () => ({}));
    const device = await measured(
      root,
      runtime,
      gateway,
      `${info.gateway}/v1/devices/${hash}`,
      () => keyHeaders(root, runtime, info.store),
    );
    return [
      { number: "1", work: "GET /v1/health", goal: "≥ 0.92", ...health },
      { number: "2", work: "GET /v1/devices/:hash, held", goal: "≥ 0.85", ...device },
    ];
  } finally {
    await gateway.stop();
  }
}

async function measured(
  root: string,
  runtime: RuntimeName,
  gateway: Started,
  url: string,
  newHeaders: () => Record<string, string> | Promise<Record<string, string>>,
): Promise<Pick<Figure, "runtime" | "measured" | "reference" | "ratio">> {
  const headers = await newHeaders();
  const sample = await fetch(url, { headers });
  const body = await sample.text();
  if (sample.status !== 200) throw new Error(`${url} answered ${sample.status} ${body}`);
  const same = Object.fromEntries(
    [...sample.headers].filter(([name]) => !["date", "content-length", "vary"].includes(name)),
  );
  const bare = await startPinned(SERVER_CPU, [
    ...runtimeCommand(runtime),
    join(root, "tests/bench/bare_server.ts"),
    JSON.stringify({ body, headers: same }),
  ]);
  try {
    const bareUrl = `http://127.0.0.1:${bare.line}/`;
    const target: LoadTarget = { url, pid: gateway.pid, headers, answerBytes: sizes(sample, body) };
    const reference: LoadTarget = { ...target, url: bareUrl, pid: bare.pid };
    await load(target, 2);
    await load(reference, 2);
    const rounds = [];
    for (let round = 0; round < ROUNDS; round++) {
      const bareLoad = await load(reference, SECONDS);
      rounds.push({ bare: bareLoad, ours: await load({ ...target, headers: await newHeaders() }, SECONDS) });
    }
    return {
      runtime,
      measured: `${Math.round(median(rounds.map(({ ours }) => ours.requestsPerSecond)))}/s, ` +
        `${median(rounds.map(({ ours }) => ours.cpuMicroseconds)).toFixed(1)} µs CPU`,
      reference: `${Math.round(median(rounds.map((round) => round.bare.requestsPerSecond)))}/s, ` +
        `${median(rounds.map((round) => round.bare.cpuMicroseconds)).toFixed(1)} µs CPU`,
      ratio: withSpread(rounds.map((round) => round.ours.requestsPerSecond / round.bare.requestsPerSecond), 2),
    };
  } finally {
    await bare.stop();
  }
}

/** How long one answer is on the wire: the sample's, give or take what counters and ids in the headers may grow. */
export function sizes(sample: Response, body: string): { min: number; max: number } {
  const headers = [...sample.headers].reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
  const size = "HTTP/1.1 200 OK\r\n\r\n".length + headers + new TextEncoder().encode(body).length;
  return { min: size - 80, max: size + 80 };
}

/** A key of its own for each round: even the highest rate is used up at this pace. */
export async function keyHeaders(root: string, runtime: RuntimeName, store: string): Promise<Record<string, string>> {
  const [program, ...args] = [...runtimeCommand(runtime), join(root, "main.ts")];
  const flags = ["keygen", "--name", "bench", "--scopes", "read", "--rate", "1000000", "--store", store, "--json"];
  const { stdout } = await promisify(execFile)(program!, [...args, ...flags]);
  return { authorization: `Bearer ${JSON.parse(stdout).key}` };
}

export async function registerDevice(info: SandboxInfo): Promise<string> {
  const deviceHash = "ab".repeat(32);
  const { owner, agent } = info.accounts;
  const api = createClient(info.gateway, info.apiKey);
  const done = await api.write(owner, { kind: "registerDevice", deviceHash, agent: agent.address });
  if (done.status !== 200) throw new Error(JSON.stringify(done.body));
  return deviceHash;
}
