// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { Keypair, TransactionBuilder } from "@stellar/stellar-sdk";
import { Address, xdr as xdrTypes } from "@stellar/stellar-sdk/base";
import { type ExpectedCall, expectedCall, type PreparedOperation } from "../../lib/client/operation_call.ts";
import { explain } from "../../lib/http/pages/docs/envelope_box.js";
import { authorisation, envelopeOf, NETWORK, OPERATIONS, OWNER, THIEF_CONTRACT } from "../client/envelopes.ts";
import examples from "../../lib/http/openapi_examples.json" with { type: "json" };

const { prepareTransaction, submitTransaction, getNetwork } = examples.operations;
const { contracts } = getNetwork.responses["200"].network;
const prepared = prepareTransaction.responses["200"];
type Name = keyof typeof prepared;
const { agent, merchant } = {
  agent: prepared.registerAgent.operation.agent,
  merchant: prepared.authorize.operation.merchant,
};
const short = (address: string) => `${address.slice(0, 4)}…${address.slice(-4)}`;
const CARD = `${prepared.authorize.operation.deviceHash.slice(0, 4)}…`;

const SENTENCES: Record<Name, string> = {
  registerDevice: `register card ${CARD} as yours, with agent ${short(agent)}`,
  registerAgent: `let agent ${short(agent)} pay with card ${CARD}, at most 5 XLM a payment, for ever`,
  fundEscrow: `fund card ${CARD} with 10 XLM`,
  authorize: `pay 4 XLM to ${short(merchant)} with card ${CARD} (payment number 1)`,
  claim: "claim all payments that are pending in XLM",
  defundEscrow: `take 1 XLM back from card ${CARD}`,
  revokeAgent: `let no agent pay with card ${CARD} any more`,
  sweepEscrow: `send what is left on card ${CARD} back to its owner, in XLM`,
  revokeDevice: `give card ${CARD} up`,
};

test("the box describes each operation of the gateway, with fee, time and hash", async () => {
  assert.deepEqual(Object.keys(prepared).sort(), Object.keys(SENTENCES).sort());
  for (const [name, answer] of Object.entries(prepared)) {
    const { sentence, ...said } = await explain(JSON.stringify(answer), "another network's", contracts);
    const xlm = String(Number(answer.fee) / 1e7);
    const until = new Date(answer.validUntil * 1000).toISOString().replace("T", " ").replace(".000Z", " UTC");
    assert.equal(
      sentence,
      `You are about to sign: ${SENTENCES[name as Name]}, fee at most ${xlm} XLM, valid until ${until}.`,
    );
    assert.deepEqual([said.hash, said.signatures, said.verdict], [answer.hash, 0, "good"], name);
  }
});

test("the box finds the same hash in a signed envelope", async () => {
  for (const [name, { xdr }] of Object.entries(submitTransaction.requests)) {
    const answer = prepared[name as Name];
    const { hash, signatures, source } = await explain(xdr, answer.networkPassphrase);
    assert.deepEqual([hash, signatures], [answer.hash, 1], name);
    assert.equal(source, prepareTransaction.requests[name as Name].source);
  }
});

test("the box shows the payer, the fee and the operation of a fee bump", async () => {
  const { xdr, networkPassphrase } = prepared.fundEscrow;
  const inner = TransactionBuilder.fromXDR(xdr, networkPassphrase);
  const payer = Keypair.random();
  // deno-lint-ignore no-explicit-any
  const bump = TransactionBuilder.buildFeeBumpTransaction(payer, "20000000", inner as any, networkPassphrase);
  bump.sign(payer);
  const { sentence, source, hash, isFeeBump } = await explain(bump.toXDR(), networkPassphrase);
  assert.match(sentence, /fund card .* with 10 XLM, fee at most \d+(\.\d+)? XLM/);
  const paid = { source: payer.publicKey(), hash: Buffer.from(bump.hash()).toString("hex"), isFeeBump: true };
  assert.deepEqual({ source, hash, isFeeBump }, paid);
});

