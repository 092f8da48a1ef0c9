// needs: neutral
import { Keypair, type Transaction, TransactionBuilder } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { createGatewayClient, FeedError } from "../../lib/client/client.ts";
import { signed } from "../e2e/client.ts";
import { until } from "../until.ts";
import { assertInvalid, gatewayOfFile } from "./test_gateway.ts";

const { on, api } = gatewayOfFile();
const CARD = "ab".repeat(32);

type Account = "owner" | "agent" | "merchant";
/** Fields of a request beside the operation. */
interface Named {
  key?: string;
  reference?: string;
  idempotencyKey?: string;
}

const headersOf = ({ idempotencyKey }: Named) => ({
  headers: idempotencyKey === undefined ? undefined : { "idempotency-key": idempotencyKey },
});

/** Prepares and signs. */
async function signedEnvelope(who: Account, operation: object, { key, reference, idempotencyKey }: Named = {}) {
  const { address, secret } = on.sandbox.accounts[who];
  const request = { key, body: { source: address, operation, reference }, ...headersOf({ idempotencyKey }) };
  const { status, body } = await api.request("POST", "/v1/transactions/prepare", request);
  assert.equal(status, 200, JSON.stringify(body));
  return { xdr: signed(body.xdr, body.networkPassphrase, secret), hash: body.hash as string };
}

const submit = (xdr: string, { key, idempotencyKey }: Named = {}) =>
  api.submit(xdr, { key, ...headersOf({ idempotencyKey }) });

