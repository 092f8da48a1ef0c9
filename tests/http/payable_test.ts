// needs: neutral
import { Keypair, Operation } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { assetBalanceKey, hashVal } from "../../lib/escrow/reads/storage_keys.ts";
import { lineFlags } from "../sandbox/asset_network.ts";
import { addressOf, callNow, classicNow, type Issued, issueNow } from "../sandbox/past_the_gateway.ts";
import { i128, u64 } from "../sandbox/sandbox_network.ts";
import { until } from "../until.ts";
import { gatewayOfFile, startGateway } from "./test_gateway.ts";

const { on, api } = gatewayOfFile();

let owner: Keypair, agent: Keypair;
before(async () => [owner, agent] = [await account(), await account()]);

async function account(): Promise<Keypair> {
  const pair = Keypair.random();
  await on.network.fund(pair.publicKey());
  return pair;
}

/** An account that trusts the asset. */
async function holder({ asset }: Issued, limit?: string): Promise<Keypair> {
  const pair = await account();
  classicNow(on.network, pair, Operation.changeTrust({ asset, limit }));
  return pair;
}

/** A new asset, of which the owner has a million. */
async function issued(): Promise<Issued & { issuer: Keypair }> {
  const issuer = await account();
  const made = issueNow(on.network, issuer, "PESO");
  classicNow(on.network, owner, Operation.changeTrust({ asset: made.asset }));
  made.mint(owner.publicKey(), 1_000_000n);
  return { ...made, issuer };
}

let cards = 0;

/** A new card with this amount in its escrow, which pays without a cap. */
async function cardWith(asset: string, amount: string, maxAmount = "0"): Promise<string> {
  const deviceHash = (++cards).toString(16).padStart(64, "c");
  await api.write(owner, { kind: "registerDevice", deviceHash, agent: agent.publicKey() });
  await api.write(owner, { kind: "registerAgent", deviceHash, agent: agent.publicKey(), asset, maxAmount });
  await api.write(owner, { kind: "fundEscrow", deviceHash, asset, amount });
  return deviceHash;
}

interface Payment {
  deviceHash: string;
  asset: string;
  amount: string;
  merchant: string;
  nonce?: string;
}

const check = async (body: Partial<Payment>) => (await api.request("POST", "/v1/payments/check", { body })).body;
const prepare = (payment: Payment) => api.prepare(agent, { kind: "authorize", ...payment });

/** The payment's warning, which must be the same from check and prepare. */
async function warningOf(payment: Payment): Promise<string | undefined> {
  // Prepare shows the check the newest ledger.
  const [prepared, checked] = [await prepare(payment), await check(payment)];
  assert.equal(prepared.status, 200, JSON.stringify(prepared.body));
  assert.deepEqual(checked, { ok: true, ...(checked.warning === undefined ? {} : { warning: checked.warning }) });
  assert.equal(checked.warning, prepared.body.warning);
  return checked.warning;
}

/** The refusal by prepare, whose reason check must answer, too. */
async function refusalOf(payment: Payment) {
  const { status, body: { error } } = await prepare(payment);
  assert.deepEqual([status, error.code, error.retry], [400, "invalid_request", "never"], JSON.stringify(error));
  assert.deepEqual(await check(payment), { ok: false, reason: error.reason });
  return { reason: error.reason, param: error.param, message: error.message };
}

/** Waits until the log has the transaction, and a ledger has closed since. */
async function inLog(written: ReturnType<typeof api.write>): Promise<void> {
  const { hash } = await written;
  await until(async () => (await api.request("GET", `/v1/events?txHash=${hash}`)).body.events.length > 0);
  on.network.closeLedger();
}

