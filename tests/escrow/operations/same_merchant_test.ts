// needs: neutral
import { Keypair, xdr } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { GatewayError } from "../../../lib/errors.ts";
import { contractCall, type PreparedOperation } from "../../../lib/escrow/operations/operations.ts";
import { simulationEnvelope } from "../../../lib/stellar/transactions/contract_call.ts";
import { type GatewayView, sandboxOfFile, signed } from "../sandbox.ts";
import { longOnly } from "../../tier.ts";

interface Card {
  deviceHash: string;
  agent: Keypair;
}

const sandbox = sandboxOfFile();
let cards: Card[];
before(async () => {
  cards = [];
  for (let number = 1; number <= 21; number += 1) cards.push(await newCard(number));
});

function apply(who: Keypair, operation: PreparedOperation): void {
  const call = contractCall(sandbox.contracts, who.publicKey(), operation);
  sandbox.invoke(who, call.contract, call.function, ...call.args);
}

async function newCard(number: number): Promise<Card> {
  const { owner, asset } = sandbox;
  const deviceHash = number.toString(16).padStart(64, "0");
  const agent = await sandbox.account();
  const shared = { deviceHash, agent: agent.publicKey() };
  apply(owner, { kind: "registerDevice", ...shared });
  apply(owner, { kind: "registerAgent", ...shared, asset, maxAmount: "0", expiresAt: null });
  apply(owner, { kind: "fundEscrow", deviceHash, asset, amount: "1000000" });
  return { deviceHash, agent };
}

function payment({ deviceHash }: Card, merchant: Keypair) {
  return {
    kind: "authorize" as const,
    deviceHash,
    merchant: merchant.publicKey(),
    asset: sandbox.asset,
    amount: "1",
  };
}

/** Prepares one payment of each card at the same time; answers the signed envelopes. */
function preparedPayments(gateway: GatewayView, from: Card[], merchant: Keypair): Promise<string[]> {
  return Promise.all(from.map(async (card) => {
    const request = { source: card.agent.publicKey(), operation: payment(card, merchant) };
    const prepared = await gateway.escrow.transactions.prepare(request);
    return signed(prepared.xdr, sandbox.network.passphrase, card.agent);
  }));
}

async function preparedClaim(gateway: GatewayView, merchant: Keypair): Promise<string> {
  const operation = { kind: "claim" as const, asset: sandbox.asset };
  const { xdr } = await gateway.escrow.transactions.prepare({ source: merchant.publicKey(), operation });
  return signed(xdr, sandbox.network.passphrase, merchant);
}

const submit = (gateway: GatewayView, envelope: string) => gateway.escrow.transactions.submit(envelope);

async function pay(gateway: GatewayView, card: Card, merchant: Keypair): Promise<void> {
  const [envelope] = await preparedPayments(gateway, [card], merchant);
  await submit(gateway, envelope!);
}

function sorobanData(envelope: string): xdr.SorobanTransactionData {
  const decoded = xdr.TransactionEnvelope.fromXdr(envelope, "base64");
  if (decoded.type !== "envelopeTypeTx" || decoded.v1.tx.ext.type !== "sorobanData") throw new Error("no invocation");
  return decoded.v1.tx.ext.sorobanData;
}

const written = (envelope: string) => sorobanData(envelope).resources.footprint.readWrite.length;
/** The entries that an authorize writes: the nonce, the balance, the payments' count and the payment. */
const OWN_ENTRIES = 4;

