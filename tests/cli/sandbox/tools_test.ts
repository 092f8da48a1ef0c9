// needs: once
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import { StrKey } from "@stellar/stellar-sdk";
import { createClient, signed } from "../../e2e/client.ts";
import { runHere } from "../../e2e/here.ts";
import { startListen } from "../../e2e/listen_story.ts";
import { startReceiver } from "../../e2e/receiver.ts";
import { type SandboxProcess, sourceCommand } from "../../e2e/sandbox_process.ts";
import { until } from "../../until.ts";
import { startReadySandboxHere } from "./sandbox_here.ts";

let sandbox: SandboxProcess;
before(async () => {
  sandbox = await startReadySandboxHere();
});
after(() => sandbox.stop());

const run = (...args: string[]) => runHere(args, {});

/** Runs `gateway sandbox ACTION` on it, to be done well, and answers what it printed. */
async function act(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run("sandbox", ...args, "--sandbox", sandbox.info.rpc);
  assert.equal(code, 0, stderr);
  return stdout.trimEnd();
}

test(
  "time moves for network and gateway alike: new events appear in the history, and webhooks arrive",
  { timeout: 120_000 },
  async () => {
    const { gateway, apiKey, rpc } = sandbox.info;
    const api = createClient(gateway, apiKey);
    const at = ["--sandbox", rpc];
    assert.equal((await run("trigger", "device.registered", ...at)).code, 0);
    assert.match(
      await act("advance", "--seconds", "604800"),
      /^120960 ledgers closed\. Their hashes form chains of 1000 ledgers\. The network is at ledger \d+, \d{4}-/,
    );
    const listening = await startListen(sourceCommand(), api, at);
    assert.equal((await run("trigger", "device.registered", ...at)).code, 0);
    assert.match((await listening.heard(1))[0]!, /device\.registered {3}signature right, answered 204/);
    assert.equal(await listening.stop(), 0, listening.errors());

    const { events } = (await api.get("/v1/events?types=device.registered")).body;
    assert.equal(events.length, 2);
    assert.ok(Date.parse(events[1].ledgerClosedAt) - Date.parse(events[0].ledgerClosedAt) >= 604_800_000);
    const status = (await api.get("/v1/status")).body;
    assert.deepEqual(status.history.gaps, []);
    assert.ok(Date.parse(status.ledger.closedAt) > Date.now() + 604_000_000);
  },
);

test("snapshot, revert and fund print their result", { timeout: 60_000 }, async () => {
  const contract = StrKey.encodeContract(new Uint8Array(32).fill(9));
  const { ledger } = JSON.parse(await act("snapshot", "clean", "--json"));
  assert.match(await act("fund", contract), /^C\w{3}…\w{4} got 10000 lumens in ledger \d+\.$/);
  assert.match(await act("fund", contract), /already has 10000 lumens or more\.$/);
  const reverted = new RegExp(`^Back at snapshot clean\\. The network is at ledger ${ledger + 1}, `);
  assert.match(await act("revert", "clean"), reverted);
  assert.match(await act("fund", contract), /got 10000 lumens/);
  assert.match(await act("fund", contract, "--amount", "2.5"), /got 2\.5 lumens/);
  assert.equal(await act("snapshots"), `clean at ledger ${ledger}`);
  assert.equal(await act("snapshots", "--drop", "clean"), "There are no snapshots.");
});

test("impersonate and its end are shown by status", async () => {
  const { address } = sandbox.info.accounts.agent;
  assert.match(await act("impersonate", address), /^G\w{3}…\w{4} acts without signatures\.$/);
  assert.match(await act("status"), new RegExp(`^The network is at ledger \\d+, protocol \\d+\\.\nActs.* ${address}$`));
  const { accounts: { merchant }, gateway, apiKey, networkPassphrase } = sandbox.info;
  const api = createClient(gateway, apiKey);
  const operation = { kind: "registerDevice", deviceHash: "5a".repeat(32), agent: address };
  const { body } = await api.post("/v1/transactions/prepare", { source: address, operation });
  const byAnother = { xdr: signed(body.xdr, networkPassphrase, merchant.secret) };
  assert.equal(
    (await api.post("/v1/transactions/submit", byAnother)).status,
    200,
    "through the gateway, any key signs",
  );
  assert.match(await act("impersonate", address, "--stop"), /needs signatures again\.$/);
  const { impersonated, fork } = JSON.parse(await act("status", "--json"));
  assert.deepEqual([impersonated, fork], [[], undefined]);
});

/** Waits until the gateway has read the network up to this ledger. */
async function untilRead(ledger: number): Promise<void> {
  const api = createClient(sandbox.info.gateway, sandbox.info.apiKey);
  const read = async () => (await api.get("/v1/status")).body.history.ranges.at(-1)?.toLedger ?? 0;
  await until(async () => await read() >= ledger);
}

