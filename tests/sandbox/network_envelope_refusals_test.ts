// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { Keypair, Operation, SorobanDataBuilder, type Transaction, xdr } from "@stellar/stellar-sdk";
import { altered, feeBump, nobody, pay, poor, startFundedNetwork } from "./envelope_parts.ts";
import { alice, bob, build, codesOf, refusal, signed, type TestNetwork } from "./sandbox_network.ts";

describe("the network refuses an envelope", () => {
  let n: TestNetwork;
  let sequence: bigint;
  let nextLedger: number;

  beforeEach(async () => {
    n = await startFundedNetwork();
    sequence = n.account(alice).seqNum;
    nextLedger = n.network.latestLedger().sequence + 1;
  });

  const BOB = bob.publicKey();
  type Options = Parameters<typeof build>[3];
  const payment = (options?: Options, ...signers: Keypair[]) => signed(n.build(alice, [pay(bob)], options), ...signers);
  const byAlice = (options?: Options) => payment(options, alice);
  const byPoor = (fee: string) => signed(n.build(poor, [pay(bob)], { fee }), poor);
  const paymentOf = (source: Keypair, ...signers: Keypair[]) =>
    signed(n.build(alice, [pay(alice, 5n, source)]), ...signers);
  const closeAfter = (seconds: number) => {
    n.clock.seconds += seconds;
    n.close();
  };
  const withEmptyPayload = () => {
    const payload = new xdr.SignerKeyEd25519SignedPayload({ ed25519: bob.rawPublicKey(), payload: new Uint8Array() });
    const cond = xdr.Preconditions.precondV2(
      new xdr.PreconditionsV2({
        timeBounds: null,
        ledgerBounds: null,
        minSeqNum: null,
        minSeqAge: 0n,
        minSeqLedgerGap: 0,
        extraSigners: [xdr.SignerKey.signerKeyTypeEd25519SignedPayload(payload)],
      }),
    );
    return altered(n.network, payment(), { cond });
  };
  const withResources = () => {
    const ext = xdr.TransactionExt.sorobanData(new SorobanDataBuilder().build());
    return signed(altered(n.network, payment(), { ext }), alice);
  };

  type Case = [
    what: string,
    code: string,
    refused: () => Transaction,
    applied?: [when: string, transaction: () => Transaction],
  ];
  const cases: Case[] = [
    ["without an operation", "txMissingOperation", () => signed(n.build(alice, []), alice)],
    ["of no account", "txNoAccount", () => signed(n.build(nobody, [pay(bob)], { sequence: 1n }), nobody)],
    ["whose fee needs the reserve", "txInsufficientBalance", () => byPoor("151"), [
      "with a fee that leaves it",
      () => byPoor("150"),
    ]],

    ["without a signature", "txBadAuth", () => payment()],
    ["that only another account has signed", "txBadAuth", () => payment({}, bob)],
    ["signed for another network", "txBadAuth", () => byAlice({ networkPassphrase: "another network" })],
    ["without its extra signer's signature", "txBadAuth", () => byAlice({ extraSigners: [BOB] }), [
      "with that signature",
      () => payment({ extraSigners: [BOB] }, alice, bob),
    ]],
    ["with an unnecessary signature", "txBadAuthExtra", () => payment({}, alice, bob)],
    ["with the same signature twice", "txBadAuthExtra", () => payment({}, alice, alice)],
    ["with the same extra signer twice", "txMalformed", () => payment({ extraSigners: [BOB, BOB] }, alice, bob)],
    ["with an extra signer of an empty payload", "txMalformed", withEmptyPayload],
    ["of a classic operation with Soroban resources", "txMalformed", withResources],
    ["without the signature of an operation's source", "txFailed/opBadAuth", () => paymentOf(bob, alice), [
      "with that signature",
      () => paymentOf(bob, alice, bob),
    ]],

    ["before its minTime", "txTooEarly", () => byAlice({ timebounds: { minTime: n.clock.seconds + 1, maxTime: 0 } }), [
      "at that second",
      () => {
        closeAfter(1);
        return byAlice({ timebounds: { minTime: n.clock.seconds, maxTime: 0 } });
      },
    ]],
    ["after its maxTime", "txTooLate", () => byAlice({ timebounds: { minTime: 0, maxTime: n.clock.seconds - 1 } })],
    ["after its maxTime by the clock, though the latest ledger closed before it", "txTooLate", () => {
      const timebounds = { minTime: 0, maxTime: n.clock.seconds + 3 };
      n.clock.seconds += 4;
      return byAlice({ timebounds });
    }],
    [
      "before its minLedger",
      "txTooEarly",
      () => byAlice({ ledgerbounds: { minLedger: nextLedger + 1, maxLedger: 0 } }),
      ["in that ledger", () => byAlice({ ledgerbounds: { minLedger: nextLedger, maxLedger: 0 } })],
    ],
    ["from its maxLedger on", "txTooLate", () => byAlice({ ledgerbounds: { minLedger: 0, maxLedger: nextLedger } }), [
      "in the ledger before",
      () => byAlice({ ledgerbounds: { minLedger: 0, maxLedger: nextLedger + 1 } }),
    ]],

    ["with a used sequence number", "txBadSeq", () => byAlice({ sequence: sequence - 1n })],
    ["whose sequence number skips one", "txBadSeq", () => byAlice({ sequence: sequence + 1n })],
    ["with the first sequence number of accounts of the next ledger", "txBadSeq", () => {
      const bumpTo = ((BigInt(nextLedger + 1) << 32n) - 1n).toString();
      n.apply(signed(n.build(alice, [Operation.bumpSequence({ bumpTo })]), alice));
      return byAlice();
    }, ["in a later ledger", () => {
      n.close();
      return byAlice();
    }]],
    ["that a ledger has applied", "txBadSeq", () => {
      const transaction = byAlice();
      n.apply(transaction);
      return transaction;
    }],
    [
      "below its minAccountSequence",
      "txBadSeq",
      () => byAlice({ sequence: sequence + 5n, minAccountSequence: `${sequence + 1n}` }),
      ["at that minAccountSequence", () => byAlice({ sequence: sequence + 5n, minAccountSequence: `${sequence}` })],
    ],
    ["too soon after the account's last transaction", "txBadMinSeqAgeOrGap", () => {
      n.apply(byAlice());
      return byAlice({ minAccountSequenceAge: 60n });
    }, ["after its minAccountSequenceAge", () => {
      closeAfter(60);
      return byAlice({ minAccountSequenceAge: 60n });
    }]],
    ["too few ledgers after the account's last transaction", "txBadMinSeqAgeOrGap", () => {
      n.apply(byAlice());
      return byAlice({ minAccountSequenceLedgerGap: 2 });
    }, ["after its minAccountSequenceLedgerGap", () => {
      n.close();
      return byAlice({ minAccountSequenceLedgerGap: 2 });
    }]],
  ];
  for (const [what, code, refused, applied] of cases) {
    test(`${what}: ${code}${applied ? `, and applies one ${applied[0]}` : ""}`, () => {
      assert.equal(refusal(n.submit(refused())), code);
      if (!applied) return;
      const transaction = applied[1]();
      assert.equal(n.apply(transaction).successful, true);
      const source = Keypair.fromPublicKey(transaction.source);
      assert.equal(n.account(source).seqNum, BigInt(transaction.sequence));
    });
  }

  test("that is not XDR, with a plain Error", () => {
    assert.throws(() => n.network.submit(new Uint8Array([1, 2, 3])), Error);
  });

  test("with a fee below 100 stroops per operation: txInsufficientFee, and returns the minimum fee", () => {
    const draft = n.build(alice, [pay(bob), pay(bob)]);
    const outcome = n.submit(signed(altered(n.network, draft, { fee: 199 }), alice));
    assert.equal(refusal(outcome), "txInsufficientFee");
    assert.ok(outcome.status === "ERROR");
    assert.equal(xdr.TransactionResult.fromXdr(outcome.resultXdr).feeCharged, 200n);
  });

  test("without the signature of an operation source without an account, and fails a signed one with opNoAccount", () => {
    assert.equal(refusal(n.submit(paymentOf(nobody, alice))), "txFailed/opBadAuth");
    assert.equal(codesOf(n.apply(paymentOf(nobody, alice, nobody)).resultXdr), "txFailed/opNoAccount");
  });

  test("when the fee source cannot pay for it and for its waiting transactions: txInsufficientBalance", () => {
    n.apply(signed(n.build(alice, [pay(poor, 200n)]), alice));
    // 350 stroops above the reserve: enough for one fee bump of 200.
    const bumpOf = (pair: Keypair) => feeBump(n.network, poor, "100", signed(n.build(pair, [pay(bob)]), pair));
    assert.equal(n.submit(bumpOf(alice)).status, "PENDING");
    assert.equal(refusal(n.submit(bumpOf(bob))), "txInsufficientBalance");
  });
});
