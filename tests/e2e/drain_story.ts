import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { ConnectionError, plainClient } from "../faults/plain_client.ts";
import { type ServeProcess, startServe } from "../faults/serve_process.ts";
import { forTier } from "../tier.ts";
import { createClient, signed } from "./client.ts";
import { startReceiver } from "./receiver.ts";
import { type RpcProxy, startRpcProxy } from "./rpc_proxy.ts";
import { flagsFor, makeKey, newAccount, type SandboxInfo, type SandboxProcess } from "./sandbox_process.ts";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/*
 * A slow submit and a slow webhook when the gateway gets a signal to stop. `folder`: where a folder for
 * the store is made.
 */

/** The gateway answers it. Meanwhile its health check is 503, and then it refuses new connections. */
export async function tellDrain(info: SandboxInfo, command: string[], folder: string): Promise<void> {
  await withSlowSubmit(info, command, folder, {}, async ({ gateway, answer, hash, release }) => {
    gateway.signal("SIGTERM");
    const health = plainClient(Number(new URL(gateway.url).port));
    const seen: string[] = [];
    while (seen.at(-1) !== "ECONNREFUSED") {
      const outcome = await health.request("GET", "/v1/health").then(
        ({ status, headers }) => `${status} ${headers.get("connection")?.toLowerCase()}`,
        ({ code, isFresh }: ConnectionError) => isFresh ? code : `kept ${code}`,
      );
      if (seen.at(-1) !== outcome) seen.push(outcome);
      await pause(5);
    }
    assert.ok(seen.includes("503 close"), `the health check told the load balancer first: ${seen.join(", ")}`);
    release();
    const { status, body, headers } = await answer;
    assert.deepEqual([status, JSON.parse(body).hash], [200, hash]);
    assert.equal(headers.get("connection")?.toLowerCase(), "close");
    assert.equal(await gateway.ended, 0);
    const stopping = gateway.lines().find(({ message }) => message === "gateway is stopping");
    assert.deepEqual([stopping?.signal, stopping?.requestsInFlight], ["SIGTERM", 1]);
    assert.equal(gateway.lines().at(-1)?.message, "gateway has stopped");
  });
}

/** The gateway cuts off a submit that outlasts the drain, and reports it in its exit code and last log line. */
export async function tellCutOff(info: SandboxInfo, command: string[], folder: string): Promise<void> {
  const settings = { "submit-timeout-ms": "1000" };
  await withSlowSubmit(info, command, folder, settings, async ({ gateway, answer, release }) => {
    const outcome = answer.then(({ status }) => status, (error) => error);
    // The submit waits ten seconds for the node; the drain ends after one second and its margin.
    gateway.signal("SIGTERM");
    assert.equal(await gateway.ended, 1);
    const last = gateway.lines().at(-1);
    assert.deepEqual([last?.level, last?.requestsCutOff], ["error", 1]);
    assert.match(String(last?.message), /has stopped with unfinished work/);
    release();
    assert.ok(await outcome instanceof ConnectionError);
  });
}

const SECOND_SIGNALS = ([["SIGINT", 130], ["SIGTERM", 143]] as const).slice(0, forTier({ test: 1, all: 2 }));

/** A second signal, of either kind, ends the gateway at once. */
export async function tellSecondSignal(info: SandboxInfo, command: string[], folder: string): Promise<void> {
  for (const [signal, code] of SECOND_SIGNALS) {
    await withSlowSubmit(info, command, folder, {}, async ({ gateway, answer, release }) => {
      const outcome = answer.then(({ status }) => status, (error) => error);
      gateway.signal("SIGTERM");
      while (gateway.lines().at(-1)?.message !== "gateway is stopping") await pause(5);
      gateway.signal(signal);
      assert.equal(await gateway.ended, code);
      assert.match(String(gateway.lines().at(-1)?.message), /ends at a second signal/);
      release();
      assert.ok(await outcome instanceof ConnectionError);
    });
  }
}

