import assert from "node:assert/strict";
import { createClient } from "./client.ts";
import { startCommand } from "./running_command.ts";
import { runGateway, type SandboxProcess } from "./sandbox_process.ts";

/** Starts `gateway listen` and waits until its webhook is there. */
export async function startListen(command: string[], api: ReturnType<typeof createClient>, flags: string[]) {
  const urls = async (): Promise<string[]> =>
    (await api.get("/v1/webhooks")).body.webhooks.map(({ url }: { url: string }) => url);
  const before = await urls();
  const listening = startCommand(["listen", ...flags], { command });
  let url: string | undefined;
  while (url === undefined) {
    url = (await urls()).find((one) => !before.includes(one));
    assert.ok(!listening.isGone(), listening.errors());
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  /** The lines that it printed for deliveries. */
  const linesOf = (out: string) => out.split("\n").filter((line) => /^(\d\d:\d\d:\d\d |\{)/.test(line));
  const heard = async (count: number) => linesOf(await listening.until((out) => linesOf(out).length >= count));
  return { ...listening, url, heard };
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

  const failingFlags = ["--json", "--types", "payment.authorized", "--answer", "500"];
  const failing = await startListen(command, api, [...at, ...failingFlags]);
  const paid = await runGateway(["trigger", "payment.authorized", "--json", ...at], {}, command);
  const triggered = paid.stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(triggered.map(({ event }) => event), LIFE.slice(0, 4));
  const { subscription, event } = JSON.parse((await failing.heard(1))[0]!);
  const { type, txHash: hash, ledger, deviceHash } = event;
  assert.deepEqual({ ...triggered[3], event: type, hash, ledger, deviceHash }, triggered[3]);
  const attempts = async () => (await api.get(`/v1/webhooks/${subscription}/deliveries`)).body.deliveries;
  while ((await attempts()).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual([(await attempts())[0].outcome, (await attempts())[0].statusCode], ["retry", 500]);

  assert.equal(await sandbox.stop(), 0, sandbox.log());
  assert.equal(await failing.ended, 1);
  assert.match(failing.errors(), /the webhook at \S+ is gone: the gateway at \S+ does not answer/);
}
