// needs: neutral
import { Asset, Keypair, Operation as Classic, type xdr } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { hashVal } from "../../lib/escrow/reads/storage_keys.ts";
import { addressOf, applyNow, callNow, signedEnvelope } from "../sandbox/past_the_gateway.ts";
import { until } from "../until.ts";
import {
  assertInvalid,
  type GatewayUnderTest,
  startGateway,
  startTestNetwork,
  type TestNetwork,
} from "./test_gateway.ts";
import { i128, u64 } from "../sandbox/sandbox_network.ts";

const hashOf = (card: string) => card.repeat(32);

let on: TestNetwork;
let api: GatewayUnderTest;
let thief: Keypair;
/** An accepted asset that the thief issues. */
let usdc: string;
let xlm: string;

before(async () => {
  on = await startTestNetwork();
  thief = Keypair.random();
  await on.network.fund(thief.publicKey());
  const asset = new Asset("USDC", thief.publicKey());
  applyNow(on.network, thief, Classic.createStellarAssetContract({ asset }));
  usdc = asset.contractId(on.network.passphrase);
  xlm = on.sandbox.asset;
  api = await startGateway(on, { settings: { assets: `native,${usdc}` } });
  const { owner, agent } = on.sandbox.accounts;
  await api.write(owner, { kind: "registerDevice", deviceHash: hashOf("a1"), agent: agent.address });
  await api.write(owner, { kind: "fundEscrow", deviceHash: hashOf("a1"), asset: xlm, amount: "5000" });
});
after(async () => {
  await api.stop();
  await on.network.stop();
});

/** A card of the thief, registered through the gateway. */
async function newCard(card: string): Promise<string> {
  await act("registerDevice", hashOf(card), { agent: thief.publicKey() });
  return hashOf(card);
}

type Call = [name: string, ...args: xdr.ScVal[]];

/** Calls the contracts themselves, past the gateway. */
function direct(...[name, ...args]: Call): void {
  callNow(on.network, thief, contractOf(name), name, ...args);
}

function contractOf(name: string): string {
  const { agentRegistry, paymentEscrow } = on.sandbox.contracts;
  return name.endsWith("_agent") ? agentRegistry : paymentEscrow;
}

const self = () => addressOf(thief);
const fund = (card: string, asset: string, amount: number): Call => {
  return ["fund_escrow", addressOf(asset), self(), hashVal(card), i128(amount)];
};
const policy = (card: string, asset: string): Call => {
  return ["register_agent", self(), hashVal(card), self(), i128(0), addressOf(asset), u64(0)];
};
const payment = (card: string, asset: string, amount: number, nonce: number): Call => {
  return ["authorize", self(), hashVal(card), self(), addressOf(asset), i128(amount), u64(nonce)];
};
const defund = (card: string, asset: string, amount: number): Call => {
  return ["defund_escrow", addressOf(asset), hashVal(card), i128(amount)];
};
const sweep = (card: string, asset: string): Call => ["sweep_on_revoke", addressOf(asset), hashVal(card), self()];

/** The refusal of an operation by prepare, and by submit of the same call in an envelope not made by the gateway. */
async function refusals(operation: object, [name, ...args]: Call) {
  const call = Classic.invokeContractFunction({ contract: contractOf(name), function: name, args });
  const prepared = await api.prepare(thief, operation);
  const submitted = await api.submit(signedEnvelope(on.network, thief, call));
  assertInvalid(prepared, /./);
  assertInvalid(submitted, /./, "xdr");
  assert.equal(submitted.body.error.reason, prepared.body.error.reason);
  return { ...prepared.body.error, submit: submitted.body.error.message };
}

/** Executes an operation through the gateway, as the thief. */
const act = (kind: string, deviceHash: string, fields: object = {}) =>
  api.write(thief, { kind, deviceHash, ...fields });

const foreignOf = async () => (await api.request("GET", "/v1/status")).body.bypassMovements;

/** Executes `act`; returns how many new bypass movements the status counts, and the reason of the last one. */
async function alarmOf(act: () => void): Promise<string> {
  const before = (await foreignOf()).count;
  act();
  const { count, last } = await until(async () => {
    const found = await foreignOf();
    return found.count > before ? found : undefined;
  });
  return `${count - before} ${last.because}`;
}

