// needs: once
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { after, describe, test } from "node:test";
import { smallDisk } from "../cli/small_disk.ts";
import { createClient } from "../e2e/client.ts";
import { startReceiver } from "../e2e/receiver.ts";
import { flagsFor, HERE, makeKey, sandboxOfFile, sourceCommand } from "../e2e/sandbox_process.ts";
import { folderForTests } from "../folder.ts";
import { forTier } from "../tier.ts";
import { until } from "../until.ts";
import { beginLife } from "./mortal_gateway.ts";
import { startServe } from "./serve_process.ts";

/** Longer than leases last; minutes with FAULT_STANDSTILL_SECONDS. */
const STANDSTILL_MS = Number(process.env.FAULT_STANDSTILL_SECONDS ?? 12) * 1_000;
/** Rounds of fifty large bodies at once. */
const FLOODS = forTier({ test: 8, all: 40 });
/** Faults of the machine on which a gateway runs. */
const sandbox = sandboxOfFile();
const folder = folderForTests();
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const disk = smallDisk("8m");
after(() => disk.remove());

const RPC = "--rpc-url http://127.0.0.1:9 --port 0";

test("the commands report a read-only disk, with an existing store and without one", {
  skip: disk.isPossible ? false : "needs to mount a disk",
}, () => {
  const lines = disk.run(`
    "$@" keygen --name a --scopes read --store sqlite:gateway.db > /dev/null 2>&1; echo $?
    mount -o remount,ro "$0"
    "$@" serve ${RPC} --store sqlite:gateway.db 2>&1; echo $?
    "$@" keygen --name b --scopes read --store sqlite:gateway.db 2>&1; echo $?
    "$@" serve ${RPC} --store sqlite:new.db 2>&1; echo $?`);
  const refused = / cannot be opened for writing: check the owner and mode of the file and of its directory$/;
  assert.equal(lines[0], "0");
  assert.match(lines[1]!, refused);
  assert.match(lines[3]!, refused);
  assert.match(lines[5]!, /new\.db: the file cannot be created in \S+ \(EROFS\)\. Check its owner and mode$/);
  assert.deepEqual([lines[2], lines[4], lines[6]], ["1", "1", "1"], lines.join("\n"));
});

describe("a gateway whose file system fails", () => {
  const image = join(folder, "image");
  const place = join(folder, "place");
  mkdirSync(place);
  const mounted = (script: string) => [`mount -o loop "$0" "$1" && shift && ${script}`, image, place];
  const isPossible = spawnSync("sh", ["-c", `truncate -s 256M "$0" && mkfs.ext4 -qF "$0"`, image]).status === 0 &&
    spawnSync("unshare", ["--mount", "sh", "-c", ...mounted("true")]).status === 0;

  test("still answers reads, logs the failure, stops cleanly, and its store opens again", {
    skip: isPossible ? false : "needs loop devices and ext4",
  }, async () => {
    const store = `sqlite:${join(place, "gateway.db")}`;
    const command = ["unshare", "--mount", "sh", "-c", ...mounted('exec "$@"'), ...sourceCommand()];
    const key = await makeKey(command, store, { scopes: "read,webhooks", rate: 1_000 });
    const gateway = await startServe(flagsFor(sandbox.info, { store }), { command });
    try {
      const api = createClient(gateway.url, key);
      assert.deepEqual((await api.get("/v1/webhooks")).body, { webhooks: [] });
      const gaveUp = spawnSync("nsenter", ["-t", String(gateway.pid), "-m", "mount", "-o", "remount,abort", place]);
      assert.equal(gaveUp.status, 0, gaveUp.stderr.toString());
      await until(() => gateway.log().includes('"kind":"store_failed"'));
      assert.equal((await api.get("/v1/health")).status, 200);
      assert.equal((await api.get(`/v1/devices/${"ab".repeat(32)}`)).status, 404);
      gateway.signal("SIGTERM");
      assert.equal(await gateway.ended, 0, gateway.log());
      assert.doesNotMatch(gateway.log(), /unhandled|uncaught/i);
    } finally {
      gateway.kill();
    }
    const again = await startServe(flagsFor(sandbox.info, { store }), { command });
    try {
      assert.equal((await createClient(again.url, key).get("/v1/webhooks")).status, 200);
      again.signal("SIGTERM");
      assert.equal(await again.ended, 0, again.log());
    } finally {
      again.kill();
    }
  });
});

