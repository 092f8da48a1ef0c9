// needs: neutral
import { Keypair, type Transaction, TransactionBuilder } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createGatewayClient } from "../../lib/client/client.ts";
import { signed } from "../e2e/client.ts";
import { issueCard } from "../sandbox/past_the_gateway.ts";
import { until } from "../until.ts";
import {
  assertInvalid,
  type GatewayUnderTest,
  startGateway,
  startTestNetwork,
  type TestNetwork,
} from "./test_gateway.ts";

const CARD = "ab".repeat(32);

let on: TestNetwork;
let api: GatewayUnderTest;
let owner: Keypair;
/** The key that submits what the first key prepared. */
let other: string;
/** How often the gateway asked a node for a transaction. */
let asked = 0;
let isDown = false;

/** Prepares with the first key. */
async function prepared(amount: number, reference?: string) {
  const { accounts: { merchant }, asset } = on.sandbox;
  const operation = { kind: "authorize", deviceHash: CARD, merchant: merchant.address, asset, amount: String(amount) };
  const body = { source: owner.publicKey(), operation, reference };
  const answer = await api.request("POST", "/v1/transactions/prepare", { body });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const { xdr, networkPassphrase, hash, fee } = answer.body;
  return { xdr: signed(xdr, networkPassphrase, owner.secret()), hash: hash as string, fee: fee as string };
}

async function submit(xdr: string, options: { key?: string; headers?: Record<string, string> } = {}): Promise<string> {
  const { status, body } = await api.submit(xdr, options);
  assert.equal(status, 200, JSON.stringify(body));
  return body.hash;
}

// deno-lint-ignore no-explicit-any -- what JSON holds
async function payments(query = "", key?: string): Promise<any> {
  const { status, body } = await api.request("GET", `/v1/payments${query}`, { key });
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

const amounts = async (query: string, key?: string): Promise<string[]> =>
  (await payments(query, key)).payments.map(({ amount }: { amount: string }) => amount);

before(async () => {
  on = await startTestNetwork();
  owner = Keypair.fromSecret(on.sandbox.accounts.owner.secret);
  issueCard(on, owner, CARD, 1_000_000);
  api = await startGateway(on, {
    async fetch(url, init) {
      const isLookUp = String(init.body).includes('"getTransaction"');
      if (isLookUp) asked += 1;
      return isLookUp && isDown ? new Response("down", { status: 503 }) : await on.fetch(url, init);
    },
  });
  other = await api.newKey();
  await submit((await prepared(1, "order 1")).xdr, { headers: { "idempotency-key": "pay-1" } });
  await submit((await prepared(2, "rent")).xdr, { key: other, headers: { "idempotency-key": "of-the-other" } });
  await submit((await prepared(3)).xdr);
  const inner = TransactionBuilder.fromXdr((await prepared(4, "rent")).xdr, on.network.passphrase) as Transaction;
  const payer = Keypair.fromSecret(on.sandbox.accounts.agent.secret);
  const bump = TransactionBuilder.buildFeeBumpTransaction(payer, "2000000", inner, on.network.passphrase);
  bump.sign(payer);
  await submit(bump.toXdr());
  await prepared(5, "rent");
  await until(async () => (await payments()).payments.length === 4);
});
after(async () => {
  await api?.stop();
  await on?.network.stop();
});

describe("a payment", () => {
  test("has the reference and the Idempotency-Key that the calling key gave, and null for another key", async () => {
    const seen = async (key?: string) =>
      (await payments("?order=asc", key)).payments.map((
        { reference, idempotencyKey }: { reference: string | null; idempotencyKey: string | null },
      ) => [reference, idempotencyKey]);
    assert.deepEqual(await seen(), [["order 1", "pay-1"], ["rent", null], [null, null], ["rent", null]]);
    assert.deepEqual(await seen(other), [[null, null], [null, "of-the-other"], [null, null], [null, null]]);
  });

  test("is found by a reference of the calling key, the last prepared first, also within a fee bump", async () => {
    assert.deepEqual(await amounts("?reference=rent"), ["4", "2"]);
    assert.deepEqual(await amounts("?reference=rent&order=asc"), ["2", "4"]);
    assert.deepEqual(await amounts("?reference=order%201"), ["1"]);
    for (const query of ["?reference=ren", "?reference=rent&state=claimed", "?reference=rent&from=4000000000"]) {
      assert.deepEqual(await amounts(query), [], query);
    }
    assert.deepEqual(await amounts("?reference=rent", other), []);
    const [mine, found] = [await payments("?reference=rent&state=pending"), await payments("?order=asc")];
    assert.deepEqual(mine.payments, [found.payments[3], found.payments[1]]);
  });

  test("is found page by page, and pages may be short until the cursor is null", async () => {
    for (const [order, wanted] of [["asc", ["2", "4"]], ["desc", ["4", "2"]]] as const) {
      const found: string[] = [];
      for (let cursor: string | null = ""; cursor !== null;) {
        const page = await payments(`?reference=rent&limit=1&order=${order}${cursor && `&cursor=${cursor}`}`);
        assert.ok(page.payments.length <= 1);
        found.push(...page.payments.map(({ amount }: { amount: string }) => amount));
        cursor = page.cursor;
      }
      assert.deepEqual(found, wanted);
    }
    const client = createGatewayClient({
      baseUrl: "http://gateway.test",
      apiKey: api.apiKey,
      fetch: async (input, init) => await api.gateway.fetch(new Request(input, init), { remoteAddress: "" }),
    });
    const all = await Array.fromAsync(client.payments({ reference: "rent", limit: 1 }), ({ amount }) => amount);
    assert.deepEqual(all, ["4", "2"]);
  });

  test("has its transaction with source and fee, from one call to the node, and null when the node does not answer", async () => {
    const { payments: [bumped, third] } = await payments();
    for (const one of [bumped, third]) {
      asked = 0;
      const { body: { transaction, deliveries: _, ...payment } } = await api.request("GET", `/v1/payments/${one.id}`);
      assert.deepEqual(payment, one);
      const { source, fee, ...place } = transaction;
      assert.deepEqual(place, { hash: one.txHash, ledger: one.ledger });
      assert.equal(source, owner.publicKey());
      assert.ok(Number(fee) > 100, fee);
      assert.equal(asked, 1);
    }
    isDown = true;
    const { status, body } = await api.request("GET", `/v1/payments/${third.id}`);
    isDown = false;
    assert.deepEqual([status, body.transaction.source, body.transaction.fee], [200, null, null]);
  });

  test("is not looked for with a cursor of another list, or a reference that no prepare takes", async () => {
    const byTime = (await payments("?limit=1")).cursor;
    const byReference = (await payments("?reference=rent&limit=1")).cursor;
    for (
      const [query, message, param] of [
        [`reference=rent&cursor=${byTime}`, /^cursor must be a cursor from an earlier response/, "cursor"],
        [`cursor=${byReference}`, /^cursor must be a cursor from an earlier response/, "cursor"],
        [`reference=rent&order=asc&cursor=${byReference}`, /^order must be desc/, "order"],
        ["reference=%20a", /^reference must be 1 to 128 printable ASCII characters/, "reference"],
      ] as const
    ) {
      assertInvalid(await api.request("GET", `/v1/payments?${query}`), message, param);
    }
  });
});
