// needs: neutral
import { Keypair } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { hashVal } from "../../lib/escrow/reads/storage_keys.ts";
import { addressOf, callNow, issueCard } from "../sandbox/past_the_gateway.ts";
import { longOnly } from "../tier.ts";
import { type GatewayUnderTest, METRICS_TOKEN, startGateway, type TestNetwork } from "./test_gateway.ts";
import { limitsFor, startTightNetwork } from "./tight_network.ts";
import { i128, u64 } from "../sandbox/sandbox_network.ts";

const CARD = "ab".repeat(32);
/** The gateway warns from a hundred payments on. */
const LIMITS = limitsFor({ written: 20, touched: 110 });
/** How long a payment lives on the public network, whose settings these are. */
const LIFE_LEDGERS = 17_280;

let on: TestNetwork;
let api: GatewayUnderTest;
let owner: Keypair;
let nonce = 0;

before(async () => {
  on = await startTightNetwork(LIMITS);
  owner = Keypair.fromSecret(on.sandbox.accounts.owner.secret);
  issueCard(on, owner, CARD, 1_000_000);
});
after(async () => {
  await api?.stop();
  await on.network.stop();
});

function authorize(merchant: string, amount: number): void {
  const { contracts: { paymentEscrow }, asset } = on.sandbox;
  const to = [addressOf(merchant), addressOf(asset), i128(amount), u64(++nonce)];
  callNow(on.network, owner, paymentEscrow, "authorize", addressOf(owner), hashVal(CARD), ...to);
}

const pendingOf = async (merchant: string) => (await api.request("GET", `/v1/merchants/${merchant}/pending`)).body;
const closeTime = () => on.network.latestLedger().closeTime;

describe("a merchant's pending payments", () => {
  const merchant = () => on.sandbox.accounts.merchant.address;

  test("are listed oldest first, with the times of their authorisation and expiry", async () => {
    authorize(merchant(), 30);
    const first = closeTime();
    on.network.advance({ ledgers: 50 });
    authorize(merchant(), 12);
    const second = closeTime();
    api = await startGateway(on, { settings: { metricsToken: METRICS_TOKEN }, started: false });
    const { pending, payments, more } = await pendingOf(merchant());
    assert.deepEqual([pending, more], ["42", undefined]);
    assert.deepEqual(
      // deno-lint-ignore no-explicit-any -- what JSON holds
      payments.map(({ expiresAt: _, ...payment }: any) => payment),
      [
        { deviceHash: CARD, amount: "30", authorizedAt: first },
        { deviceHash: CARD, amount: "12", authorizedAt: second },
      ],
    );
    assert.ok(payments[0].expiresAt < payments[1].expiresAt);
    assert.ok(payments[0].expiresAt > closeTime());
  });

  test("that expire soon appear in the status and in the metrics", async () => {
    await api.gateway.turn(20_000);
    const status = async () => (await api.request("GET", "/v1/status")).body.expiring;
    assert.deepEqual(await status(), { payments: 0, merchants: 0, firstAt: null, complete: true });
    // Of the first payment a little less than a quarter of its life is left now, of the second a little more.
    on.network.advance({ ledgers: LIFE_LEDGERS * 3 / 4 - 25 });
    const later = await startGateway(on, { settings: { metricsToken: METRICS_TOKEN }, started: false });
    await later.gateway.turn(20_000);
    const { expiring } = (await later.request("GET", "/v1/status")).body;
    assert.deepEqual([expiring.payments, expiring.merchants, expiring.complete], [1, 1, true]);
    const [first] = (await later.request("GET", `/v1/merchants/${merchant()}/pending`)).body.payments;
    assert.ok(Math.abs(expiring.firstAt - first.expiresAt) <= 2);
    const metrics = await later.metrics();
    assert.match(metrics, /^gateway_payments_expiring 1$/m);
    assert.match(metrics, /^gateway_payments_expiring_complete 1$/m);
    await later.stop();
  });
});

describe("more than 500 pending payments", () => {
  const amounts = Array.from({ length: 500 }, (_, n) => String(n + 1));

  /** The answer of a new gateway, which has no cache. */
  async function listedOf(merchant: string) {
    const asked = await startGateway(on, { started: false });
    const { pending, more, payments } = (await asked.request("GET", `/v1/merchants/${merchant}/pending`)).body;
    await asked.stop();
    return { pending, more, amounts: payments.map(({ amount }: { amount: string }) => amount) };
  }

  test("appear as the oldest 500, the sum of all, and more: true", { skip: longOnly }, async () => {
    const merchant = Keypair.random().publicKey();
    for (let n = 1; n <= 500; n += 1) authorize(merchant, n);
    assert.deepEqual(await listedOf(merchant), { pending: "125250", more: undefined, amounts });
    authorize(merchant, 501);
    assert.deepEqual(await listedOf(merchant), { pending: "125751", more: true, amounts });
  });
});

describe("a claim that does not fit one transaction", () => {
  /** How many payments one claim can collect: it touches six other entries. */
  const collectable = LIMITS.touched - 6;

  test("gets a refusal from prepare that states when a claim fits again", async () => {
    const crowded = Keypair.random();
    await on.network.fund(crowded.publicKey());
    const count = LIMITS.written + 10;
    for (let n = 0; n < count; n += 1) authorize(crowded.publicKey(), 1);
    const asked = await startGateway(on, { started: false });
    const { status, body } = await asked.prepare(crowded, { kind: "claim", asset: on.sandbox.asset });
    assert.equal(status, 400, JSON.stringify(body));
    assert.match(
      body.error.message,
      new RegExp(
        "^payment_escrow\\.claim needs more than the network allows one transaction \\(it would write " +
          `${count + 3} ledger entries, where ${LIMITS.written} are allowed\\): the contract collects all ` +
          `${count} pending payments at once, or none\\. A claim fits again when the oldest \\d+ have expired, at about ` +
          "20.*Z\\. The merchant loses expired payments",
      ),
    );
    await asked.stop();
  });

  test("even after expiry gets a refusal that says so, and prepare warns the payer before the last payment", async () => {
    const crowded = Keypair.random();
    await on.network.fund(crowded.publicKey());
    const asked = await startGateway(on, { started: false });
    const claim = () => asked.prepare(crowded, { kind: "claim", asset: on.sandbox.asset });
    const merchant = crowded.publicKey();
    const operation = { kind: "authorize", deviceHash: CARD, merchant, asset: on.sandbox.asset, amount: "1" };
    const pay = () => asked.prepare(owner, operation);
    for (let n = 0; n < collectable - 1; n += 1) authorize(merchant, 1);
    assert.equal((await pay()).body.warning, undefined);
    // The merchant has the largest number that one claim can collect; all but one have expired.
    on.network.advance({ ledgers: LIFE_LEDGERS + 1_000 });
    authorize(merchant, 1);
    assert.equal((await claim()).status, 200);
    const { warning } = (await pay()).body;
    const one = `^with this payment the merchant has ${collectable + 1} since the last claim, `;
    assert.match(warning, new RegExp(`${one}.* more than ${collectable} .* is lost`));
    authorize(merchant, 1);
    const { status, body } = await claim();
    assert.equal(status, 400);
    const all = `goes through all ${
      collectable + 1
    } payments .* at most ${collectable} fit\\. The contract can no longer collect any of them`;
    assert.match(body.error.message, new RegExp(all));
    await asked.stop();
  });
});