test("the box names the reason for an envelope that it cannot read", async () => {
  const { xdr, networkPassphrase } = prepared.fundEscrow;
  const bytes = Buffer.from(xdr, "base64");
  const cut = bytes.subarray(0, 100).toString("base64");
  await assert.rejects(explain(cut, networkPassphrase), /is cut off|signatures/);
  await assert.rejects(explain("", networkPassphrase));
  await assert.rejects(explain("not base64!", networkPassphrase));
  const otherFunction = Buffer.from(bytes.toString("latin1").replace("fund_escrow", "steal_money"), "latin1");
  const { sentence, verdict } = await explain(otherFunction.toString("base64"), networkPassphrase, contracts);
  assert.match(sentence, /call steal_money of C.*, which is no operation of the gateway/);
  assert.equal(verdict, "bad");
  const elsewhere = await explain(xdr, "Public Global Stellar Network ; September 2015");
  assert.match(elsewhere.sentence, /with 100000000 of asset C\w{3}…\w{4}, in its smallest unit/);
  assert.notEqual(elsewhere.hash, prepared.fundEscrow.hash);
});

const operation = (kind: PreparedOperation["kind"]) => OPERATIONS.find((one) => one.kind === kind)!;
const own = (kind: PreparedOperation["kind"]) => expectedCall(NETWORK, OWNER.publicKey(), operation(kind));
/** The same call, of a stranger's contract. */
const foreign = (kind: PreparedOperation["kind"]) =>
  expectedCall(
    {
      ...NETWORK,
      contracts: { deviceRegistry: THIEF_CONTRACT, agentRegistry: THIEF_CONTRACT, paymentEscrow: THIEF_CONTRACT },
    },
    OWNER.publicKey(),
    operation(kind),
  );
const say = (envelope: string, known: typeof NETWORK.contracts | undefined) =>
  explain(envelope, NETWORK.networkPassphrase, known);

test("the box names each call that a signature allows and the operation does not need", async () => {
  const [theft] = foreign("fundEscrow").under;
  for (const call of [own("claim"), foreign("claim")]) {
    for (const auth of [[authorisation({ ...call, under: [theft!] })], [authorisation(call), authorisation(theft!)]]) {
      for (const known of [NETWORK.contracts, undefined]) {
        const { sentence, verdict } = await say(envelopeOf(call, { auth }), known);
        assert.equal(verdict, "bad");
        assert.match(sentence, /allow claim of C.*, transfer of CDLZ…CYSC in your name, which no operation/);
      }
    }
  }
});

test("the box rejects a funding whose authorised transfer is not the funding's own", async () => {
  const fund = own("fundEscrow");
  const [transfer] = fund.under as [ExpectedCall];
  assert.equal((await say(envelopeOf(fund), NETWORK.contracts)).verdict, "good");
  const more = { ...transfer, args: [transfer.args[0]!, ...own("claim").args.slice(0, 1), transfer.args[2]!] };
  for (const under of [[], [more], [transfer, transfer], [{ ...transfer, contract: THIEF_CONTRACT }]]) {
    assert.equal(
      (await say(envelopeOf(fund, { auth: [authorisation({ ...fund, under })] }), NETWORK.contracts)).verdict,
      "bad",
    );
  }
});

test("the box reports an operation of another contract than the gateway's", async () => {
  for (const { kind } of OPERATIONS) {
    const { sentence, verdict } = await say(envelopeOf(foreign(kind)), NETWORK.contracts);
    assert.equal(verdict, "bad", kind);
    assert.match(sentence, /call \w+ of CCW6…MI75, which is not this gateway's contract for that/);
  }
});

test("without the gateway's contracts the box leaves its verdict open", async () => {
  for (const call of [own("fundEscrow"), foreign("fundEscrow")]) {
    const { sentence, verdict } = await say(envelopeOf(call), undefined);
    assert.equal(verdict, "open");
    assert.match(
      sentence,
      /about to sign: fund card .* This page does not know whether C.{3}….{4} is this gateway's contract\./,
    );
  }
});

test("the box describes a policy that ends beyond the calendar", async () => {
  const forEver = { ...operation("registerAgent"), expiresAt: Number.MAX_SAFE_INTEGER } as PreparedOperation;
  const call = expectedCall(NETWORK, OWNER.publicKey(), forEver);
  assert.match(
    (await say(envelopeOf(call), NETWORK.contracts)).sentence,
    /without a cap, in .*, until beyond the calendar, fee/,
  );
});

test("the box rejects an authorisation of another account", async () => {
  const credentials = xdrTypes.SorobanCredentials.sorobanCredentialsAddress(
    new xdrTypes.SorobanAddressCredentials({
      address: Address.fromString(OWNER.publicKey()).toScAddress(),
      nonce: 1n,
      signatureExpirationLedger: 9,
      signature: xdrTypes.ScVal.scvVoid(),
    }),
  );
  const call = own("claim");
  await assert.rejects(
    say(envelopeOf(call, { auth: [authorisation(call, credentials)] }), NETWORK.contracts),
    /calls of another account/,
  );
});