test("a gateway suspended for longer than its leases continues, and loses no event", async () => {
  const store = `sqlite:${join(folder, "stopped.db")}`;
  const key = await makeKey(HERE, store, { scopes: "read,webhooks", rate: 1_000 });
  const receiver = await startReceiver();
  const { rpc, networkPassphrase, contracts } = sandbox.info;
  const settings = { store, port: "0", rpcUrls: rpc, pollMs: "100", networkPassphrase, ...contracts };
  const gateway = beginLife({ settings, aheadMs: 0, postsPerEndpoint: 4, writes: 0 });
  try {
    const api = createClient((await gateway.ready)!, key);
    const subscription = { url: receiver.url, types: ["escrow.funded"] };
    let made = await api.post("/v1/webhooks", subscription);
    // Without a first ledger the gateway does not know where the subscription starts.
    for (let tries = 0; made.status === 502 && tries < 100; tries++) {
      await pause(100);
      made = await api.post("/v1/webhooks", subscription);
    }
    assert.equal(made.status, 201, JSON.stringify(made.body) + gateway.log());
    const network = createClient(sandbox.info.gateway, sandbox.info.apiKey);
    const hashes: string[] = [];
    const { owner, agent } = sandbox.info.accounts;
    const deviceHash = "cd".repeat(32);
    const write = async (operation: Record<string, string>): Promise<string> => {
      const written = await network.write(owner, { deviceHash, ...operation });
      assert.equal(written.status, 200, JSON.stringify(written.body));
      return written.body.hash;
    };
    const fund = async () => hashes.push(await write({ kind: "fundEscrow", asset: sandbox.info.asset, amount: "1" }));
    await write({ kind: "registerDevice", agent: agent.address });
    await fund();
    await receiver.until(1, 60_000);
    gateway.suspend();
    for (let n = 0; n < 3; n++) await fund();
    await pause(STANDSTILL_MS);
    gateway.wake();
    await fund();
    await receiver.until(hashes.length, 60_000);
    const received = receiver.received.map(({ body }) => JSON.parse(body).event.txHash);
    assert.deepEqual([...new Set(received)].sort(), [...hashes].sort());
    const { body } = await api.get("/v1/events?types=escrow.funded");
    assert.deepEqual(body.events.map(({ txHash }: { txHash: string }) => txHash), hashes);
  } finally {
    gateway.wake();
    await gateway.kill();
    await receiver.stop();
  }
});

describe("a gateway with little memory", () => {
  const group = `/sys/fs/cgroup/memory/gateway-test-${process.pid}`;
  /** The program needs most of it to start. */
  const LIMIT = 320_000_000;
  const isPossible = ((): boolean => {
    try {
      mkdirSync(group);
      writeFileSync(join(group, "memory.limit_in_bytes"), String(LIMIT));
      return true;
    } catch {
      return false;
    }
  })();
  after(() => {
    if (existsSync(group)) rmdirSync(group);
  });

  test("survives a flood of the largest request bodies", {
    skip: isPossible ? false : "needs a memory control group",
  }, async () => {
    const store = `sqlite:${join(folder, "memory.db")}`;
    const key = await makeKey(HERE, store, { scopes: "read", rate: 1_000_000 });
    const limited = ["sh", "-c", `echo $$ > ${group}/cgroup.procs && exec "$@"`, "sh", ...sourceCommand()];
    const gateway = await startServe(flagsFor(sandbox.info, { store }), { command: limited });
    try {
      const body = JSON.stringify({ deviceHash: "a".repeat(65_000) });
      const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
      const ask = async () => {
        const answer = await fetch(`${gateway.url}/v1/payments/check`, { method: "POST", headers, body });
        await answer.body?.cancel();
        assert.equal(answer.status, 400);
      };
      for (let round = 0; round < FLOODS; round++) await Promise.all(Array.from({ length: 50 }, ask));
      const most = Number(readFileSync(join(group, "memory.max_usage_in_bytes"), "utf8"));
      assert.ok(most > 50_000_000, "nothing was counted");
      gateway.signal("SIGTERM");
      assert.equal(await gateway.ended, 0, gateway.log());
    } finally {
      gateway.kill();
      await gateway.ended;
    }
  });
});
