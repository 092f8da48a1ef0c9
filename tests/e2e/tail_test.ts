// needs: once
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { folderForTests } from "../folder.ts";
import { startServe } from "../faults/serve_process.ts";
import { join } from "node:path";
import { until } from "../until.ts";
import { flagsFor, HERE, makeKey, runGateway, sandboxOfFile } from "./sandbox_process.ts";
import { createClient } from "./client.ts";
import { startCommand } from "./running_command.ts";

const sandbox = sandboxOfFile();
const folder = folderForTests();

const at = () => ["--sandbox", sandbox.info.rpc];

const startTail = (flags: string[], env: Record<string, string> = {}) => startCommand(["tail", ...flags], { env });

test(
  "tail prints new events of the sandbox, and with --from-ledger also earlier events",
  { timeout: 240_000 },
  async () => {
    await runGateway(["trigger", "device.registered", ...at()], {}, HERE);
    const now = startTail(at());
    await now.until((out) => /Following http:\S+ after ledger \d+\. Ctrl-C ends it\./.test(out));
    await runGateway(["trigger", "agent.registered", ...at()], {}, HERE);
    const out = await now.until((out) => out.includes("agent.registered"));
    assert.equal(out.split("device.registered").length, 2, "events from before the start are not shown");
    assert.match(out, /^\d\d:\d\d:\d\d {2}agent\.registered\s+ledger \d+ {2}card [0-9a-f]{4}…/m);
    assert.equal(await now.stop(), 0, now.errors());
    assert.equal(now.errors(), "");

    const held = await runGateway(["tail", "--from-ledger", "1", "--once", "--json", ...at()]);
    assert.equal(held.code, 0, held.stderr);
    const lines = held.stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
    const types = lines.map(({ event }) => event.type);
    assert.deepEqual(types, ["device.registered", "device.registered", "agent.registered"]);
    const rest = await runGateway(["tail", "--cursor", lines[1].cursor, "--once", "--json", ...at()]);
    assert.deepEqual(rest.stdout.trimEnd().split("\n").map((line) => JSON.parse(line)), lines.slice(2));
    const ofOne = ["--tx-hash", lines[2].event.txHash];
    const one = await runGateway(["tail", "--from-ledger", "1", "--once", "--json", ...ofOne, ...at()]);
    assert.equal(one.stdout.trimEnd().split("\n").length, 1);
  },
);

test(
  "tail continues after its gateway restarts, and ends when an operator disables the key",
  { timeout: 240_000 },
  async () => {
    const store = `sqlite:${join(folder, "tail.db")}`;
    const key = await makeKey(HERE, store, { scopes: "read", rate: 1_000 });
    const serve = (port: string) => startServe(flagsFor(sandbox.info, { store, port, "poll-ms": "200" }));
    let gateway = await serve("0");
    const { port } = new URL(gateway.url);
    const { get } = createClient(gateway.url, key);
    const sequence = await until(async () => (await get("/v1/status")).body.ledger.sequence || undefined);
    // With --json tail prints no line at the start. From the next ledger on it misses nothing, however late it starts.
    const flags = ["--gateway", gateway.url, "--from-ledger", String(sequence + 1), "--json"];
    const tail = startTail(flags, { SERVICE_API_KEY: key });
    const heard = (out: string) => out.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line).event);
    await runGateway(["trigger", "device.registered", ...at()], {}, HERE);
    await tail.until((out) => heard(out).length === 1);
    gateway.signal("SIGTERM");
    assert.equal(await gateway.ended, 0, gateway.log());
    await runGateway(["trigger", "device.registered", ...at()], {}, HERE);
    await tail.until((_out, errors) => /the gateway at \S+ does not answer, retrying/.test(errors));
    gateway = await serve(port);
    const both = heard(await tail.until((out) => heard(out).length === 2));
    assert.deepEqual(both.map(({ type }) => type), ["device.registered", "device.registered"]);
    assert.notEqual(both[0].id, both[1].id);
    const id = key.split("_")[2]!;
    await runGateway(["keys", "disable", id, "--store", store], {}, HERE);
    assert.equal(await tail.ended, 1);
    assert.match(tail.errors(), /the gateway at \S+ refuses: unauthorized: the API key is no longer valid: disabled/);
    gateway.signal("SIGTERM");
    await gateway.ended;
  },
);

test("tail --once exits with code 130 when it is stopped before it has printed all events", async () => {
  const asked = Promise.withResolvers<void>();
  // A gateway that is slow to answer.
  const gateway = createServer(() => asked.resolve());
  await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
  const { port } = gateway.address() as AddressInfo;
  const flags = ["--gateway", `http://127.0.0.1:${port}`, "--from-ledger", "1", "--once"];
  const tail = startTail(flags, { SERVICE_API_KEY: "key" });
  await asked.promise;
  assert.equal(await tail.stop(), 130, tail.errors());
  gateway.closeAllConnections();
  gateway.close();
});

test("tail names the wrong flag or argument", async () => {
  const wrong: [string[], RegExp][] = [
    [["--from-ledger", "0"], /--from-ledger must be an integer from 1 to 4294967295; got "0"/],
    [["--from-ledger", "1", "--cursor", "x"], /--from-ledger and --cursor exclude each other/],
    [["--gateway", "http://x", "--sandbox", "http://y"], /--gateway and --sandbox exclude each other/],
    [["--gateway", "x"], /--gateway must be an http:\/\/ or https:\/\/ URL; got "x"/],
    [["--agent", "G1"], /--agent must be an account address .*; got "G1"/],
    [["--tx-hash", "12"], /--tx-hash must be 64 hex digits; got "12"/],
    [["--types", "payment.made"], /--types must be some of/],
    [["more"], /unexpected "more"/],
  ];
  for (const [flags, message] of wrong) {
    const { code, stderr } = await runGateway(["tail", ...flags], {}, HERE);
    assert.equal(code, 2, stderr);
    assert.match(stderr, message);
  }
  const { code, stderr } = await runGateway(["tail", "--cursor", "x", ...at()], {}, HERE);
  assert.deepEqual([code, /refuses: invalid_request: cursor must be one/.test(stderr)], [1, true], stderr);
});
