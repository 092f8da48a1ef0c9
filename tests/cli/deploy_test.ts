// needs: runtime
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createClient, signed } from "../e2e/client.ts";
import { runHere } from "../e2e/here.ts";
import { environment, type SandboxProcess } from "../e2e/sandbox_process.ts";
import { freePort } from "../faults/serve_process.ts";
import { longOnly } from "../tier.ts";
import { startReadySandboxHere } from "./sandbox/sandbox_here.ts";
import { sendSignal } from "../send_signal.ts";

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const ENTRY = join(ROOT, "cli", "deploy.ts");

const PAGE = readFileSync(join(ROOT, "docs/deno-deploy.md"), "utf8");
/** As the page shows them. */
const PERMISSIONS = /^deno serve [^`]*?cli\/deploy\.ts$/m.exec(PAGE)![0].match(/--allow-\S+/g)!;

/** Replaces the platform's clock: a cron runs when the process gets its signal. */
const CRONS_BY_SIGNAL = `
const signals = { "watch and deliver": "SIGUSR2", "run the retention job": "SIGHUP" };
Object.defineProperty(Deno, "cron", {
  value(name, schedule, turn) {
    console.log("cron " + schedule + " " + name);
    Deno.addSignalListener(signals[name], () => turn().then(() => console.log("done " + name)));
    return Promise.resolve();
  },
});
`;

interface Deployed {
  url: string;
  /** All it wrote so far, to either stream. */
  output(): string;
  /** Waits until it has written this. */
  until(text: string): Promise<void>;
  signal(signal: "SIGUSR2" | "SIGHUP" | "SIGTERM"): void;
  /** Resolves when it has ended by itself. */
  ended: Promise<void>;
  /** As isolates end: without a word. Does nothing where it has ended. */
  kill(): Promise<void>;
}

async function denoDirectory(): Promise<string> {
  const child = spawn(process.execPath, ["info", "--json"], { stdio: ["ignore", "pipe", "ignore"], cwd: tmpdir() });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (more: string) => text += more);
  await new Promise((resolve) => child.once("close", resolve));
  return JSON.parse(text).denoDir;
}

async function serve(args: string[], env: Record<string, string>): Promise<Deployed> {
  const port = await freePort();
  const child = spawn(
    process.execPath,
    ["serve", ...PERMISSIONS, "--host", "127.0.0.1", "--port", `${port}`, ...args],
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...environment(env), NO_COLOR: "1" },
    },
  );
  let output = "";
  let onOutput: (() => void) | undefined;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      onOutput?.();
    });
  }
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  async function until(text: string): Promise<void> {
    while (!output.includes(text)) {
      const more = new Promise<string>((resolve) => onOutput = () => resolve("more"));
      if (await Promise.race([more, ended]) === undefined && !output.includes(text)) {
        throw new Error(`deno serve ended without ${JSON.stringify(text)}:\n${output}`);
      }
    }
  }
  await until("Listening on");
  return {
    url: `http://127.0.0.1:${port}`,
    output: () => output,
    until,
    ended,
    signal: (signal) => sendSignal(child.pid!, signal),
    kill() {
      if (child.exitCode === null && child.signalCode === null) sendSignal(child.pid!, "SIGKILL");
      return ended;
    },
  };
}

