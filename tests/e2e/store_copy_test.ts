// needs: runtime
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as passed } from "node:timers/promises";
import { folderForTests } from "../folder.ts";
import { openStore } from "../../lib/store/open.ts";
import { beginLife, type MortalGateway } from "../faults/mortal_gateway.ts";
import { findPostgres } from "../store/postgres_cluster.ts";
import { createDatabase, type SharedDatabase } from "../store/postgres_shared.ts";
import { fillStore } from "../store/filled_store.ts";
import { appendMany, storeError } from "../store/samples.ts";
import { until } from "../until.ts";
import { createClient } from "./client.ts";
import { startReceiver } from "./receiver.ts";
import {
  environment,
  HERE,
  makeKey,
  runGateway,
  type SandboxProcess,
  sourceCommand,
  startSandbox,
} from "./sandbox_process.ts";

const programs = findPostgres();
const SECRETS_KEY = "01".repeat(32);
let database: SharedDatabase | undefined;
let sandbox: SandboxProcess;
const gateways: MortalGateway[] = [];

before(async () => {
  [database, sandbox] = await Promise.all([
    programs === undefined ? undefined : createDatabase(programs),
    startSandbox(),
  ]);
});
after(async () => {
  await Promise.all(gateways.map((gateway) => gateway.kill()));
  await sandbox.stop();
  await database?.remove();
});
const folder = folderForTests();

/** The runtime's own kind of store, and PostgreSQL where it is installed. */
const fileStore = (name: string) => `${"deno" in process.versions ? "deno-kv" : "sqlite"}:${join(folder, name)}`;
const otherStore = (name: string) => database?.setting({ schema: name }) ?? `sqlite:${join(folder, `${name}.other`)}`;

/** A gateway that may post to this machine. */
async function serve(store: string): Promise<{ url: string; gateway: MortalGateway }> {
  const { rpc, networkPassphrase, contracts } = sandbox.info;
  const own = { store, port: "0", pollMs: "100", secretsKey: SECRETS_KEY };
  const settings = { ...own, rpcUrls: rpc, networkPassphrase, ...contracts };
  const gateway = beginLife({ settings, aheadMs: 0, postsPerEndpoint: 8, writes: 0 });
  gateways.push(gateway);
  return { url: (await gateway.ready)!, gateway };
}

test("a gateway on the copy accepts old cursors, sends pending deliveries, and repeats no completed delivery", async () => {
  const [from, to] = [fileStore("from.store"), otherStore("moved")];
  let isDown = false;
  const receiver = await startReceiver(() => isDown ? 503 : 200);
  const idsOf = () => receiver.received.map(({ headers }) => String(headers["webhook-id"]));
  try {
    const key = await makeKey(HERE, from, { scopes: "read,write,webhooks", rate: 6_000 });
    const { owner, agent } = sandbox.info.accounts;
    const sandboxApi = createClient(sandbox.info.gateway, sandbox.info.apiKey);
    const register = async (n: number) => {
      const operation = { kind: "registerDevice", deviceHash: n.toString(16).padStart(64, "0"), agent: agent.address };
      assert.equal((await sandboxApi.write(owner, operation)).status, 200);
    };

    const first = await serve(from);
    const api = createClient(first.url, key);
    assert.equal((await api.post("/v1/webhooks", { url: `${receiver.url}/hook` })).status, 201);
    for (const n of [1, 2]) await register(n);
    await receiver.until(2, 40_000);
    isDown = true;
    await register(3);
    await receiver.until(3, 40_000);
    const page = (await api.get("/v1/events?limit=2")).body;
    const status = async () => (await api.get("/v1/webhooks")).body.webhooks[0];
    await until(async () => (await status()).retrying === 1);
    const refused = await runGateway(["store", "copy", from, to], {}, HERE);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /a gateway serves .* stop it first/);
    await first.gateway.kill();
    await register(4);

    const copied = await runGateway(["store", "copy", from, to, "--json"], {}, HERE);
    assert.equal(copied.code, 0, copied.stderr);
    const { kinds } = JSON.parse(copied.stdout);
    assert.deepEqual([kinds.events.records, kinds.subscriptions.records, kinds.failedDeliveries.records], [3, 1, 1]);

    isDown = false;
    const before = receiver.received.length;
    const second = await serve(to);
    const copy = createClient(second.url, key);
    await until(() => receiver.received.length >= before + 2);
    // By now any repeated delivery would have arrived.
    await passed(1_500);
    const all = (await copy.get("/v1/events")).body.events;
    assert.deepEqual(all.map(({ deviceHash }: { deviceHash: string }) => Number(`0x${deviceHash}`)), [1, 2, 3, 4]);
    const rest = (await copy.get(`/v1/events?cursor=${encodeURIComponent(page.cursor)}`)).body.events;
    assert.deepEqual(rest, all.slice(2));
    const [one, two, three, four] = all.map(({ id }: { id: string }) => id);
    assert.deepEqual(idsOf().slice(0, 3), [one, two, three]);
    assert.deepEqual(idsOf().slice(before).sort(), [three, four].sort());
    assert.equal((await copy.get("/v1/webhooks")).body.webhooks[0].failingSince, null);
    await second.gateway.kill();
  } finally {
    await receiver.stop();
  }
});

test("the commands refuse the target of a killed store copy, and a second copy to a new target succeeds", async () => {
  const [from, to] = [`sqlite:${join(folder, "large.db")}`, otherStore("killed")];
  const source = await openStore(from);
  await fillStore(source);
  await appendMany(source, 2_000, 17_999);
  await source.close();
  const [program, ...args] = [...sourceCommand(), "store", "copy", from, to];
  const child = spawn(program!, args, { stdio: ["ignore", "ignore", "pipe"], env: environment() });
  const ended = new Promise((resolve) => child.once("close", resolve));
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
    if (said.includes("Copying sharedState")) child.kill("SIGKILL");
  });
  await ended;
  assert.ok(!said.includes("Comparing"), said);
  await assert.rejects(openStore(to), storeError("unavailable", "not whole", "copy again"));
  for (const refused of [["keys", "list", "--store", to], ["store", "copy", from, to]]) {
    const { code, stderr } = await runGateway(refused, {}, HERE);
    assert.equal(code, 1);
    assert.match(stderr, /is not whole.* and copy again/s);
  }

  const fresh = otherStore("fresh");
  const again = await runGateway(["store", "copy", from, fresh, "--json"], {}, HERE);
  assert.equal(again.code, 0, again.stderr);
  assert.equal(JSON.parse(again.stdout).kinds.events.records, 16_345);
  const whole = await openStore(fresh);
  assert.equal((await whole.events.bounds()).last, 16_450);
  await whole.close();
});
