// needs: once
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { connect, createServer } from "node:net";
import { test } from "node:test";
import { freePort } from "../faults/serve_process.ts";
import { createClient } from "./client.ts";
import { tellListen } from "./listen_story.ts";
import { getAs } from "./raw_http.ts";
import { startReceiver } from "./receiver.ts";
import { startCommand } from "./running_command.ts";
import { environment, HERE, runGateway, sandboxOfFile, sourceCommand } from "./sandbox_process.ts";

const sandbox = sandboxOfFile();

test("trigger waits for a sandbox that does not listen yet", { timeout: 240_000 }, async () => {
  const port = await freePort();
  const triggered = startCommand(["trigger", "device.registered", "--json", "--sandbox", `http://127.0.0.1:${port}`]);
  await triggered.until((_out, errors) => errors.includes("waiting for the sandbox"));
  const late = createServer((socket) => {
    const through = connect(Number(new URL(sandbox.info.rpc).port), "127.0.0.1");
    for (const side of [socket, through]) side.on("error", () => {});
    socket.pipe(through).pipe(socket);
  }).listen(port, "127.0.0.1");
  assert.equal(await triggered.ended, 0, triggered.errors());
  const [line] = await triggered.out(/^\{.*\}\n/) as unknown as [string];
  assert.equal(JSON.parse(line).event, "device.registered");
  late.close();
});

test("listen and trigger wait up to 10 seconds for a sandbox, and then report its address and what to do", {
  timeout: 240_000,
}, async () => {
  const nowhere = `http://127.0.0.1:${await freePort()}`;
  const other = await startReceiver();
  await Promise.all(["listen", "trigger"].map(async (command) => {
    const { code, stdout, stderr } = await runGateway([command, "--sandbox", nowhere], {}, HERE);
    assert.deepEqual([code, stdout], [1, ""]);
    const [waiting, failed] = stderr.split("\n");
    assert.equal(waiting, `gateway ${command}: waiting for the sandbox at ${nowhere}, at most 10 seconds`);
    assert.match(failed!, new RegExp(`^gateway ${command}: no sandbox answers at ${nowhere}: start one with`));
    const { stderr: noSandbox } = await runGateway([command, "--sandbox", other.url], {}, HERE);
    assert.match(noSandbox, new RegExp(`^gateway ${command}: no sandbox of this version answers at \\S+`));
  }));
  await other.stop();
});

test("listen, trigger and tail name a wrong event, filter, number or URL", async () => {
  const at = ["--sandbox", sandbox.info.rpc];
  const wrong: [string[], number, RegExp][] = [
    [["trigger", "payment.made", ...at], 2, /EVENT must be one of device\.registered, .*; got "payment\.made"/],
    [["trigger", "device.registered", "escrow.funded"], 2, /unexpected "escrow\.funded"/],
    [["listen", "--port", "70000"], 2, /--port must be an integer from 0 to 65535; got "70000"/],
    [["listen", "--answer", "99"], 2, /--answer must be an integer from 200 to 599; got "99"/],
    [
      ["listen", "--types", "payment.made", ...at],
      2,
      /--types must be some of device\.registered, .*; got "payment\.made"/,
    ],
    [["listen", "--device-hash", "9a41", ...at], 2, /--device-hash must be 64 hex digits; got "9a41"/],
    [["listen", "--merchant", "G1", ...at], 2, /--merchant must be an account address .*; got "G1"/],
    [["listen", "--forward-to", "3000"], 2, /--forward-to must be an http:\/\/ or https:\/\/ URL; got "3000"/],
    [["listen", "--forward-to", "http://x", "--answer", "500"], 2, /--forward-to and --answer exclude each other/],
    [["listen", "--gateway", "http://x", "--port", "1"], 2, /--port is for a sandbox: leave out --port or --gateway/],
    [
      ["listen", "--gateway", "http://shop:geheim@x"],
      2,
      /^(?!.*geheim).*--gateway must be a URL without user and password/s,
    ],
    [["tail", "--sandbox", "http://geheim@x"], 2, /^(?!.*geheim).*--sandbox must be a URL without user and password/s],
    [
      ["listen", "--forward-to", "http://:geheim@x", ...at],
      2,
      /^(?!.*geheim).*--forward-to must be a URL without user and password/s,
    ],
    [["listen", "--gateway", "x"], 2, /--gateway must be an http:\/\/ or https:\/\/ URL; got "x"/],
    [["listen", "--gateway", "http://127.0.0.1:1"], 2, /standard input must be an API key .*; got 0 characters/],
    [["listen", "--sandbox", "nowhere"], 2, /--sandbox must be .*; got "nowhere"/],
    [["listen", "--port", new URL(sandbox.info.rpc).port, ...at], 1, /the port is in use/],
  ];
  for (const [args, code, message] of wrong) {
    const failed = await runGateway(args, {}, HERE);
    assert.equal(failed.code, code, failed.stderr);
    assert.match(failed.stderr, message);
    assert.doesNotMatch(failed.stderr, /\n {4}at /, "a message, not a stack");
  }
});

test(
  "listen ends silently when the reader of its output exits, and deletes its webhook",
  async () => {
    const { gateway, apiKey, rpc } = sandbox.info;
    const script = '"$@" listen --json --sandbox "$SANDBOX" | head -n 1; exit "${PIPESTATUS[0]}"';
    const child = spawn("bash", ["-c", script, "listen", ...sourceCommand()], {
      stdio: ["ignore", "pipe", "pipe"],
      env: environment({ SANDBOX: rpc }),
    });
    let [out, errors] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => out += text);
    child.stderr.setEncoding("utf8").on("data", (text: string) => errors += text);
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    const api = createClient(gateway, apiKey);
    const webhooks = async () => (await api.get("/v1/webhooks")).body.webhooks.length;
    while (await webhooks() === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    await runGateway(["trigger", "--sandbox", rpc]);
    assert.deepEqual([await ended, errors], [141, ""]);
    assert.equal(out.trimEnd().split("\n").length, 1);
    assert.equal(await webhooks(), 0);
  },
);

test("the sandbox returns its keys without CORS headers, and refuses another Host header with 403", async () => {
  const page = `${sandbox.info.rpc}/sandbox`;
  const told = await fetch(page);
  assert.deepEqual(await told.json(), sandbox.info);
  assert.equal(told.headers.get("access-control-allow-origin"), null);
  const rebound = await getAs("evil.example", page);
  assert.match(rebound, /^HTTP\/1\.1 403 /);
  assert.ok(!rebound.includes(sandbox.info.apiKey));
});

test("listen shows the events of trigger, and ends when its sandbox ends", async () => {
  await tellListen(sourceCommand(), sandbox);
});