function registerTests(): void {
  let folder: string;
  let sandbox: SandboxProcess;
  let key: string;
  let settings: Record<string, string>;
  before(async () => {
    // The platform's database is a file in Deno's own folder: one of its own, with the packages of the real one.
    folder = mkdtempSync(join(tmpdir(), "gateway-deploy-"));
    const keygen = "keygen --name deployed --scopes read,write,webhooks --rate 60 --record --json";
    const [denoDir, started, made] = await Promise.all([
      denoDirectory(),
      startReadySandboxHere(),
      runHere(keygen.split(" "), {}),
    ]);
    mkdirSync(join(folder, "deno"));
    symlinkSync(join(denoDir, "npm"), join(folder, "deno", "npm"));
    sandbox = started;
    const minted = JSON.parse(made.stdout);
    key = minted.key;
    settings = {
      DENO_DIR: join(folder, "deno"),
      SERVICE_API_LOG_LEVEL: "warn",
      SERVICE_API_KEYS: JSON.stringify([minted.record]),
      SERVICE_API_RPC_URL: sandbox.info.rpc,
      SERVICE_API_NETWORK_PASSPHRASE: sandbox.info.networkPassphrase,
      SERVICE_API_DEVICE_REGISTRY: sandbox.info.contracts.deviceRegistry,
      SERVICE_API_AGENT_REGISTRY: sandbox.info.contracts.agentRegistry,
      SERVICE_API_PAYMENT_ESCROW: sandbox.info.contracts.paymentEscrow,
    };
  });
  after(async () => {
    await sandbox.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const deployFlags = ["--unstable-kv", "--unstable-cron", "--unstable-no-legacy-abort", ENTRY];

  test("deno serve with Deno's own flags answers, logs nothing to worry about, and ends at one signal", async () => {
    const deployed = await serve(deployFlags, settings);
    try {
      const api = createClient(deployed.url, key);
      assert.deepEqual((await api.get("/v1/health")).body, { ok: true });
      const network = await api.get("/v1/network");
      assert.equal(network.status, 200);
      assert.deepEqual(network.body.contracts, sandbox.info.contracts);
      assert.equal((await createClient(deployed.url, sandbox.info.apiKey).get("/v1/network")).status, 401);
      assert.doesNotMatch(deployed.output(), /"level"/);
      deployed.signal("SIGTERM");
      await deployed.ended;
    } finally {
      await deployed.kill();
    }
  });

  test("crons watch the network, and the next isolate shows their events", async () => {
    const wrapper = join(folder, "crons_by_signal.js");
    writeFileSync(join(folder, "stub.js"), CRONS_BY_SIGNAL);
    const entry = JSON.stringify(pathToFileURL(ENTRY).href);
    writeFileSync(wrapper, `import "./stub.js";\nexport { default } from ${entry};\n`);
    const flags = ["--config", join(ROOT, "deno.json"), "--location", "http://gateway.test", wrapper];
    const first = await serve(flags, settings);
    let ledger: number;
    try {
      assert.match(first.output(), /^cron \* \* \* \* \* watch and deliver$/m);
      assert.match(first.output(), /^cron 23 \* \* \* \* run the retention job$/m);
      const api = createClient(first.url, key);
      const { owner, agent } = sandbox.info.accounts;
      const registration = { kind: "registerDevice", deviceHash: "d0".repeat(32), agent: agent.address };
      const prepared = await api.post("/v1/transactions/prepare", { source: owner.address, operation: registration });
      const xdr = signed(prepared.body.xdr, prepared.body.networkPassphrase, owner.secret);
      const submitted = await api.post("/v1/transactions/submit", { xdr });
      assert.equal(submitted.status, 200, JSON.stringify(submitted.body));
      ({ ledger } = submitted.body);
      assert.deepEqual((await api.get("/v1/events")).body.events, [], "nobody has watched yet");
      first.signal("SIGUSR2");
      await first.until("done watch and deliver");
      const { body: { events } } = await api.get("/v1/events");
      assert.deepEqual(events.map(({ txHash }: { txHash: string }) => txHash), [submitted.body.hash]);
      first.signal("SIGHUP");
      await first.until("done run the retention job");
      assert.doesNotMatch(first.output(), /"level"/);
    } finally {
      await first.kill();
    }
    const second = await serve(flags, settings);
    try {
      const api = createClient(second.url, key);
      assert.equal((await api.get("/v1/events")).body.events.length, 1);
      const { body } = await api.get("/v1/status");
      const { toLedger } = body.history.ranges.at(-1);
      assert.ok(toLedger >= ledger, "it knows what the turn has read");
      // The network closes an empty ledger every few seconds.
      assert.ok(body.ledger.sequence >= toLedger, "it knows which ledger the turn has seen");
    } finally {
      await second.kill();
    }
  });

  test("isolates share a key's limit, and one signal ends them", { skip: longOnly }, async () => {
    const isolates = await Promise.all([serve(deployFlags, settings), serve(deployFlags, settings)]);
    const clients = isolates.map(({ url }) => createClient(url, key));
    await Promise.all(clients.map((api) => api.get("/v1/health")));
    const beganAt = performance.now();
    const asked = clients.flatMap((api) =>
      Array.from({ length: 4 }, async () => {
        const statuses: number[] = [];
        for (let n = 0; n < 20; n++) statuses.push((await api.get("/v1/network")).status);
        return statuses;
      })
    );
    const statuses = (await Promise.all(asked)).flat();
    const refilled = Math.ceil((performance.now() - beganAt) / 1_000);
    const admitted = statuses.filter((status) => status === 200).length;
    assert.deepEqual([...new Set(statuses)].sort(), [200, 429]);
    assert.ok(admitted >= 40 && admitted <= 60 + refilled, `${admitted} in ${refilled} s`);
    for (const isolate of isolates) isolate.signal("SIGTERM");
    await Promise.all(isolates.map(({ ended }) => ended));
  });

  test("a database of another network is refused with advice for the platform", async () => {
    const deployed = await serve(deployFlags, { ...settings, SERVICE_API_NETWORK_PASSPHRASE: "Another Network" });
    try {
      assert.equal((await createClient(deployed.url, key).get("/v1/network")).status, 503);
      await deployed.until("give the app another database");
    } finally {
      await deployed.kill();
    }
  });

  const keysFile = { SERVICE_API_KEYS: "", SERVICE_API_KEYS_FILE: "keys.json" };
  const refused: [what: string, setting: Record<string, string>, says: RegExp][] = [
    ["a SQLite store", { SERVICE_API_STORE: "sqlite:a.db" }, /SERVICE_API_STORE must be deno-kv:.* got "sqlite:…"/],
    ["a keys file", keysFile, /SERVICE_API_KEYS_FILE must not be set on this platform/],
  ];
  for (const [index, [what, setting, says]] of refused.entries()) {
    const skip = index > 0 && longOnly;
    test(`${what} is refused by name before anything is served`, { skip }, async () => {
      await assert.rejects(serve(deployFlags, { ...settings, ...setting }), says);
    });
  }
}

// Deno Deploy is Deno's: Bun has neither crons nor its database.
if ("deno" in process.versions) describe("cli/deploy.ts", registerTests);