describe("check and prepare warn", () => {
  const CANNOT = "the merchant cannot claim this payment now:";
  let peso: Issued & { issuer: Keypair };
  let deviceHash: string;
  before(async () => {
    peso = await issued();
    deviceHash = await cardWith(peso.contract, "1000");
  });
  const payment = (merchant: Keypair, amount = "100") => (
    { deviceHash, asset: peso.contract, amount, merchant: merchant.publicKey() }
  );
  const name = () => `PESO:${peso.issuer.publicKey()}`;

  test("that the merchant has no account", async () => {
    const merchant = Keypair.random();
    const warning = `${CANNOT} ${merchant.publicKey()} has no account on this network`;
    assert.equal(await warningOf(payment(merchant)), warning);
    const { asset, accounts } = on.sandbox;
    const card = { deviceHash: await cardWith(asset, "100"), asset, amount: "10" };
    assert.equal(await warningOf({ ...card, merchant: merchant.publicKey() }), warning);
    assert.equal(
      await warningOf({ ...card, merchant: accounts.merchant.address }),
      undefined,
      "lumens need no trustline",
    );
  });

  test("that the merchant has no trustline, unless it is the issuer; a check without a merchant does not warn", async () => {
    const merchant = await account();
    assert.equal(
      await warningOf(payment(merchant)),
      `${CANNOT} ${merchant.publicKey()} has no trustline for ${name()}`,
    );
    assert.deepEqual(await check({ ...payment(merchant), merchant: undefined }), { ok: true });
    assert.equal(await warningOf(payment(peso.issuer)), undefined);
    classicNow(on.network, merchant, Operation.changeTrust({ asset: peso.asset }));
    assert.equal(await warningOf(payment(merchant)), undefined);
  });

  test("that the issuer has not authorised the merchant's trustline, or only to maintain its balance", async () => {
    const merchant = await holder(peso);
    const [AUTHORIZED, MAINTAINS] = [1, 2];
    const warning =
      `${CANNOT} ${merchant.publicKey()} has a trustline for ${name()} that the issuer has not authorised`;
    classicNow(on.network, peso.issuer, lineFlags(merchant, MAINTAINS, AUTHORIZED, peso.asset));
    assert.equal(await warningOf(payment(merchant)), warning);
    classicNow(on.network, peso.issuer, lineFlags(merchant, 0, MAINTAINS, peso.asset));
    assert.equal(await warningOf(payment(merchant)), warning);
    peso.authorize(merchant.publicKey(), true);
    assert.equal(await warningOf(payment(merchant)), undefined);
  });

  test("that the trustline's limit is below the pending payments, until the merchant claims them", async () => {
    const merchant = await holder(peso, "0.0000150");
    peso.mint(merchant.publicKey(), 10n);
    assert.equal(await warningOf(payment(merchant, "140")), undefined);
    assert.ok(await warningOf(payment(merchant, "141")));
    await inLog(api.write(agent, { kind: "authorize", ...payment(merchant, "90") }));
    assert.equal(
      await warningOf(payment(merchant, "51")),
      `${CANNOT} ${merchant.publicKey()} has room for 140 up to the limit of its trustline for ${name()}, and 141 would be ` +
        "pending",
    );
    assert.equal(await warningOf(payment(merchant, "50")), undefined);
    await inLog(api.write(merchant, { kind: "claim", asset: peso.contract }));
    assert.equal(await warningOf(payment(merchant, "50")), undefined);
    assert.ok(await warningOf(payment(merchant, "51")));
  });
});

describe("the escrow contract", () => {
  test("with a frozen balance makes check and prepare refuse every merchant, after the contracts' own refusals, until the issuer unfreezes it", async () => {
    const { paymentEscrow } = on.sandbox.contracts;
    const { contract: asset, authorize } = await issued();
    const deviceHash = await cardWith(asset, "500", "400");
    const merchant = Keypair.random().publicKey();
    const payment = { deviceHash, asset, amount: "1", merchant };
    authorize(paymentEscrow, false);
    assert.deepEqual(await refusalOf(payment), {
      reason: "asset_frozen",
      param: "operation.asset",
      message:
        "operation.asset must be an asset that the escrow contract can pay out: the issuer froze the contract's " +
        `balance; got ${asset}`,
    });
    assert.deepEqual(await check({ ...payment, merchant: undefined }), { ok: false, reason: "asset_frozen" });
    const tooMuch = { ...payment, amount: "401" };
    const { status, body } = await prepare(tooMuch);
    assert.deepEqual([status, body.error.reason], [422, "amount_exceeds_limit"]);
    assert.deepEqual(await check(tooMuch), { ok: false, reason: "amount_exceeds_limit" });
    authorize(paymentEscrow, true);
    assert.match((await warningOf(payment))!, /has no account/);
  });

  test("after a clawback pays up to its remaining balance, less the merchant's pending payments", async () => {
    const peso = await issued();
    const asset = peso.contract;
    const deviceHash = await cardWith(asset, "1000");
    const [paid, other] = [await holder(peso), await holder(peso)].map((pair) => pair.publicKey());
    await inLog(api.write(agent, { kind: "authorize", deviceHash, asset, amount: "300", merchant: paid! }));
    peso.clawback(on.sandbox.contracts.paymentEscrow, 600n);
    const refused = (amount: string, merchant = paid!) => refusalOf({ deviceHash, asset, amount, merchant });
    const ofPaid =
      `operation.amount must be at most 100: the escrow contract holds 400 of ${asset}, and the merchant's ` +
      "pending payments are 300; got 101";
    assert.deepEqual(await refused("101"), { reason: "escrow_unfunded", param: "operation.amount", message: ofPaid });
    assert.equal(await warningOf({ deviceHash, asset, amount: "100", merchant: paid! }), undefined);
    const ofOther = `operation.amount must be at most 400: the escrow contract holds 400 of ${asset}; got 401`;
    assert.equal((await refused("401", other)).message, ofOther);
    assert.equal(await warningOf({ deviceHash, asset, amount: "400", merchant: other! }), undefined);
    const alone = { deviceHash, asset, amount: "401" };
    assert.deepEqual(await check(alone), { ok: false, reason: "escrow_unfunded" });
    assert.deepEqual(await check({ ...alone, amount: "400" }), { ok: true });
    peso.clawback(on.sandbox.contracts.paymentEscrow, 400n);
    assert.match((await refused("1")).message, /must be at most 0: the escrow contract holds 0 of /);
  });

  test("without one stroop that a stranger claimed past the gateway still pays all but the last payment", async () => {
    const peso = await issued();
    const [asset, stranger, merchant] = [peso.contract, await holder(peso), await holder(peso)];
    const [deviceHash, another] = [await cardWith(asset, "1000"), await cardWith(asset, "1")];
    const card = "5".repeat(64);
    const { agentRegistry, deviceRegistry, paymentEscrow } = on.sandbox.contracts;
    const direct = (contract: string, name: string, ...args: Parameters<typeof callNow>[4][]) =>
      callNow(on.network, stranger, contract, name, ...args);
    const [self, own, worthless] = [
      addressOf(stranger),
      hashVal(card),
      issueNow(on.network, stranger, "JUNK").contract,
    ];
    const junk = addressOf(worthless);
    direct(deviceRegistry, "register", self, own, self);
    direct(agentRegistry, "register_agent", self, own, self, i128(0n), junk, u64(0n));
    direct(paymentEscrow, "fund_escrow", junk, self, own, i128(1n));
    direct(paymentEscrow, "authorize", self, own, self, junk, i128(1n), u64(1n));
    direct(paymentEscrow, "claim", addressOf(asset), self);
    const payment = { deviceHash, asset, amount: "1000", merchant: merchant.publicKey() };
    assert.equal(await warningOf(payment), undefined);
    await inLog(api.write(agent, { kind: "authorize", ...payment }));
    await inLog(api.write(merchant, { kind: "claim", asset }));
    // Only the last payment meets the missing stroop.
    const last = { ...payment, deviceHash: another, amount: "1" };
    assert.equal((await refusalOf(last)).reason, "escrow_unfunded");
  });
});

