import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import process from "node:process";
import { createClient } from "./client.ts";
import { environment, runGateway, type SandboxProcess } from "./sandbox_process.ts";

interface Listener {
  /** Where it receives. */
  url: string;
  /** The lines it printed for deliveries, as soon as there are so many. */
  heard(count: number): Promise<string[]>;
  stop(): Promise<number | null>;
  ended: Promise<number | null>;
  errors(): string;
}

/** Starts `gateway listen` and waits until its webhook is there. */
export async function startListen(
  command: string[],
  api: ReturnType<typeof createClient>,
  flags: string[],
): Promise<Listener> {
  const urls = async (): Promise<string[]> =>
    (await api.get("/v1/webhooks")).body.webhooks.map(({ url }: { url: string }) => url);
  const before = await urls();
  const child = spawn(command[0]!, [...command.slice(1), "listen", ...flags], {
    stdio: ["ignore", "pipe", "pipe"],
    env: environment(),
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  let [out, errors] = ["", ""];
  let onMore = () => {};
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text, onMore()));
  child.stderr.setEncoding("utf8").on("data", (text: string) => errors += text);
  let url: string | undefined;
  while (url === undefined) {
    url = (await urls()).find((one) => !before.includes(one));
    assert.equal(child.exitCode, null, errors);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const heard = () => out.split("\n").filter((line) => /^(\d\d:\d\d:\d\d |\{)/.test(line));
  return {
    url,
    async heard(count) {
      while (heard().length < count) await new Promise<void>((resolve) => onMore = resolve);
      return heard();
    },
    ended,
    stop: () => (process.kill(child.pid!, "SIGINT"), ended),
    errors: () => errors,
  };
}

const LIFE = [
  ...["device.registered", "agent.registered", "escrow.funded", "payment.authorized", "payment.claimed"],
  ...["escrow.defunded", "agent.revoked", "escrow.swept", "device.revoked"],
];

/**
 * A newcomer's first minutes with three terminals: `sandbox`, `listen`, `trigger`; then one event alone, an endpoint that
 * fails, a stranger at the door, and the sandbox ending before the listener.
 *
 * @param sandbox without webhooks; the story ends it
 */
export async function tellListen(command: string[], sandbox: SandboxProcess): Promise<void> {
  const at = ["--sandbox", sandbox.info.rpc];
  const api = createClient(sandbox.info.gateway, sandbox.info.apiKey);

  const all = await startListen(command, api, at);
  const life = await runGateway(["trigger", ...at], {}, command);
  assert.equal(life.code, 0, life.stderr);
  const [card, ...steps] = life.stdout.trimEnd().split("\n");
  assert.match(card!, /^A new card: [0-9a-f]{64}$/);
  assert.deepEqual(steps.map((line) => line.split(" ")[0]), LIFE);
  const lines = await all.heard(LIFE.length);
  // Deliveries are begun in order, and may overtake one another on a busy machine.
  assert.deepEqual(lines.map((line) => line.split(/ +/)[1]).sort(), [...LIFE].sort());
  for (const line of lines) assert.match(line, /signature right, answered 204 {2}ledger \d+/);
  const forged = await fetch(all.url, { method: "POST", body: "{}", headers: { "x-service-signature": "t=1,v1=00" } });
  assert.equal(forged.status, 400);
  assert.equal((await all.heard(LIFE.length)).length, LIFE.length, "what is not signed is not shown");
  assert.equal(await all.stop(), 0, all.errors());
  assert.match(all.errors(), /refused a request without the gateway's signature/);
  assert.deepEqual((await api.get("/v1/webhooks")).body.webhooks, [], "it leaves no webhook behind");

  const failing = await startListen(command, api, [
    ...at,
    "--json",
    "--types",
    "payment.authorized",
    "--answer",
    "500",
  ]);
  const paid = await runGateway(["trigger", "payment.authorized", "--json", ...at], {}, command);
  const triggered = paid.stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(triggered.map(({ event }) => event), LIFE.slice(0, 4));
  const { subscription, event } = JSON.parse((await failing.heard(1))[0]!);
  const { hash, ledger, deviceHash } = triggered[3];
  assert.deepEqual([event.type, event.txHash, event.ledger, event.deviceHash], [
    "payment.authorized",
    hash,
    ledger,
    deviceHash,
  ]);
  const attempts = async () => (await api.get(`/v1/webhooks/${subscription}/deliveries`)).body.deliveries;
  while ((await attempts()).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual([(await attempts())[0].outcome, (await attempts())[0].statusCode], ["retry", 500]);

  assert.equal(await sandbox.stop(), 0, sandbox.log());
  assert.equal(await failing.ended, 1);
  assert.match(failing.errors(), /the webhook at \S+ is gone: the gateway at \S+ does not answer/);
}