describe("900 USDC and 1 XLM in one escrow", () => {
  test("are impossible through the gateway, which refuses a second asset and a policy for it", async () => {
    const card = await newCard("b1");
    await act("fundEscrow", card, { asset: usdc, amount: "900" });
    const one = { kind: "fundEscrow", deviceHash: card, asset: xlm, amount: "1" };
    const be = `${usdc}, of which the card's escrow holds 900: sweep it first; got ${xlm}`;
    assert.deepEqual(await refusals(one, fund(card, xlm, 1)), {
      ...{ code: "invalid_request", reason: "asset_mismatch", retry: "never", param: "operation.asset" },
      message: `operation.asset must be ${be}`,
      submit: `xdr must name as asset ${be}`,
    });
    const agent = { kind: "registerAgent", deviceHash: card, agent: thief.publicKey(), asset: xlm, maxAmount: "0" };
    const registered = await refusals(agent, policy(card, xlm));
    assert.equal(registered.message, `operation.asset must be ${be}`);
    await act("fundEscrow", card, { asset: usdc, amount: "1" });
    assert.equal((await foreignOf()).count, 0);
  });

  test("raise an alarm when they bypass the gateway, which then pays out at most each asset's own amount", async () => {
    const card = await newCard("b2");
    await act("fundEscrow", card, { asset: usdc, amount: "900" });
    assert.equal(await alarmOf(() => direct(...fund(card, xlm, 1))), "1 not_what_was_funded");

    const both = `900 of ${usdc} and 1 of ${xlm}`;
    const agent = { kind: "registerAgent", deviceHash: card, asset: xlm, agent: thief.publicKey(), maxAmount: "0" };
    const registered = await refusals(agent, policy(card, xlm));
    assert.equal(
      registered.message,
      `operation.deviceHash must be a card with a single asset in its escrow, not ${both}: take out each with ` +
        `defundEscrow first; got ${card}`,
    );
    assert.deepEqual([registered.param, registered.reason], ["operation.deviceHash", "asset_mismatch"]);
    for (const asset of [usdc, xlm]) {
      const one = { kind: "fundEscrow", deviceHash: card, asset, amount: "1" };
      assert.equal((await refusals(one, fund(card, asset, 1))).param, "operation.deviceHash");
      const all = { kind: "sweepEscrow", deviceHash: card, asset, agent: thief.publicKey() };
      assert.equal((await refusals(all, sweep(card, asset))).message, registered.message);
    }
    const tooMuch = { kind: "defundEscrow", deviceHash: card, asset: xlm, amount: "901" };
    const defunded = await refusals(tooMuch, defund(card, xlm, 901));
    const most = `at most 1, what the escrow of card ${card} holds of ${xlm}, beside 900 of ${usdc}; got 901`;
    assert.equal(defunded.message, `operation.amount must be ${most}`);
    assert.equal(defunded.submit, `xdr must name as amount ${most}`);
    assert.deepEqual([defunded.param, defunded.reason], ["operation.amount", "insufficient_escrow"]);

    direct(...policy(card, xlm));
    const body = { deviceHash: card, asset: xlm, amount: "2" };
    const check = async (body: object) => (await api.request("POST", "/v1/payments/check", { body })).body;
    await until(async () => (await check({ ...body, amount: "1" })).ok);
    assert.deepEqual(await check(body), { ok: false, reason: "insufficient_escrow" });
    const pay = { kind: "authorize", merchant: thief.publicKey(), ...body };
    const paid = await refusals(pay, payment(card, xlm, 2, 1));
    assert.deepEqual([paid.param, paid.reason], ["operation.amount", "insufficient_escrow"]);
    assert.equal((await api.prepare(thief, { ...pay, amount: "1" })).status, 200);

    await act("defundEscrow", card, { asset: xlm, amount: "1" });
    await act("revokeAgent", card);
    await act("sweepEscrow", card, { asset: usdc, agent: thief.publicKey() });
    assert.equal((await foreignOf()).count, 1);
  });

  test("raise an alarm each time a bypass spends, pays out or sweeps the other asset", async () => {
    const card = await newCard("b3");
    await act("fundEscrow", card, { asset: usdc, amount: "900" });
    const funded = await alarmOf(() => direct(...fund(card, xlm, 1)));
    direct(...policy(card, xlm));
    const paid = await alarmOf(() => direct(...payment(card, xlm, 301, 1)));
    const defunded = await alarmOf(() => direct(...defund(card, xlm, 300)));
    direct("revoke_agent", addressOf(thief), hashVal(card));
    const swept = await alarmOf(() => direct(...sweep(card, xlm)));
    assert.deepEqual([funded, paid, defunded, swept], Array(4).fill("1 not_what_was_funded"));
    direct("claim", addressOf(xlm), addressOf(thief));
    // An empty escrow accepts any asset again.
    await act("fundEscrow", card, { asset: xlm, amount: "5" });
    await act("defundEscrow", card, { asset: xlm, amount: "5" });
  });
});

