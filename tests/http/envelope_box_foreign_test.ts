// needs: neutral
import { Address, xdr } from "@stellar/stellar-sdk/base";
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ExpectedCall, expectedCall, type PreparedOperation } from "../../lib/client/operation_call.ts";
import { explain } from "../../lib/http/pages/docs/envelope_box.js";
import { authorisation, envelopeOf, NETWORK, OPERATIONS, OWNER, THIEF_CONTRACT } from "../client/envelopes.ts";

const { contracts, networkPassphrase } = NETWORK;
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
const say = (envelope: string, known: typeof contracts | undefined) => explain(envelope, networkPassphrase, known);

test("the box names each call that a signature allows and the operation does not need", async () => {
  const [theft] = foreign("fundEscrow").under;
  for (const call of [own("claim"), foreign("claim")]) {
    for (const auth of [[authorisation({ ...call, under: [theft!] })], [authorisation(call), authorisation(theft!)]]) {
      for (const known of [contracts, undefined]) {
        const { sentence, verdict } = await say(envelopeOf(call, { auth }), known);
        assert.equal(verdict, "bad");
        assert.match(sentence, /allow claim of C.*, transfer of CDLZ…CYSC in your name, which no operation/);
      }
    }
  }
});

test("the transfer beneath a funding has to be the funding's own", async () => {
  const fund = own("fundEscrow");
  const [transfer] = fund.under as [ExpectedCall];
  assert.equal((await say(envelopeOf(fund), contracts)).verdict, "good");
  const more = { ...transfer, args: [transfer.args[0]!, ...own("claim").args.slice(0, 1), transfer.args[2]!] };
  for (const under of [[], [more], [transfer, transfer], [{ ...transfer, contract: THIEF_CONTRACT }]]) {
    assert.equal(
      (await say(envelopeOf(fund, { auth: [authorisation({ ...fund, under })] }), contracts)).verdict,
      "bad",
    );
  }
});

test("the box reports an operation of another contract than the gateway's", async () => {
  for (const { kind } of OPERATIONS) {
    const { sentence, verdict } = await say(envelopeOf(foreign(kind)), contracts);
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
    (await say(envelopeOf(call), contracts)).sentence,
    /without a cap, in .*, until beyond the calendar, fee/,
  );
});

test("the box rejects an authorisation of another account", async () => {
  const credentials = xdr.SorobanCredentials.sorobanCredentialsAddress(
    new xdr.SorobanAddressCredentials({
      address: Address.fromString(OWNER.publicKey()).toScAddress(),
      nonce: 1n,
      signatureExpirationLedger: 9,
      signature: xdr.ScVal.scvVoid(),
    }),
  );
  const call = own("claim");
  await assert.rejects(
    say(envelopeOf(call, { auth: [authorisation(call, credentials)] }), contracts),
    /calls of another account/,
  );
});
