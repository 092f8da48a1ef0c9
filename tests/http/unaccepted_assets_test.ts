// needs: neutral
import { Asset, Keypair, Operation as Classic } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { hashVal } from "../../lib/escrow/reads/storage_keys.ts";
import { addressOf, applyNow, callNow, signedEnvelope } from "../sandbox/past_the_gateway.ts";
import { until } from "../until.ts";
import { gatewayOfFile, METRICS_TOKEN, startGateway } from "./test_gateway.ts";
import { i128, u64 } from "../sandbox/sandbox_network.ts";

const CARD = "ab".repeat(32);
const VICTIM = "cd".repeat(32);

let thief: Keypair;
let junk: string;
const calls = new Map<string, number>();
const { on, api } = gatewayOfFile((on) => ({
  settings: { assets: "native", metricsToken: METRICS_TOKEN },
  fetch: (url, init) => {
    const { method } = JSON.parse(String(init.body));
    calls.set(method, (calls.get(method) ?? 0) + 1);
    return on.fetch(url, init);
  },
}));

before(async () => {
  thief = Keypair.random();
  await on.network.fund(thief.publicKey());
  const asset = new Asset("JUNK", thief.publicKey());
  applyNow(on.network, thief, Classic.createStellarAssetContract({ asset }));
  junk = asset.contractId(on.network.passphrase);
  const { owner, agent } = on.sandbox.accounts;
  await api.write(owner, { kind: "registerDevice", deviceHash: VICTIM, agent: agent.address });
  await api.write(owner, { kind: "fundEscrow", deviceHash: VICTIM, asset: on.sandbox.asset, amount: "1000" });
});

const foreignOf = async () => (await api.request("GET", "/v1/status")).body.bypassMovements;
const warnings = () =>
  api.log().split("\n").filter((line) => line.includes("a movement bypassed")).map((l) => JSON.parse(l));

