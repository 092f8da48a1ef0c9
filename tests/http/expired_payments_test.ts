// needs: neutral
import { Keypair, type Transaction, TransactionBuilder } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { acknowledge } from "../../lib/escrow/payments/payments_condition.ts";
import { hashVal } from "../../lib/escrow/reads/storage_keys.ts";
import { addressOf, callNow, issueCard } from "../sandbox/past_the_gateway.ts";
import { i128, u64 } from "../sandbox/sandbox_network.ts";
import {
  type GatewayUnderTest,
  METRICS_TOKEN,
  startGateway,
  startTestNetwork,
  type TestNetwork,
} from "./test_gateway.ts";

const CARD = "ab".repeat(32);
/** How long a payment lives in the sandbox, as on the public network. */
const LIFE_LEDGERS = 17_280;

let on: TestNetwork;
let api: GatewayUnderTest;
let passedMs = 0;

before(async () => {
  on = await startTestNetwork();
  const owner = Keypair.fromSecret(on.sandbox.accounts.owner.secret);
  issueCard(on, owner, CARD, 1_000_000);
  const settings = { metricsToken: METRICS_TOKEN };
  api = await startGateway(on, {
    settings,
    started: false,
    monotonicMs: () => performance.now() + passedMs,
    targets: {
      resolve: () => Promise.resolve(["1.1.1.1"]),
      poster: { post: () => Promise.resolve({ statusCode: 204, responseBody: "", durationMs: 1 }), close() {} },
    },
  });
});
after(async () => {
  await api?.stop();
  await on?.network.stop();
});

/** Ledgers close, and the gateway reads them, again after the time in which an event may come late. */
async function pass(ledgers: number): Promise<void> {
  on.network.advance({ ledgers });
  await api.gateway.turn(20_000);
  passedMs += 130_000;
  await api.gateway.turn(20_000);
}

// deno-lint-ignore no-explicit-any -- what JSON holds
const get = async (path: string): Promise<any> => {
  const { status, body } = await api.request("GET", path);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
};
const own = async () => (await get("/v1/events?types=payment.expiring,payment.expired")).events;

/** Pays through the gateway, within a fee bump. Returns the hash of that. */
async function payWithinFeeBump(operation: object): Promise<string> {
  const { network: { passphrase }, sandbox: { accounts: { owner, agent } } } = on;
  const inner = TransactionBuilder.fromXdr(await api.signedEnvelope(owner, operation), passphrase) as Transaction;
  const payer = Keypair.fromSecret(agent.secret);
  const bump = TransactionBuilder.buildFeeBumpTransaction(payer, "2000000", inner, passphrase);
  bump.sign(payer);
  const { status, body } = await api.submit(bump.toXdr());
  assert.equal(status, 200, JSON.stringify(body));
  return body.hash;
}

test("an unclaimed payment is announced, expires, and is an alarm until somebody acknowledges it, also within a fee bump", async () => {
  const { accounts: { owner, merchant }, contracts: { paymentEscrow }, asset } = on.sandbox;
  const [signer, other] = [Keypair.fromSecret(owner.secret), Keypair.random().publicKey()];
  const types = ["payment.authorized", "payment.expiring", "payment.expired"];
  for (const body of [{ types }, {}]) {
    await api.request("POST", "/v1/webhooks", { body: { url: "https://shop.example/hook", ...body } });
  }
  const pay = { kind: "authorize", deviceHash: CARD, merchant: merchant.address, asset };
  const bump = await payWithinFeeBump({ ...pay, amount: "7" });
  const { hash } = await api.write(owner, { ...pay, amount: "5" });
  const past = [addressOf(signer), hashVal(CARD), addressOf(other), addressOf(asset), i128(6), u64(9_000_000_000_000n)];
  callNow(on.network, signer, paymentEscrow, "authorize", ...past);
  await pass(LIFE_LEDGERS / 2);
  assert.deepEqual(await own(), []);
  const expiringNow = (await get("/v1/payments")).payments.map(({ expiring }: { expiring: boolean }) => expiring);
  assert.deepEqual(expiringNow, [false, false, false]);

  await pass(LIFE_LEDGERS / 4 + 10);
  const { payments: [ofOther, ours, bumped] } = await get("/v1/payments");
  assert.deepEqual([ours.txHash, ours.state, ours.expiring, ofOther.expiring], [hash, "pending", true, true]);
  const announced = await own();
  assert.deepEqual(announced.map(({ type }: { type: string }) => type), Array(3).fill("payment.expiring"));
  const ofOurs = announced.find(({ txHash }: { txHash: string }) => txHash === hash);
  const { id, ledger, ledgerClosedAt, ...fields } = ofOurs;
  assert.deepEqual(fields, {
    type: "payment.expiring",
    contractId: paymentEscrow,
    txHash: hash,
    paymentId: ours.id,
    deviceHash: CARD,
    agent: owner.address,
    merchant: merchant.address,
    amount: "5",
    asset,
  });
  assert.deepEqual(await get(`/v1/events/${id}`), ofOurs);
  assert.ok(ledger > ours.ledger + LIFE_LEDGERS * 3 / 4 - 1 && ledgerClosedAt > ours.authorizedAt);
  const { expiring } = await get("/v1/status");
  assert.deepEqual([expiring.payments, expiring.merchants, expiring.complete], [3, 2, true]);

  await pass(LIFE_LEDGERS / 4);
  await pass(10);
  const [expired] = (await own()).filter(({ type, txHash }: Record<string, string>) =>
    type === "payment.expired" && txHash === hash
  );
  const ended = await get(`/v1/payments/${ours.id}`);
  assert.equal(ended.state, "expired");
  assert.deepEqual(ended.expired, { eventId: expired.id, ledger: expired.ledger, expiredAt: expired.ledgerClosedAt });
  assert.ok(expired.ledger > ours.expiresAtLedger);
  assert.equal((await own()).length, 6);
  const delivered = ended.deliveries.map(({ type, state }: Record<string, string>) => [type, state]);
  assert.deepEqual(delivered.sort(), ["payment.authorized", ...types].map((type) => [type, "delivered"]).sort());
  const all = (await get("/v1/events")).events.map(({ type }: { type: string }) => type);
  assert.ok(!all.includes("payment.expired") && !all.includes("payment.expiring"), "opt-in");
  const status = await get("/v1/status");
  assert.deepEqual([status.expiring.payments, status.expired.payments, status.expired.others], [0, 2, 1]);
  assert.deepEqual([bumped.txHash, (await get(`/v1/payments/${bumped.id}`)).state], [bump, "expired"]);
  assert.equal(status.expired.last.id, ours.id);
  assert.match(await api.metrics(), /^gateway_payments_expired 2$/m);
  assert.match(api.log(), /a payment ended unclaimed/);

  assert.deepEqual(await acknowledge(api.store, { ids: [ours.id, "0000000000000000001-0000000001"] }), [
    "0000000000000000001-0000000001",
  ]);
  assert.deepEqual(await acknowledge(api.store, "all"), []);
  assert.deepEqual((await get("/v1/status")).expired, { payments: 0, others: 1, last: null });
  assert.equal((await get(`/v1/payments/${ours.id}`)).state, "expired");
});
