// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { Asset, Keypair, Operation, type Transaction, xdr } from "@stellar/stellar-sdk";
import { sha256 } from "../../lib/sandbox/ledger/bytes.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import {
  accountOf,
  apply,
  build,
  codesOf,
  fund,
  keypair,
  refusal,
  signed,
  startNetwork,
  submit,
} from "./sandbox_network.ts";

const alice = keypair("alice");
const bob = keypair("bob");
const carol = keypair("carol");

type SetOptions = Parameters<typeof Operation.setOptions>[0];

describe("signatures with weights and thresholds", () => {
  let network: SandboxNetwork;

  beforeEach(async () => {
    ({ network } = await startNetwork());
    await fund(network, alice, bob);
  });

  const setOptions = (...changes: SetOptions[]) => {
    const operations = changes.map((change) => Operation.setOptions(change));
    assert.equal(apply(network, signed(build(network, alice, operations), alice)).successful, true);
  };
  const signer = (pair: Keypair, weight: number): SetOptions => ({
    signer: { ed25519PublicKey: pair.publicKey(), weight },
  });
  const thresholds = (low: number, medium: number, high: number): SetOptions => ({
    lowThreshold: low,
    medThreshold: medium,
    highThreshold: high,
  });
  const payment = Operation.payment({ destination: bob.publicKey(), asset: Asset.native(), amount: "1" });
  const bump = Operation.bumpSequence({ bumpTo: "0" });
  const outcome = (operation: xdr.Operation, ...signers: Keypair[]) => {
    const result = submit(network, signed(build(network, alice, [operation]), ...signers));
    network.closeLedger();
    return result.status === "ERROR" ? refusal(result) : result.status;
  };

  test("a payment takes the medium threshold, bumping the sequence the low one, changing signers the high one", () => {
    setOptions(signer(bob, 1), signer(carol, 1), thresholds(1, 2, 3));
    assert.equal(outcome(bump, alice), "PENDING");
    assert.equal(outcome(payment, alice), "txFailed/opBadAuth");
    assert.equal(outcome(payment, alice, bob), "PENDING");
    assert.equal(outcome(Operation.setOptions({ homeDomain: "example.org" }), alice, bob), "PENDING");
    assert.equal(outcome(Operation.setOptions(signer(carol, 0)), alice, bob), "txFailed/opBadAuth");
    assert.equal(outcome(Operation.setOptions(signer(carol, 0)), alice, bob, carol), "PENDING");
    assert.deepEqual(accountOf(network, alice).signers.length, 1);
  });

  test("below the low threshold the transaction itself is refused: txBadAuth", () => {
    setOptions(signer(bob, 1), thresholds(2, 2, 2));
    assert.equal(outcome(bump, alice), "txBadAuth");
    assert.equal(outcome(bump, bob), "txBadAuth");
    assert.equal(outcome(bump, alice, bob), "PENDING");
  });

  test("another signer suffices when it has the weight, and the account's own key is then one too many", () => {
    setOptions(signer(bob, 5), thresholds(1, 5, 5));
    assert.equal(outcome(payment, bob), "PENDING");
    assert.equal(outcome(payment, bob, carol), "txBadAuthExtra");
  });

  test("an account's own key without weight cannot sign", () => {
    setOptions(signer(bob, 1), { masterWeight: 0 });
    assert.equal(outcome(payment, alice), "txBadAuth");
    assert.equal(outcome(payment, bob), "PENDING");
  });

  test("a pre-authorised transaction needs no signature, and its signer is used up", () => {
    const { seqNum } = accountOf(network, alice);
    const prepared = build(network, alice, [payment], { sequence: seqNum + 1n });
    setOptions({ signer: { preAuthTx: prepared.hash(), weight: 1 } });
    assert.equal(accountOf(network, alice).numSubEntries, 1);
    assert.equal(apply(network, prepared).successful, true);
    assert.equal(accountOf(network, alice).signers.length, 0);
    assert.equal(accountOf(network, alice).numSubEntries, 0);
  });

  test("a pre-authorised transaction that fails uses its signer up too", () => {
    const { seqNum } = accountOf(network, alice);
    const tooMuch = Operation.payment({ destination: bob.publicKey(), asset: Asset.native(), amount: "20000" });
    const prepared = build(network, alice, [tooMuch], { sequence: seqNum + 1n });
    setOptions({ signer: { preAuthTx: prepared.hash(), weight: 1 } });
    assert.equal(codesOf(apply(network, prepared).resultXdr), "txFailed/payment/paymentUnderfunded");
    assert.equal(accountOf(network, alice).signers.length, 0);
  });

  const decorated = (transaction: Transaction, hint: Uint8Array, signature: Uint8Array) => {
    transaction.addDecoratedSignature(new xdr.DecoratedSignature({ hint, signature }));
    return transaction;
  };

  test("the preimage of a hash signs, another one does not", () => {
    const preimage = new TextEncoder().encode("open sesame");
    const hash = sha256(preimage);
    setOptions({ signer: { sha256Hash: hash, weight: 1 } });
    const draft = () => build(network, alice, [payment]);
    const wrong = new TextEncoder().encode("open barley");
    assert.equal(refusal(submit(network, decorated(draft(), hash.subarray(28), wrong))), "txBadAuth");
    assert.equal(apply(network, decorated(draft(), hash.subarray(28), preimage)).successful, true);
  });

  test("a signed payload signs whatever the transaction (CAP-40)", () => {
    const payload = new TextEncoder().encode("a revealed secret");
    const key = xdr.SignerKey.signerKeyTypeEd25519SignedPayload(
      new xdr.SignerKeyEd25519SignedPayload({ ed25519: bob.rawPublicKey(), payload }),
    );
    const options = Operation.setOptions({});
    assert.ok(options.body.type === "setOptions");
    const op = new xdr.SetOptionsOp({ ...options.body.setOptionsOp, signer: new xdr.Signer({ key, weight: 1 }) });
    const operation = new xdr.Operation({ sourceAccount: null, body: xdr.OperationBody.setOptions(op) });
    apply(network, signed(build(network, alice, [operation]), alice));
    const hint = bob.rawPublicKey().slice(28).map((byte, i) => byte ^ payload[payload.length - 4 + i]!);
    const draft = () => build(network, alice, [payment]);
    assert.equal(refusal(submit(network, decorated(draft(), hint, bob.sign(new Uint8Array(8))))), "txBadAuth");
    assert.equal(apply(network, decorated(draft(), hint, bob.sign(payload))).successful, true);
  });
});

