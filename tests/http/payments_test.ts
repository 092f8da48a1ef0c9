// needs: neutral
import { Keypair } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createGatewayClient, FeedError } from "../../lib/client/client.ts";
import { hashVal } from "../../lib/escrow/reads/storage_keys.ts";
import { addressOf, callNow, issueCard } from "../sandbox/past_the_gateway.ts";
import { i128, u64 } from "../sandbox/sandbox_network.ts";
import { until } from "../until.ts";
import { type GatewayUnderTest, startGateway, startTestNetwork, type TestNetwork } from "./test_gateway.ts";

const [CARD, OTHER] = ["ab".repeat(32), "cd".repeat(32)];

let on: TestNetwork;
let api: GatewayUnderTest;
let owner: Keypair;
let merchant: Keypair;
let stranger: string;
let nonce = 0;

function authorize(to: string, amount: number, card = CARD): void {
  const { contracts: { paymentEscrow }, asset } = on.sandbox;
  const args = [hashVal(card), addressOf(to), addressOf(asset), i128(amount), u64(++nonce)];
  callNow(on.network, owner, paymentEscrow, "authorize", addressOf(owner), ...args);
}

// deno-lint-ignore no-explicit-any -- what JSON holds
async function payments(query = ""): Promise<any> {
  const { status, body } = await api.request("GET", `/v1/payments${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

before(async () => {
  on = await startTestNetwork();
  const { accounts, asset, contracts } = on.sandbox;
  owner = Keypair.fromSecret(accounts.owner.secret);
  merchant = Keypair.fromSecret(accounts.merchant.secret);
  stranger = accounts.agent.address;
  for (const card of [CARD, OTHER]) issueCard(on, owner, card, 1_000_000);
  authorize(merchant.publicKey(), 5);
  authorize(merchant.publicKey(), 6, OTHER);
  callNow(on.network, merchant, contracts.paymentEscrow, "claim", addressOf(asset), addressOf(merchant));
  authorize(merchant.publicKey(), 7);
  authorize(stranger, 8);
  api = await startGateway(on);
  await until(async () => (await payments()).payments.length === 4);
});
after(async () => {
  await api?.stop();
  await on?.network.stop();
});

describe("the payments", () => {
  test("have their states, their ends, and the claim that took them", async () => {
    const { payments: [eight, seven, six, five], cursor, latestLedger } = await payments();
    assert.equal(cursor, null);
    assert.equal(latestLedger, on.network.latestLedger().sequence);
    const states = [five, six, seven, eight].map(({ amount, state }) => [amount, state]);
    assert.deepEqual(states, [["5", "claimed"], ["6", "claimed"], ["7", "pending"], ["8", "pending"]]);
    const { asset } = on.sandbox;
    const { body: { events } } = await api.request("GET", "/v1/events?types=payment.claimed");
    const [claim] = events;
    assert.deepEqual(five.claim, {
      eventId: claim.id,
      txHash: claim.txHash,
      ledger: claim.ledger,
      claimedAt: claim.ledgerClosedAt,
      asset,
    });
    const { body: { events: [paid] } } = await api.request("GET", "/v1/events?types=payment.authorized");
    const { expiresAtLedger, expiresAt, ...known } = five;
    assert.deepEqual(known, {
      id: paid.id,
      state: "claimed",
      expiring: false,
      deviceHash: CARD,
      agent: owner.publicKey(),
      merchant: merchant.publicKey(),
      asset,
      amount: "5",
      ledger: paid.ledger,
      authorizedAt: paid.ledgerClosedAt,
      txHash: paid.txHash,
      expired: null,
      claim: five.claim,
      reference: null,
      idempotencyKey: null,
    });
    assert.ok(expiresAtLedger > paid.ledger && Date.parse(expiresAt) > Date.parse(paid.ledgerClosedAt));
    const { transaction, deliveries, ...same } = (await api.request("GET", `/v1/payments/${paid.id}`)).body;
    assert.deepEqual([same, deliveries], [five, []]);
    assert.deepEqual([transaction.hash, transaction.ledger], [paid.txHash, paid.ledger]);
  });

  test("are listed by state, merchant, card, agent and time, in both orders, page by page", async () => {
    const amounts = async (query: string) =>
      (await payments(query)).payments.map(({ amount }: { amount: string }) => amount);
    assert.deepEqual(await amounts("?state=pending"), ["8", "7"]);
    assert.deepEqual(await amounts(`?merchant=${merchant.publicKey()}&order=asc`), ["5", "6", "7"]);
    assert.deepEqual(await amounts(`?deviceHash=${OTHER}`), ["6"]);
    assert.deepEqual(await amounts(`?agent=${owner.publicKey()}&state=claimed`), ["6", "5"]);
    assert.deepEqual(await amounts(`?agent=${stranger}`), []);
    const { payments: [newest] } = await payments();
    assert.deepEqual(await amounts(`?to=2020-01-01T00:00:00%2B02:00`), []);
    assert.ok((await amounts(`?from=${newest.authorizedAt}`)).includes("8"));
    assert.deepEqual(await amounts(`?from=${Date.parse(newest.authorizedAt) / 1_000 + 1}`), []);
    const pages = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const page = await payments(`?limit=2&order=asc${cursor && `&cursor=${cursor}`}`);
      pages.push(page.payments.map(({ amount }: { amount: string }) => amount));
      cursor = page.cursor;
    }
    assert.deepEqual(pages, [["5", "6"], ["7", "8"], []]);
  });

  test("refuse what they do not know, in the field's words", async () => {
    const { cursor } = await payments("?limit=1");
    for (
      const [query, message] of [
        ["state=open", "state must be one of pending, claimed, expired, unknown"],
        ["from=yesterday", "from must be a time in ISO 8601"],
        [
          "from=2026-01-02T00:00:00Z&to=2026-01-02T00:00:00Z",
          "from must be before to: from is inclusive, to is exclusive",
        ],
        ["cursor=nonsense", "cursor must be a cursor from an earlier response"],
        [`cursor=${cursor}&order=asc`, "order must be desc"],
      ] as const
    ) {
      const { status, body } = await api.request("GET", `/v1/payments?${query}`);
      assert.equal(status, 400);
      assert.ok(body.error.message.startsWith(message), body.error.message);
    }
    assert.equal((await api.request("GET", "/v1/payments/0000000000000000001-0000000001")).status, 404);
    assert.equal((await api.request("GET", "/v1/payments/one")).status, 400);
  });

  test("come through the client, all pages of them", async () => {
    const client = createGatewayClient({
      baseUrl: "http://gateway.test",
      apiKey: api.apiKey,
      fetch: async (input, init) => await api.gateway.fetch(new Request(input, init), { remoteAddress: "" }),
    });
    const amounts = [];
    for await (const { amount } of client.payments({ limit: 3 })) amounts.push(amount);
    assert.deepEqual(amounts, ["8", "7", "6", "5"]);
    const { payments: [newest] } = await payments();
    const one = await client.payment(newest.id);
    assert.ok(one.ok);
    const { transaction: _, deliveries: __, ...same } = one;
    assert.deepEqual(same, { ok: true, ...newest });
    await assert.rejects(client.payments({ from: "yesterday" }).next(), FeedError);
  });

  test("become claimed when the merchant claims", async () => {
    const { contracts: { paymentEscrow }, asset } = on.sandbox;
    callNow(on.network, merchant, paymentEscrow, "claim", addressOf(asset), addressOf(merchant));
    await until(async () => (await payments("?state=claimed")).payments.length === 3);
    assert.equal((await payments("?state=pending")).payments.length, 1);
  });
});