/** Triggers until it succeeds: the gateway compares several answers of the node before it believes in a reset. */
function triggerAfterRevert(...flags: string[]): Promise<string> {
  return until(async () => {
    const done = await run("trigger", "device.registered", ...flags, "--sandbox", sandbox.info.rpc);
    return done.code === 0 && done.stdout;
  });
}

test("after a revert the gateway reads new events", { timeout: 120_000 }, async () => {
  const { gateway, apiKey, rpc } = sandbox.info;
  const devices = async (): Promise<string[]> => {
    const { events } = (await createClient(gateway, apiKey).get("/v1/events?types=device.registered&limit=1000")).body;
    return events.map(({ deviceHash }: { deviceHash: string }) => deviceHash);
  };
  await act("snapshot", "before");
  await act("advance", "--seconds", "3600");
  const { stdout } = await run("trigger", "--json", "--sandbox", rpc);
  const { ledger } = JSON.parse(stdout.trimEnd().split("\n").at(-1)!);
  await untilRead(ledger);
  await act("revert", "before");
  const { deviceHash } = JSON.parse(await triggerAfterRevert("--json"));
  await until(async () => (await devices()).includes(deviceHash));
});

test("a webhook created after a snapshot gets the events after the revert", { timeout: 120_000 }, async () => {
  const { gateway, apiKey, rpc } = sandbox.info;
  const api = createClient(gateway, apiKey);
  const at = ["--sandbox", rpc];
  assert.equal((await run("trigger", "device.registered", ...at)).code, 0);
  await act("snapshot", "registered");
  const { latestLedger } = JSON.parse(await act("advance", "--ledgers", "100", "--json"));
  await untilRead(latestLedger);
  const listening = await startListen(sourceCommand(), api, at);
  await act("revert", "registered");
  await triggerAfterRevert();
  assert.match((await listening.heard(1))[0]!, /device\.registered {3}signature right, answered 204/);
  assert.equal(await listening.stop(), 0, listening.errors());
});

test("env prints variables that a shell can read", async () => {
  const script = 'eval "$1"; printf "%s\\n" "$GATEWAY" "$KEY" "$PAYMENT_ESCROW" "$STELLAR_NETWORK_PASSPHRASE"';
  const out = execFileSync("sh", ["-c", script, "sh", await act("env")], { encoding: "utf8" });
  const { gateway, apiKey, contracts, networkPassphrase } = sandbox.info;
  assert.deepEqual(out.trimEnd().split("\n"), [gateway, apiKey, contracts.paymentEscrow, networkPassphrase]);
  assert.deepEqual(JSON.parse(await act("env", "--json")), sandbox.info);
});

test("a wrong or impossible action is named", async () => {
  const contract = StrKey.encodeContract(new Uint8Array(32));
  const wrong: [string[], number, RegExp][] = [
    [["advanc"], 2, /expected one of advance, snapshot, .*, env; got "advanc"; did you mean advance\?/],
    [["advance"], 2, /advance needs either --seconds N or --ledgers N/],
    [["advance", "60"], 2, /advance needs either --seconds N or --ledgers N; got "60"/],
    [["advance", "--seconds", "0"], 2, /--seconds must be an integer from 1 to 315360000; got "0"/],
    [["advance", "--ledgers", "1", "--seconds", "1"], 2, /advance needs either/],
    [["snapshot"], 2, /NAME is missing: sandbox snapshot needs it/],
    [["snapshot", "a", "b"], 2, /unexpected "b"/],
    [["impersonate"], 2, /ACCOUNT is missing: sandbox impersonate needs it/],
    [["fund", "G", "--stop"], 2, /--stop is only for impersonate; got fund/],
    [["impersonate", "GABC"], 1, /address must be an account \(G…\); got "GABC"/],
    [["env", "--seconds", "1"], 2, /--seconds is only for advance; got env/],
    [["advance", "--seconds", "5", "--keep-time"], 2, /--keep-time is only for --ledgers; got --seconds/],
    [["snapshots", "--drop", "never"], 1, /name must be one of the snapshots .*; got "never"/],
    [["fund", contract, "--amount", "much"], 1, /amount must be lumens as text, .*; got "much"/],
    [["revert", "never"], 1, /name must be one of the snapshots .*; got "never"/],
    [["fund", "G1"], 1, /address must be an account \(G…\) or a contract \(C…\); got "G1"/],
  ];
  for (const [args, code, message] of wrong) {
    const failed = await run("sandbox", ...args, "--sandbox", sandbox.info.rpc);
    assert.equal(failed.code, code, failed.stderr);
    assert.match(failed.stderr, message);
  }
  const other = await startReceiver();
  const { code, stderr } = await run("sandbox", "advance", "--ledgers", "1", "--sandbox", other.url);
  assert.equal(code, 1);
  assert.match(stderr, /no sandbox of this version answers/);
  await other.stop();
});

test("the sandbox is found at its gateway, too", async () => {
  const { code, stdout } = await run("sandbox", "advance", "--ledgers", "3", "--sandbox", sandbox.info.gateway);
  assert.equal(code, 0);
  assert.match(stdout, /^3 ledgers closed\./);
});