describe("payments of many cards to the same merchant", () => {
  for (
    const [order, sent] of [
      ["all at once", (gateway, envelopes) => Promise.all(envelopes.map((one) => submit(gateway, one)))],
      ["one after the other, last prepared first", async (gateway, envelopes) => {
        for (const one of envelopes.reverse()) await submit(gateway, one);
      }],
    ] as [string, (gateway: GatewayView, envelopes: string[]) => Promise<unknown>][]
  ) {
    test(`that are prepared at the same time all succeed when sent ${order}`, async () => {
      const [gateway, merchant] = [sandbox.gateway(), await sandbox.account()];
      await sent(gateway, await preparedPayments(gateway, cards.slice(0, 10), merchant));
      assert.equal((await gateway.escrow.reads.pending(merchant.publicKey())).pending, "10");
    });
  }

  test("succeed when the merchant claims between them, and the merchant loses no payment", async () => {
    const [gateway, merchant] = [sandbox.gateway(), await sandbox.account()];
    for (const card of cards.slice(0, 5)) await pay(gateway, card, merchant);
    const envelopes = await preparedPayments(gateway, cards.slice(0, 10), merchant);
    for (const one of envelopes.splice(7)) await submit(gateway, one);
    apply(merchant, { kind: "claim", asset: sandbox.asset });
    assert.equal((await gateway.escrow.reads.pending(merchant.publicKey())).pending, "0");
    for (const one of envelopes) await submit(gateway, one);
    assert.equal((await gateway.escrow.reads.pending(merchant.publicKey())).pending, "7");
  });

  test("do not block a claim that was prepared before them", async () => {
    const [gateway, merchant] = [sandbox.gateway(), await sandbox.account()];
    await pay(gateway, cards[20]!, merchant);
    const envelopes = await preparedPayments(gateway, cards.slice(0, 10), merchant);
    const claim = await preparedClaim(gateway, merchant);
    for (const one of envelopes) await submit(gateway, one);
    await submit(gateway, claim);
    assert.equal((await gateway.escrow.reads.pending(merchant.publicKey())).pending, "0");
  });

  test("may be twenty-one, beside thirty pending ones", { skip: longOnly }, async () => {
    const [gateway, merchant] = [sandbox.gateway(), await sandbox.account()];
    for (let paid = 0; paid < 30; paid += 1) await pay(gateway, cards[paid % 7]!, merchant);
    const envelopes = await preparedPayments(gateway, cards, merchant);
    const claim = await preparedClaim(gateway, merchant);
    assert.equal(written(envelopes[0]!), OWN_ENTRIES + 20 + 21);
    for (const one of envelopes.reverse()) await submit(gateway, one);
    assert.equal((await gateway.escrow.reads.pending(merchant.publicKey())).pending, "51");
    await assert.rejects(submit(gateway, claim), /prepare again/, "more came than it has slots for");
  });
});

