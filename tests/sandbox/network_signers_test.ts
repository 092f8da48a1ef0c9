// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { type Keypair, Operation, type Transaction, xdr } from "@stellar/stellar-sdk";
import { create, pay, setOptions } from "./envelope_parts.ts";
import { alice, bob, carol, hashOf, keypair } from "./people.ts";
import { codesOf, refusal, signed, startNetwork, type TestNetwork } from "./sandbox_network.ts";

type SetOptions = Parameters<typeof Operation.setOptions>[0];

const signer = (pair: Keypair, weight: number): SetOptions => ({
  signer: { ed25519PublicKey: pair.publicKey(), weight },
});

describe("with weights and thresholds,", () => {
  let n: TestNetwork;

  beforeEach(async () => {
    n = await startNetwork();
    await n.fund(alice, bob);
  });

  const setUp = (...changes: SetOptions[]) => {
    assert.equal(n.run(alice, ...changes.map((change) => Operation.setOptions(change))).successful, true);
  };
  const thresholds = (lowThreshold: number, medThreshold: number, highThreshold: number): SetOptions => ({
    lowThreshold,
    medThreshold,
    highThreshold,
  });
  const payment = pay(bob, 10_000_000n);
  const bump = Operation.bumpSequence({ bumpTo: "0" });
  const setDomain = Operation.setOptions({ homeDomain: "example.org" });
  const removeCarol = Operation.setOptions(signer(carol, 0));

  type Attempt = [operation: xdr.Operation, signers: Keypair[], outcome: string];
  const cases: [what: string, setup: SetOptions[], attempts: Attempt[]][] = [
    [
      "a sequence bump needs the low threshold, a payment the medium one, and a change of signers the high one",
      [signer(bob, 1), signer(carol, 1), thresholds(1, 2, 3)],
      [
        [bump, [alice], "PENDING"],
        [payment, [alice], "txFailed/opBadAuth"],
        [payment, [alice, bob], "PENDING"],
        [setDomain, [alice, bob], "PENDING"],
        [removeCarol, [alice, bob], "txFailed/opBadAuth"],
        [removeCarol, [alice, bob, carol], "PENDING"],
        [payment, [alice, bob, carol], "txBadAuthExtra"],
      ],
    ],
    ["the network refuses a transaction below the low threshold: txBadAuth", [signer(bob, 1), thresholds(2, 2, 2)], [
      [bump, [alice], "txBadAuth"],
      [bump, [bob], "txBadAuth"],
      [bump, [alice, bob], "PENDING"],
    ]],
    ["another signer with enough weight signs alone: a second signature is txBadAuthExtra", [
      signer(bob, 5),
      thresholds(1, 5, 5),
    ], [[payment, [bob], "PENDING"], [payment, [bob, carol], "txBadAuthExtra"]]],
    ["an account's own key without weight cannot sign", [signer(bob, 1), { masterWeight: 0 }], [
      [payment, [alice], "txBadAuth"],
      [payment, [bob], "PENDING"],
    ]],
  ];
  for (const [what, setup, attempts] of cases) {
    test(what, () => {
      setUp(...setup);
      for (const [operation, signers, expected] of attempts) {
        const outcome = n.submit(signed(n.build(alice, [operation]), ...signers));
        n.close();
        assert.equal(outcome.status === "ERROR" ? refusal(outcome) : outcome.status, expected);
      }
    });
  }

  const preAuthorized: [what: string, operation: xdr.Operation, code: string][] = [
    ["that succeeds", payment, "txSuccess/payment/paymentSuccess"],
    ["that fails", pay(bob, 200_000_000_000n), "txFailed/payment/paymentUnderfunded"],
  ];
  for (const [what, operation, code] of preAuthorized) {
    test(`a pre-authorised transaction ${what} needs no signature and removes its signer`, () => {
      const sequence = n.account(alice).seqNum + 1n;
      const prepared = n.build(alice, [operation], { sequence });
      setUp({ signer: { preAuthTx: prepared.hash(), weight: 1 } });
      assert.equal(n.account(alice).numSubEntries, 1);
      assert.equal(codesOf(n.apply(prepared).resultXdr), code);
      assert.equal(n.account(alice).signers.length, 0);
      assert.equal(n.account(alice).numSubEntries, 0);
    });
  }

  const decorated = (hint: Uint8Array, signature: Uint8Array): Transaction => {
    const transaction = n.build(alice, [payment]);
    transaction.addDecoratedSignature(new xdr.DecoratedSignature({ hint, signature }));
    return transaction;
  };

  test("the preimage of a hash signs; another preimage is txBadAuth", () => {
    const [right, wrong] = ["open sesame", "open barley"].map((text) => new TextEncoder().encode(text));
    const hash = hashOf("open sesame");
    setUp({ signer: { sha256Hash: hash, weight: 1 } });
    assert.equal(refusal(n.submit(decorated(hash.subarray(28), wrong!))), "txBadAuth");
    assert.equal(n.apply(decorated(hash.subarray(28), right!)).successful, true);
  });

  test("a signed payload signs any transaction (CAP-40); a signature of another payload is txBadAuth", () => {
    const payload = new TextEncoder().encode("a revealed secret");
    const key = xdr.SignerKey.signerKeyTypeEd25519SignedPayload(
      new xdr.SignerKeyEd25519SignedPayload({ ed25519: bob.rawPublicKey(), payload }),
    );
    n.run(alice, setOptions({ signer: new xdr.Signer({ key, weight: 1 }) }));
    const hint = bob.rawPublicKey().slice(28).map((byte, i) => byte ^ payload[payload.length - 4 + i]!);
    assert.equal(refusal(n.submit(decorated(hint, bob.sign(new Uint8Array(8))))), "txBadAuth");
    assert.equal(n.apply(decorated(hint, bob.sign(payload))).successful, true);
  });
});