/**
 * The gateway completes and stores a webhook post during the stop, and does not repeat it after the restart.
 *
 * @param sandbox with `--state` and no webhooks; the story ends it
 * @param restart starts it again, which is the sandbox that is answered
 */
export async function tellSettling(
  sandbox: SandboxProcess,
  restart: () => Promise<SandboxProcess>,
): Promise<SandboxProcess> {
  let release = () => {};
  const released = new Promise<void>((resolve) => release = resolve);
  const receiver = await startReceiver(() => released.then(() => 200));
  try {
    const { body: { id } } = await createClient(sandbox.info.gateway, sandbox.info.apiKey)
      .post("/v1/webhooks", { url: `${receiver.url}/slow` });
    await registerCard(sandbox.info, "5e".repeat(32));
    await receiver.until(1);
    const ended = sandbox.stop("SIGTERM");
    // Long enough for a gateway that does not wait to end.
    assert.equal(await Promise.race([ended, pause(1_000).then(() => "still there")]), "still there");
    release();
    assert.equal(await ended, 0, sandbox.log());

    const again = await restart();
    const api = await registerCard(again.info, "5f".repeat(32));
    const [first, second] = await receiver.until(2);
    const hashes = [first, second].map((one) => JSON.parse(one!.body).event.deviceHash);
    assert.deepEqual(hashes, ["5e".repeat(32), "5f".repeat(32)]);
    const attempts = (await api.get(`/v1/webhooks/${id}/deliveries`)).body.deliveries;
    const settled = attempts.find(({ outcome }: { outcome: string }) => outcome === "delivered");
    assert.equal(settled.statusCode, 200, JSON.stringify(attempts));
    return again;
  } finally {
    release();
    await receiver.stop();
  }
}

async function registerCard({ gateway, apiKey, accounts: { owner, agent } }: SandboxInfo, deviceHash: string) {
  const api = createClient(gateway, apiKey);
  const answer = await api.write(owner, { kind: "registerDevice", deviceHash, agent: agent.address });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return api;
}

interface SlowSubmit {
  gateway: ServeProcess;
  answer: ReturnType<ReturnType<typeof plainClient>["request"]>;
  hash: string;
  /** Lets the node answer. */
  release(): void;
}

/** A gateway with a submit in flight, to which the node does not answer yet. */
async function withSlowSubmit(
  info: SandboxInfo,
  command: string[],
  folder: string,
  settings: Record<string, string>,
  story: (submit: SlowSubmit) => Promise<void>,
): Promise<void> {
  const store = `sqlite:${join(mkdtempSync(join(folder, "drain-")), "gateway.db")}`;
  const key = await makeKey(command, store, { scopes: "read,write", rate: 100 });
  const node = await startRpcProxy(info.rpc);
  const gateway = await startServe(flagsFor(info, { store, "rpc-url": node.url, ...settings }), { command });
  const client = plainClient(Number(new URL(gateway.url).port), { authorization: `Bearer ${key}` });
  try {
    await story({ gateway, ...await submitSlowly(info, client, node) });
  } finally {
    gateway.kill();
    await node.stop();
  }
}

async function submitSlowly(
  info: SandboxInfo,
  { request }: ReturnType<typeof plainClient>,
  node: RpcProxy,
): Promise<Pick<SlowSubmit, "answer" | "hash" | "release">> {
  const owner = await newAccount(info);
  const deviceHash = crypto.randomUUID().replaceAll("-", "").repeat(2);
  const operation = { kind: "registerDevice", deviceHash, agent: info.accounts.agent.address };
  const prepared = await request("POST", "/v1/transactions/prepare", {
    body: JSON.stringify({ source: owner.address, operation }),
  });
  const { xdr, hash, networkPassphrase } = JSON.parse(prepared.body);
  const { arrived, release } = node.hold("sendTransaction");
  const answer = request("POST", "/v1/transactions/submit", {
    body: JSON.stringify({ xdr: signed(xdr, networkPassphrase, owner.secret) }),
  });
  await arrived;
  return { answer, hash, release };
}