test("an archived balance of the escrow contract refuses nothing, because a claim restores it", async () => {
  const { contract: asset } = await issued();
  const deviceHash = await cardWith(asset, "10");
  const balance = assetBalanceKey(asset, on.sandbox.contracts.paymentEscrow);
  const archived = await startGateway(on, {
    async fetch(url, init) {
      const { method } = JSON.parse(String(init.body));
      const answer = await (await on.fetch(url, init)).json();
      if (method === "getLedgerEntries") {
        answer.result.entries = answer.result.entries.filter(({ key }: { key: string }) => key !== balance);
      }
      return Response.json(answer);
    },
  });
  const payment = { deviceHash, asset, amount: "1" };
  const { body } = await archived.request("POST", "/v1/payments/check", { body: payment });
  assert.deepEqual(body, { ok: true });
  const merchant = agent.publicKey();
  const { status } = await archived.prepare(agent, { kind: "authorize", ...payment, merchant });
  assert.equal(status, 200);
  await archived.stop();
});

test("check makes no additional node call for the balances of merchant and escrow, and neither does prepare for a known asset", async () => {
  const calls: string[] = [];
  // Its watcher does not read, so that only requests make calls.
  const quiet = await startGateway(on, {
    started: false,
    fetch(url, init) {
      calls.push(JSON.parse(String(init.body)).method);
      return on.fetch(url, init);
    },
  });
  const ask = {
    check: (body: object) => quiet.request("POST", "/v1/payments/check", { body }),
    prepare: (payment: object) => quiet.prepare(agent, { kind: "authorize", ...payment }),
  };
  const readsOf = async (by: "check" | "prepare", payment: object) => {
    calls.length = 0;
    assert.equal((await ask[by](payment)).status, 200);
    return calls.filter((method) => method === "getLedgerEntries").length;
  };
  const meet = async () => {
    const peso = await issued();
    const deviceHash = await cardWith(peso.contract, "10");
    return { deviceHash, asset: peso.contract, amount: "1", merchant: (await holder(peso)).publicKey() };
  };
  const [first, second] = [await meet(), await meet()];
  // It reads some things once for all payments.
  await readsOf("prepare", first);
  await readsOf("check", first);
  on.network.closeLedger();
  const { status } = await quiet.request("GET", `/v1/merchants/${first.merchant}/pending`);
  assert.equal(status, 200);
  assert.equal(await readsOf("check", second), 2, "the card, then the agent's account; the asset is new");
  on.network.closeLedger();
  await readsOf("prepare", first);
  assert.equal(await readsOf("check", second), 1, "the card; the agent's account is known");
  assert.equal(await readsOf("check", second), 0, "from memory");
  assert.equal(await readsOf("prepare", second), 2, "the nonce, then the agent's account");
  assert.equal(await readsOf("prepare", { ...second, nonce: "7" }), 1, "the agent's account");
  await quiet.stop();
});
