// needs: once
import assert from "node:assert/strict";
import { test } from "node:test";
import { verifyWebhook } from "../../lib/client/verify_webhook.ts";
import { type Received, startReceiver } from "./receiver.ts";
import { HERE, makeKey, runGateway, sandboxOfFile } from "./sandbox_process.ts";
import { startCommand } from "./running_command.ts";

const sandbox = sandboxOfFile();

const startListen = (flags: string[], options: Parameters<typeof startCommand>[1] = {}) =>
  startCommand(["listen", ...flags], options);

const SECRET = /whsec_[A-Za-z0-9+/]+=*/;

async function assertSigned({ body, headers }: Received, secret: string) {
  const verified = await verifyWebhook({ body, headers: headers as Record<string, string>, secret });
  assert.deepEqual([verified.ok, "id" in verified && verified.id], [true, JSON.parse(body).event.id]);
}

test("listen --gateway follows a gateway with a key from the environment, and forwards new events with a signature", {
  timeout: 240_000,
}, async () => {
  const { gateway, apiKey, rpc } = sandbox.info;
  await runGateway(["trigger", "device.registered", "--sandbox", rpc], {}, HERE);
  const receiver = await startReceiver(({ body }) => body.includes("agent.registered") ? 500 : 200);
  const forwarding = ["--gateway", `${gateway}/`, "--forward-to", `${receiver.url}/hooks`];
  const listening = startListen(forwarding, { env: { SERVICE_API_KEY: apiKey } });
  const [secret] = await listening.out(SECRET) as unknown as [string];
  await listening.out(/Listening to http:\/\/127\.0\.0\.1:\d+ after ledger \d+\. Ctrl-C ends it\./);
  await runGateway(["trigger", "agent.registered", "--sandbox", rpc], {}, HERE);
  const received = await receiver.until(2);
  for (const one of received) await assertSigned(one, secret);
  assert.deepEqual(received.map(({ path, body }) => [path, JSON.parse(body).event.type]), [
    ["/hooks", "device.registered"],
    ["/hooks", "agent.registered"],
  ], "events from before the start are not forwarded");
  await listening.out(
    /device\.registered {3}forwarded, answered 200 .*\n.* agent\.registered {4}forwarded, answered 500/,
  );
  assert.equal(await listening.stop(), 0, listening.errors());
  assert.equal(listening.errors(), "");
  await receiver.stop();
});

test(
  "listen --gateway reads the key from standard input, filters by type, and prints bodies with --json",
  { timeout: 240_000 },
  async () => {
    const { gateway, store, rpc } = sandbox.info;
    const key = await makeKey(HERE, store, { scopes: "read", rate: 600 });
    const flags = [
      "--gateway",
      gateway,
      "--types",
      "agent.registered",
      "--json",
      "--forward-to",
      "http://127.0.0.1:1/",
    ];
    const listening = startListen(flags, { stdin: `${key}\n` });
    await listening.until((_out, errors) => SECRET.test(errors));
    await new Promise((resolve) => setTimeout(resolve, 500));
    await runGateway(["trigger", "agent.registered", "--sandbox", rpc], {}, HERE);
    const [line] = await listening.out(/^\{.*\}\n/) as unknown as [string];
    assert.equal(JSON.parse(line).event.type, "agent.registered");
    assert.equal(await listening.stop(), 0);
  },
);

test("listen --gateway reports a gateway's refusal, and does not print the key", { timeout: 240_000 }, async () => {
  const key = `service_sk_${"a".repeat(38)}`;
  const wrong: [string, RegExp][] = [
    [sandbox.info.gateway, /the gateway at \S+ refuses: unauthorized: /],
    [sandbox.info.rpc, /the gateway at \S+ answers with 405: is it a gateway\?/],
  ];
  for (const [gateway, message] of wrong) {
    const { code, stdout, stderr } = await runGateway(["listen", "--gateway", gateway], { SERVICE_API_KEY: key }, HERE);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, message);
    assert.ok(!stderr.includes(key));
  }
});

test(
  "listen --forward-to forwards a sandbox's webhooks unchanged, and returns the endpoint's answer to the sandbox",
  { timeout: 240_000 },
  async () => {
    const { rpc } = sandbox.info;
    let answers = 0;
    const receiver = await startReceiver(() => answers++ === 0 ? 503 : 200);
    const listening = startListen(["--sandbox", rpc, "--forward-to", receiver.url]);
    const [secret] = await listening.out(SECRET) as unknown as [string];
    await runGateway(["trigger", "device.registered", "--sandbox", rpc], {}, HERE);
    const [first, again] = await receiver.until(2, 30_000);
    await assertSigned(first!, secret);
    await assertSigned(again!, secret);
    assert.equal(again!.body, first!.body, "the sandbox retries a refused delivery");
    await listening.out(/forwarded, answered 503 [^]*forwarded, answered 200 /);
    assert.equal(await listening.stop(), 0, listening.errors());
    await receiver.stop();
  },
);