describe("an attempt to exchange a junk asset for other owners' lumens", () => {
  test("fails at the gateway, which refuses an unaccepted asset in prepare, submit and check", async () => {
    await api.write(thief, { kind: "registerDevice", deviceHash: CARD, agent: thief.publicKey() });
    const refusals = [
      await api.prepare(thief, {
        kind: "registerAgent",
        deviceHash: CARD,
        agent: thief.publicKey(),
        asset: junk,
        maxAmount: "0",
      }),
      await api.prepare(thief, { kind: "fundEscrow", deviceHash: CARD, asset: junk, amount: "900" }),
      await api.prepare(thief, { kind: "claim", asset: junk }),
    ];
    for (const { status, body } of refusals) {
      assert.equal(status, 400);
      assert.deepEqual(body.error, {
        code: "invalid_request",
        message: `operation.asset must be ${on.sandbox.asset}, which this gateway accepts; got ${junk}`,
        retry: "never",
        param: "operation.asset",
      });
    }
    const { paymentEscrow } = on.sandbox.contracts;
    const args = [addressOf(junk), addressOf(thief), hashVal(CARD), i128(900)];
    const call = Classic.invokeContractFunction({ contract: paymentEscrow, function: "fund_escrow", args });
    const xdr = signedEnvelope(on.network, thief, call);
    const { status, body } = await api.submit(xdr);
    assert.equal(status, 400);
    assert.match(body.error.message, /^xdr must be a call with the asset C.*, which this gateway accepts; got C/);
    const check = await api.request("POST", "/v1/payments/check", {
      body: { deviceHash: CARD, asset: junk, amount: "1" },
    });
    assert.equal(check.body.ok, false);
  });

  test("past the gateway logs one warning for each reason and counts in status and metric, and each event names its asset", async () => {
    const { contracts: { agentRegistry, paymentEscrow }, asset } = on.sandbox;
    const [self, card] = [addressOf(thief), hashVal(CARD)];
    const policy = [self, card, self, i128(0), addressOf(asset), u64(0)];
    callNow(on.network, thief, agentRegistry, "register_agent", ...policy);
    assert.deepEqual(await foreignOf(), { count: 0, last: null });
    callNow(on.network, thief, paymentEscrow, "fund_escrow", addressOf(junk), self, card, i128(900));
    const first = await until(async () => {
      const found = await foreignOf();
      return found.count > 0 ? found : undefined;
    });
    const { eventId, ledger, ...last } = first.last;
    assert.deepEqual(last, { type: "escrow.funded", asset: junk, because: "not_listed" });
    callNow(on.network, thief, paymentEscrow, "fund_escrow", addressOf(junk), self, card, i128(1));
    callNow(on.network, thief, paymentEscrow, "authorize", self, card, self, addressOf(asset), i128(899), u64(1));
    callNow(on.network, thief, paymentEscrow, "claim", addressOf(asset), self);
    await until(async () => (await foreignOf()).count === 3);
    assert.equal((await foreignOf()).last.because, "not_what_was_funded");
    assert.deepEqual(warnings().map(({ because, asset }) => [because, asset]), [
      ["not_listed", junk],
      ["not_what_was_funded", asset],
    ]);
    assert.match(await api.metrics(), /^gateway_bypass_movements 3$/m);

    const { body } = await api.request("GET", `/v1/events?deviceHash=${CARD}`);
    // deno-lint-ignore no-explicit-any -- what JSON holds
    assert.deepEqual(body.events.map((event: any) => [event.type, event.asset]), [
      ["device.registered", undefined],
      ["agent.registered", asset],
      ["escrow.funded", junk],
      ["escrow.funded", junk],
      ["payment.authorized", asset],
    ]);
    assert.equal((await api.request("GET", `/v1/events/${eventId}`)).body.ledger, ledger);
  });

  test("appears in the status of a gateway that starts later, which refuses a policy in another asset than the escrow's", async () => {
    const { asset } = on.sandbox;
    const other = await startGateway(on, { settings: { assets: `native,${junk}` }, started: false });
    await other.gateway.turn(20_000);
    other.gateway.start();
    const found = await until(async () => {
      const { bypassMovements } = (await other.request("GET", "/v1/status")).body;
      return bypassMovements.count > 0 ? bypassMovements : undefined;
    });
    // This gateway accepts both assets. The movements count because they use another asset than the policy or the funding.
    assert.equal(found.count, 3);
    const { owner } = on.sandbox.accounts;
    const operation = { kind: "registerAgent", deviceHash: VICTIM, agent: owner.address, asset: junk, maxAmount: "0" };
    const { body } = await other.prepare(owner, operation);
    assert.equal(
      body.error.message,
      `operation.asset must be ${asset}, of which the card's escrow holds 1000: sweep it first; got ${junk}`,
    );
    await other.stop();
  });
});

test("the watcher makes one more call for each ledger with a movement, and no more for other ledgers", async () => {
  const { owner, agent } = on.sandbox.accounts;
  const latest = on.network.latestLedger().sequence;
  const seen = () =>
    until(async () =>
      (await api.request("GET", "/v1/events?order=desc&limit=1")).body.latestLedger >=
        on.network.latestLedger().sequence
    );
  await seen();
  calls.clear();
  await api.write(owner, { kind: "registerDevice", deviceHash: "ef".repeat(32), agent: agent.address });
  await seen();
  assert.equal(calls.get("getTransactions"), undefined);
  for (let n = 0; n < 3; n += 1) {
    await api.write(owner, { kind: "fundEscrow", deviceHash: VICTIM, asset: on.sandbox.asset, amount: "1" });
  }
  await until(async () => {
    const { events } = (await api.request("GET", `/v1/events?fromLedger=${latest}&types=escrow.funded`)).body;
    return events.length === 3;
  });
  assert.equal(calls.get("getTransactions"), 3);
});