async function write(who: Account, operation: object, named: Named = {}): Promise<{ hash: string; ledger: number }> {
  const { xdr } = await signedEnvelope(who, operation, named);
  const { status, body } = await submit(xdr, named);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

// deno-lint-ignore no-explicit-any -- what JSON holds
async function list(query = "", key?: string): Promise<any> {
  const { status, body } = await api.request("GET", `/v1/transactions${query}`, { key });
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

/** The listed transactions, once none is pending. */
// deno-lint-ignore no-explicit-any -- what JSON holds
const settled = (query = "", key?: string): Promise<any[]> =>
  until(async () => {
    const { transactions } = await list(query, key);
    return transactions.some(({ status }: { status: string }) => status === "pending") ? undefined : transactions;
  });

const hashes = (transactions: { hash: string }[]) => transactions.map(({ hash }) => hash);

describe("the transactions of a key", () => {
  const sent: Record<string, string> = {};
  before(async () => {
    const { accounts: { agent, merchant }, asset } = on.sandbox;
    const card = { deviceHash: CARD };
    sent.register = (await write("owner", { kind: "registerDevice", ...card, agent: agent.address })).hash;
    const policy = { kind: "registerAgent", ...card, agent: agent.address, asset, maxAmount: "0" };
    sent.policy = (await write("owner", policy, { reference: "onboarding" })).hash;
    const funded = await write("owner", { kind: "fundEscrow", ...card, asset, amount: "100" }, {
      reference: "onboarding",
    });
    sent.fund = funded.hash;
    const pay = { kind: "authorize", ...card, merchant: merchant.address, asset, amount: "5" };
    sent.pay = (await write("agent", pay, { reference: "order 1", idempotencyKey: "order-1" })).hash;
    const overtaken = await signedEnvelope("owner", { kind: "defundEscrow", ...card, asset, amount: "2" });
    const unauthorised = await signedEnvelope("agent", pay, { reference: "order 2" });
    sent.revoke = (await write("owner", { kind: "revokeAgent", ...card })).hash;
    assert.equal((await submit(overtaken.xdr)).body.error.transactionError, "txBadSeq");
    assert.equal((await submit(unauthorised.xdr)).body.error.code, "contract_refused");
    Object.assign(sent, { overtaken: overtaken.hash, unauthorised: unauthorised.hash });
    await settled();
  });

  test("are listed newest first, with kind, status, ledger, reference and Idempotency-Key", async () => {
    const { transactions, cursor } = await list();
    assert.equal(cursor, null);
    const { register, policy, fund, pay, revoke, overtaken, unauthorised } = sent;
    assert.deepEqual(hashes(transactions), [unauthorised, overtaken, revoke, pay, fund, policy, register]);
    const { submittedAt, ledger, ...paid } = transactions[3];
    assert.deepEqual(paid, {
      hash: pay,
      kind: "authorize",
      source: on.sandbox.accounts.agent.address,
      status: "success",
      reference: "order 1",
      idempotencyKey: "order-1",
    });
    assert.equal(ledger, (await api.request("GET", `/v1/transactions/${pay}`)).body.ledger);
    assert.ok(Math.abs(Date.parse(submittedAt) - Date.now()) < 600_000);
    const [failed, rejected] = transactions;
    assert.deepEqual([failed.status, failed.ledger > ledger, failed.reference], ["failed", true, "order 2"]);
    assert.deepEqual([rejected.status, rejected.ledger, rejected.reference], ["rejected", null, null]);
    assert.equal(transactions.at(-1).idempotencyKey, null);
  });

  test("are selected by source, kind, status, reference and time", async () => {
    const { owner, agent } = on.sandbox.accounts;
    const selected = async (query: string) => hashes((await list(`?${query}`)).transactions);
    assert.deepEqual(await selected(`source=${agent.address}`), [sent.unauthorised, sent.pay]);
    assert.deepEqual(await selected("kind=fundEscrow"), [sent.fund]);
    assert.deepEqual(await selected("status=failed"), [sent.unauthorised]);
    assert.deepEqual(await selected("status=rejected"), [sent.overtaken]);
    assert.deepEqual(await selected("reference=onboarding"), [sent.fund, sent.policy]);
    assert.deepEqual(await selected(`reference=onboarding&kind=registerAgent&source=${owner.address}`), [sent.policy]);
    assert.deepEqual(await selected("reference=none"), []);
    const { transactions: [newest, next] } = await list();
    const seconds = Date.parse(newest.submittedAt) / 1_000;
    assert.deepEqual(await selected(`from=${newest.submittedAt}&status=failed`), [newest.hash]);
    assert.deepEqual(await selected(`from=${Math.floor(seconds) + 1}`), []);
    assert.equal((await selected(`to=${newest.submittedAt}`)).includes(newest.hash), false);
    assert.ok((await selected(`to=${Math.floor(seconds) + 1}`)).includes(next.hash));
  });

  test("come page by page, in both orders", async () => {
    const all = hashes((await list()).transactions);
    for (const [order, wanted] of [["desc", all], ["asc", all.toReversed()]] as const) {
      const found: string[] = [];
      let pages = 0;
      for (let cursor: string | null = ""; cursor !== null; pages++) {
        const page = await list(`?limit=3&order=${order}${cursor && `&cursor=${cursor}`}`);
        found.push(...hashes(page.transactions));
        cursor = page.cursor;
      }
      assert.deepEqual([found, pages], [wanted, 3]);
    }
  });

  test("come through the client, all pages of them", async () => {
    const client = createGatewayClient({
      baseUrl: "http://gateway.test",
      apiKey: api.apiKey,
      fetch: async (input, init) => await api.gateway.fetch(new Request(input, init), { remoteAddress: "" }),
    });
    const { transactions } = await list("?order=asc");
    assert.deepEqual(await Array.fromAsync(client.transactions({ limit: 2, order: "asc" })), transactions);
    assert.deepEqual(await client.transactionPage({ status: "failed" }), { ok: true, ...await list("?status=failed") });
    await assert.rejects(client.transactions({ from: "yesterday" }).next(), FeedError);
  });

  test("have a record for each key that submits the envelope, with its own reference", async () => {
    const [first, second, reader] = [await api.newKey(), await api.newKey(), await api.newKey()];
    const { address } = on.sandbox.accounts.agent;
    const operation = { kind: "registerDevice", deviceHash: "01".repeat(32), agent: address };
    const { xdr, hash } = await signedEnvelope("owner", operation, { key: first, reference: "of the first" });
    const answers = await Promise.all([
      submit(xdr, { key: first, idempotencyKey: "mine" }),
      submit(xdr, { key: second }),
    ]);
    assert.deepEqual(answers.map(({ status }) => status), [200, 200]);
    const third = await api.newKey();
    assert.equal((await submit(xdr, { key: third })).status, 200);
    for (
      const [key, reference, idempotencyKey] of [[first, "of the first", "mine"], [second, null, null], [
        third,
        null,
        null,
      ]] as const
    ) {
      const [one, ...more] = await settled("", key);
      assert.deepEqual(more, []);
      assert.deepEqual([one.hash, one.status, one.reference, one.idempotencyKey], [
        hash,
        "success",
        reference,
        idempotencyKey,
      ]);
    }
    assert.deepEqual(await list("", reader), { transactions: [], cursor: null });
  });

  test("have the hash of a fee bump, and kind and reference of the transaction within", async () => {
    const key = await api.newKey();
    const { accounts: { agent }, network: { passphrase } } = { ...on.sandbox, network: on.network };
    const operation = { kind: "registerDevice", deviceHash: "02".repeat(32), agent: agent.address };
    const { xdr, hash } = await signedEnvelope("owner", operation, { key, reference: "bumped" });
    const inner = TransactionBuilder.fromXdr(xdr, passphrase) as Transaction;
    const payer = Keypair.fromSecret(agent.secret);
    const bump = TransactionBuilder.buildFeeBumpTransaction(payer, "2000000", inner, passphrase);
    bump.sign(payer);
    const submitted = await submit(bump.toXdr(), { key });
    assert.equal(submitted.status, 200, JSON.stringify(submitted.body));
    const [one, ...more] = await settled("", key);
    assert.deepEqual(more, []);
    assert.notEqual(one.hash, hash);
    const { submittedAt: _, ...known } = one;
    assert.deepEqual(known, {
      ...{ hash: submitted.body.hash, kind: "registerDevice", source: on.sandbox.accounts.owner.address },
      ...{ status: "success", ledger: submitted.body.ledger, reference: "bumped", idempotencyKey: null },
    });
  });

  test("do not include an envelope that the gateway refused to send", async () => {
    const key = await api.newKey();
    const { xdr } = await signedEnvelope("owner", { kind: "revokeDevice", deviceHash: "01".repeat(32) }, { key });
    const unsigned = await api.prepare(on.sandbox.accounts.owner, {
      kind: "revokeDevice",
      deviceHash: "02".repeat(32),
    });
    assert.equal((await submit(unsigned.body.xdr, { key })).status, 400);
    assert.deepEqual((await list("", key)).transactions, []);
    assert.equal((await submit(xdr, { key })).status, 200);
    assert.equal((await settled("", key)).length, 1);
  });

  test("refuse what they do not know, in the field's words", async () => {
    const { cursor } = await list("?limit=1");
    const { cursor: ofPayments } = (await api.request("GET", "/v1/payments?limit=1")).body;
    for (
      const [query, message, param] of [
        ["source=me", /^source must be an account/, "source"],
        ["kind=autorize", /^kind must be one of authorize, .*did you mean authorize/, "kind"],
        ["status=done", /^status must be one of pending, success, failed, rejected/, "status"],
        ["reference=", /^reference must be 1 to 128 printable ASCII characters/, "reference"],
        ["from=yesterday", /^from must be a time in ISO 8601/, "from"],
        ["from=5&to=5", /^from must be before to/, "from"],
        ["order=up", /^order must be one of asc, desc/, "order"],
        ["limit=0", /^limit must be an integer from 1 to 1000/, "limit"],
        ["cursor=nonsense", /^cursor must be a cursor from an earlier response/, "cursor"],
        [`cursor=${ofPayments ?? "ZGVzYyAx"}`, /^cursor must be a cursor from an earlier response/, "cursor"],
        [`cursor=${cursor}&order=asc`, /^order must be desc/, "order"],
        ["hash=1", /hash/, "hash"],
      ] as const
    ) {
      assertInvalid(await api.request("GET", `/v1/transactions?${query}`), message, param);
    }
  });
});