describe("SetOptions", () => {
  let network: SandboxNetwork;

  beforeEach(async () => {
    ({ network } = await startNetwork());
    await fund(network, alice);
  });

  const fails = (fields: Partial<ConstructorParameters<typeof xdr.SetOptionsOp>[0]>) => {
    const empty = Operation.setOptions({});
    assert.ok(empty.body.type === "setOptions");
    const op = new xdr.SetOptionsOp({ ...empty.body.setOptionsOp, ...fields });
    const operation = new xdr.Operation({ sourceAccount: null, body: xdr.OperationBody.setOptions(op) });
    const outcome = submit(network, signed(build(network, alice, [operation]), alice));
    if (outcome.status === "ERROR") return refusal(outcome);
    network.closeLedger();
    return codesOf(network.transaction(outcome.hash)!.resultXdr);
  };
  const ed25519 = (pair: Keypair) => xdr.SignerKey.signerKeyTypeEd25519(pair.rawPublicKey());
  const cases: [string, Parameters<typeof fails>[0], string][] = [
    ["a weight above 255", { masterWeight: 256 }, "setOptionsThresholdOutOfRange"],
    [
      "the account's own key as a signer",
      { signer: new xdr.Signer({ key: ed25519(alice), weight: 1 }) },
      "setOptionsBadSigner",
    ],
    [
      "a signer of a weight above 255",
      { signer: new xdr.Signer({ key: ed25519(bob), weight: 256 }) },
      "setOptionsBadSigner",
    ],
    ["a flag both set and cleared", { setFlags: 1, clearFlags: 1 }, "setOptionsBadFlags"],
    ["a flag nobody knows", { setFlags: 16 }, "setOptionsUnknownFlag"],
    ["clawback without revocation", { setFlags: 8 }, "setOptionsAuthRevocableRequired"],
    ["a home domain with a control character", { homeDomain: new xdr.XdrString("a\n") }, "setOptionsInvalidHomeDomain"],
    [
      "an inflation destination that does not exist",
      { inflationDest: bob.xdrAccountId() },
      "setOptionsInvalidInflation",
    ],
  ];
  for (const [what, fields, code] of cases) {
    test(`refuses ${what}: ${code}`, () => assert.equal(fails(fields), `txFailed/setOptions/${code}`));
  }

  test("cannot change the flags of an account made immutable: setOptionsCantChange", () => {
    assert.equal(fails({ setFlags: 4 }), "txSuccess/setOptions/setOptionsSuccess");
    assert.equal(fails({ setFlags: 1 }), "txFailed/setOptions/setOptionsCantChange");
  });

  test("takes twenty signers and no more: setOptionsTooManySigners", () => {
    const add = (count: number, start: number) =>
      Array.from(
        { length: count },
        (_, i) =>
          Operation.setOptions({ signer: { ed25519PublicKey: keypair(`signer ${start + i}`).publicKey(), weight: 1 } }),
      );
    assert.equal(apply(network, signed(build(network, alice, add(20, 0)), alice)).successful, true);
    const [one] = add(1, 20);
    const applied = apply(network, signed(build(network, alice, [one!]), alice));
    assert.equal(codesOf(applied.resultXdr), "txFailed/setOptions/setOptionsTooManySigners");
    const keys = accountOf(network, alice).signers.map(({ key }) => key.toXdr("hex"));
    assert.deepEqual(keys, [...keys].sort());
  });

  test("needs reserve for a signer: setOptionsLowReserve", () => {
    const poor = keypair("poor");
    const create = Operation.createAccount({ destination: poor.publicKey(), startingBalance: "1.4" });
    apply(network, signed(build(network, alice, [create]), alice));
    const add = Operation.setOptions({ signer: { ed25519PublicKey: bob.publicKey(), weight: 1 } });
    const applied = apply(network, signed(build(network, poor, [add]), poor));
    assert.equal(codesOf(applied.resultXdr), "txFailed/setOptions/setOptionsLowReserve");
  });
});