describe("the cost of reserved slots", () => {
  test("is zero for a single payer, also with many payments", async () => {
    const [gateway, merchant, card] = [sandbox.gateway(), await sandbox.account(), cards[0]!];
    for (let paid = 0; paid < 3; paid += 1) {
      const source = card.agent.publicKey();
      // Prepared but not sent: the network can apply one envelope only of a sequence number.
      await gateway.escrow.transactions.prepare({ source, operation: payment(card, merchant) });
      const prepared = await gateway.escrow.transactions.prepare({ source, operation: payment(card, merchant) });
      const call = contractCall(sandbox.contracts, source, prepared.operation);
      const alone = await gateway.rpc.simulateTransaction(simulationEnvelope(call, source, sandbox.network.passphrase));
      assert.equal(sorobanData(prepared.xdr).toXdr("base64"), alone.transactionData);
      await submit(gateway, signed(prepared.xdr, sandbox.network.passphrase, card.agent));
      await pay(gateway, cards[1]!, merchant);
    }
  });

  test("is two keys for each competing payment: the next slot, and a first one in case of a claim", async () => {
    const [gateway, merchant] = [sandbox.gateway(), await sandbox.account()];
    for (const card of cards.slice(0, 9)) await pay(gateway, card, merchant);
    const counts = [];
    for (const card of cards.slice(0, 4)) {
      const [envelope] = await preparedPayments(gateway, [card], merchant);
      counts.push(written(envelope!) - OWN_ENTRIES);
    }
    assert.deepEqual(counts, [0, 3, 5, 7]);
  });

  test("is one key for a competing claim, and zero for a withdrawn payment", async () => {
    const [gateway, merchant] = [sandbox.gateway(), await sandbox.account()];
    for (const card of cards.slice(0, 2)) await pay(gateway, card, merchant);
    const stranger = { ...cards[2]!, deviceHash: "ff".repeat(32) };
    await assert.rejects(preparedPayments(gateway, [stranger], merchant), { contractError: "AgentNotAuthorized" });
    const [before] = await preparedPayments(gateway, [cards[0]!], merchant);
    assert.equal(written(before!), OWN_ENTRIES);
    const claim = await preparedClaim(sandbox.gateway(), merchant);
    await preparedClaim(gateway, merchant);
    const [beside] = await preparedPayments(gateway, [cards[0]!], merchant);
    assert.equal(written(beside!), OWN_ENTRIES + 1);
    await submit(gateway, claim);
    await submit(gateway, beside!);
    assert.equal((await gateway.escrow.reads.pending(merchant.publicKey())).pending, "1");
    const [next] = await preparedPayments(gateway, [cards[1]!], merchant);
    assert.equal(written(next!), OWN_ENTRIES, "the claim was applied");
  });

  test("is zero again five minutes after the last competing payment", async () => {
    const [gateway, merchant] = [sandbox.gateway(), await sandbox.account()];
    for (const one of await preparedPayments(gateway, cards.slice(0, 3), merchant)) await submit(gateway, one);
    const [soon] = await preparedPayments(gateway, [cards[3]!], merchant);
    assert.equal(written(soon!), OWN_ENTRIES + 5, "two next ones and three first ones");
    await submit(gateway, soon!);
    sandbox.pass(301);
    const [late] = await preparedPayments(gateway, [cards[4]!], merchant);
    assert.equal(written(late!), OWN_ENTRIES);
  });
});

describe("payments through another gateway without shared state", () => {
  test("make one payment fail, and the next one gets reserved slots", async () => {
    const [gateway, elsewhere, merchant] = [sandbox.gateway(), sandbox.gateway(), await sandbox.account()];
    const [late] = await preparedPayments(gateway, [cards[0]!], merchant);
    await pay(elsewhere, cards[1]!, merchant);
    const refusal = await submit(gateway, late!).then(() => assert.fail("it was not refused"), (error) => error);
    assert.ok(refusal instanceof GatewayError && refusal.code === "invalid_request", String(refusal));
    assert.match(
      refusal.message,
      /^payment_escrow\.authorize failed because another transaction changed its entries; prepare again/,
    );
    const [again] = await preparedPayments(gateway, [cards[0]!], merchant);
    for (const card of cards.slice(1, 5)) await pay(elsewhere, card, merchant);
    await submit(gateway, again!);
    assert.equal((await gateway.escrow.reads.pending(merchant.publicKey())).pending, "6");
  });

  test("are prepared without reserved slots when the node lacks the network's settings", async () => {
    const merchant = await sandbox.account();
    const gateway = sandbox.gateway({
      async fetch(url, init) {
        const answer = await sandbox.fetch(url, init);
        const request = JSON.parse(String(init.body));
        if (request.method !== "getLedgerEntries") return answer;
        const body = await answer.json();
        body.result.entries = body.result.entries.filter(({ key }: { key: string }) =>
          xdr.LedgerKey.fromXdr(key, "base64").type !== "configSetting"
        );
        return Response.json(body);
      },
    });
    const envelopes = await preparedPayments(gateway, cards.slice(0, 2), merchant);
    assert.deepEqual(envelopes.map(written), [OWN_ENTRIES, OWN_ENTRIES]);
    assert.match(gateway.problems.join("\n"), /authorize is prepared without reserved slots: .* lacks settings/);
    await submit(gateway, envelopes[1]!);
  });
});