describe("SetOptions", () => {
  let n: TestNetwork;

  beforeEach(async () => {
    n = await startNetwork();
    await n.fund(alice);
  });

  const signerOf = (pair: Keypair, weight: number) =>
    new xdr.Signer({ key: xdr.SignerKey.signerKeyTypeEd25519(pair.rawPublicKey()), weight });
  type Fields = Parameters<typeof setOptions>[0];
  const malformed: [what: string, fields: Fields, code: string][] = [
    ["a weight above 255", { masterWeight: 256 }, "ThresholdOutOfRange"],
    ["the account's own key as a signer", { signer: signerOf(alice, 1) }, "BadSigner"],
    ["a signer's weight above 255", { signer: signerOf(bob, 256) }, "BadSigner"],
    ["a flag both set and cleared", { setFlags: 1, clearFlags: 1 }, "BadFlags"],
    ["an unknown flag", { setFlags: 16 }, "UnknownFlag"],
    ["a home domain with a control character", { homeDomain: new xdr.XdrString("a\n") }, "InvalidHomeDomain"],
  ];
  for (const [what, fields, code] of malformed) {
    test(`refuses ${what}: setOptions${code}`, () => {
      assert.equal(n.refused(alice, setOptions(fields)), `txFailed/setOptions/setOptions${code}`);
    });
  }

  const failing: typeof malformed = [
    ["clawback without revocation", { setFlags: 8 }, "AuthRevocableRequired"],
    ["an inflation destination without an account", { inflationDest: bob.xdrAccountId() }, "InvalidInflation"],
  ];
  for (const [what, fields, code] of failing) {
    test(`fails for ${what}: setOptions${code}`, () => {
      assert.equal(n.result(alice, setOptions(fields)), `txFailed/setOptions/setOptions${code}`);
    });
  }

  test("cannot change the flags of an immutable account: setOptionsCantChange", () => {
    assert.equal(n.result(alice, setOptions({ setFlags: 4 })), "txSuccess/setOptions/setOptionsSuccess");
    assert.equal(n.result(alice, setOptions({ setFlags: 1 })), "txFailed/setOptions/setOptionsCantChange");
  });

  test("adds at most twenty signers, which it keeps sorted: setOptionsTooManySigners", () => {
    const add = (at: number) => Operation.setOptions(signer(keypair(`signer ${at}`), 1));
    assert.equal(n.run(alice, ...Array.from({ length: 20 }, (_, at) => add(at))).successful, true);
    assert.equal(n.result(alice, add(20)), "txFailed/setOptions/setOptionsTooManySigners");
    const keys = n.account(alice).signers.map(({ key }) => key.toXdr("hex"));
    assert.deepEqual(keys, [...keys].sort());
  });

  test("needs a reserve for a signer: setOptionsLowReserve", () => {
    const poor = keypair("poor");
    n.run(alice, create(poor, "1.4"));
    const add = Operation.setOptions(signer(bob, 1));
    assert.equal(n.result(poor, add), "txFailed/setOptions/setOptionsLowReserve");
  });
});