test("the gateway refuses to defund or sweep an escrow in another asset than its own", async () => {
  const card = await newCard("b4");
  await act("registerAgent", card, { agent: thief.publicKey(), asset: usdc, maxAmount: "0" });
  await act("fundEscrow", card, { asset: usdc, amount: "900" });
  const other = { kind: "defundEscrow", deviceHash: card, asset: xlm, amount: "900" };
  const defunded = await refusals(other, defund(card, xlm, 900));
  const be = `${usdc}, of which the card's escrow holds 900; got ${xlm}`;
  assert.equal(defunded.message, `operation.asset must be ${be}`);
  await act("revokeAgent", card);
  const all = { kind: "sweepEscrow", deviceHash: card, asset: xlm, agent: thief.publicKey() };
  const swept = await refusals(all, sweep(card, xlm));
  assert.equal(swept.message, `operation.asset must be ${be}`);
  assert.equal(swept.submit, `xdr must name as asset ${be}`);
});

test("the gateway refuses to claim 20 USDC in another asset, and allows both assets for 20 USDC and 3 XLM, with an alarm", async () => {
  // The issuer of an asset needs no trustline for it.
  const merchant = thief;
  const to = merchant.publicKey();
  const agent = { agent: thief.publicKey(), maxAmount: "0" };
  const [inUsdc, inXlm] = [await newCard("c1"), await newCard("c2")];
  for (const [deviceHash, asset, amount] of [[inUsdc, usdc, "20"], [inXlm, xlm, "3"]]) {
    await api.write(thief, { kind: "registerAgent", deviceHash, asset, ...agent });
    await api.write(thief, { kind: "fundEscrow", deviceHash, asset, amount });
  }
  await act("authorize", inUsdc, { merchant: to, asset: usdc, amount: "20" });
  const claim = (asset: string) => api.prepare(merchant, { kind: "claim", asset });
  const { body: { error } } = await claim(xlm);
  assert.deepEqual(error, {
    ...{ code: "invalid_request", reason: "asset_mismatch", retry: "never", param: "operation.asset" },
    message: `operation.asset must be ${usdc}, which the merchant's payments were authorised in; got ${xlm}`,
  });
  assert.equal((await claim(usdc)).status, 200);

  // This payment bypasses the gateway. The merchant may still claim it, because otherwise it would expire.
  direct("authorize", addressOf(thief), hashVal(inXlm), addressOf(to), addressOf(xlm), i128(3), u64(7));
  const { paymentEscrow: contract } = on.sandbox.contracts;
  for (const asset of [xlm, usdc]) assert.equal((await claim(asset)).status, 200);
  const past = await alarmOf(() =>
    void callNow(on.network, merchant, contract, "claim", addressOf(xlm), addressOf(to))
  );
  assert.equal(past, "1 not_what_was_authorized");

  // Both are claimed. Each keeps the asset it was authorised in, beside the one that it was paid in.
  const claimed = await until(async () => {
    const { body: { payments } } = await api.request("GET", `/v1/payments?merchant=${to}&state=claimed&order=asc`);
    const own = payments.filter(({ deviceHash }: { deviceHash: string }) => [inUsdc, inXlm].includes(deviceHash));
    return own.length === 2 ? own : undefined;
  });
  const assets = claimed.map(({ asset, claim }: { asset: string; claim: { asset: string } }) => [asset, claim.asset]);
  assert.deepEqual(assets, [[usdc, xlm], [xlm, xlm]]);
});
