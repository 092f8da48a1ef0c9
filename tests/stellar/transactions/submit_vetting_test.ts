// needs: neutral
import {
  Account,
  Keypair,
  Memo,
  MuxedAccount,
  Operation,
  SorobanDataBuilder,
  TransactionBuilder,
  xdr,
} from "@stellar/stellar-sdk";
import fc from "fast-check";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  CONTRACT,
  fault,
  hex,
  inLedger,
  PASSPHRASE,
  source,
  START_SECONDS,
  submitStage,
  transaction,
} from "./submit_stage.ts";

const sponsor = Keypair.fromRawEd25519Seed(new Uint8Array(32).fill(8));

describe("the eligibility check of envelopes", () => {
  const { transactions } = submitStage({ find: inLedger(100) });
  const built = transaction();
  const bump = (inner: ReturnType<typeof transaction>) =>
    TransactionBuilder.buildFeeBumpTransaction(sponsor, "200", inner, PASSPHRASE);
  const operation = Operation.bumpSequence({ bumpTo: "1" });
  const claim = Operation.invokeContractFunction({ contract: CONTRACT, function: "claim", args: [] });
  const account = () => new Account(source.publicKey(), "41");
  const signed = (of: TransactionBuilder) => {
    const made = of.build();
    made.sign(source);
    return made;
  };
  const from = (account: Account | MuxedAccount) =>
    new TransactionBuilder(account, {
      fee: "100",
      networkPassphrase: PASSPHRASE,
      timebounds: { minTime: 0, maxTime: START_SECONDS + 300 },
    });
  const classic = signed(from(account()).addOperation(operation));
  const twice = signed(TransactionBuilder.cloneFrom(built).addOperation(operation));
  const noted = signed(TransactionBuilder.cloneFrom(built, { memo: Memo.text("order 7") }));
  const muxed = signed(from(new MuxedAccount(account(), "7")).addOperation(claim));
  const bare = signed(from(account()).addOperation(claim));
  /** Its resources cost 5 000 stroops. */
  const resources = new SorobanDataBuilder().setResourceFee(5_000n).build();
  const cheap = signed(TransactionBuilder.cloneFrom(built, { fee: "99", sorobanData: resources }));
  const signedBump = TransactionBuilder.buildFeeBumpTransaction(sponsor, "9000", cheap, PASSPHRASE);
  signedBump.sign(sponsor);
  const bumpEnvelope = signedBump.toEnvelope() as xdr.TransactionEnvelopeTxFeeBump;
  const { tx, signatures } = bumpEnvelope.feeBump;
  const cheapBump = xdr.TransactionEnvelope.envelopeTypeTxFeeBump(
    new xdr.FeeBumpTransactionEnvelope({ tx: new xdr.FeeBumpTransaction({ ...tx, fee: 5_199n }), signatures }),
  );

  const cases: [string, string, RegExp][] = [
    ["text that is not XDR", "not xdr", /is not a base64 transaction envelope/],
    ["an envelope cut short", built.toXdr().slice(0, -8), /is not a base64 transaction envelope/],
    ["an unsigned envelope", transaction({ signers: [] }).toXdr(), /is not signed/],
    ["an unsigned fee bump", bump(built).toXdr(), /the fee bump carries no signature/],
    ["another operation than an invocation", classic.toXdr(), /must invoke a contract, got the operation bumpSequence/],
    ["two operations", twice.toXdr(), /exactly one operation, got 2/],
    ["a call that is not allowed", transaction({ function: "drain" }).toXdr(), /must not call drain/],
    ["an invocation with a memo", noted.toXdr(), /must have no memo/],
    ["an invocation without its resources", bare.toXdr(), /must carry Soroban data, .*Prepare again/],
    ["a fee below that of its resources", cheap.toXdr(), /bids a fee of 5099 stroops, while its resources cost 5000/],
    ["a fee bump below that of its resources", cheapBump.toXdr("base64"), /a fee of 5199 stroops, .* at least 200/],
    ["a muxed source", muxed.toXdr(), /must have a G… source/],
    ["no upper time bound", transaction({ validForSeconds: -START_SECONDS }).toXdr(), /must have an upper time bound/],
    [
      "an upper time bound more than an hour away",
      transaction({ validForSeconds: 3_601 }).toXdr(),
      /at most an hour from now/,
    ],
  ];
  for (const [name, envelope, words] of cases) {
    test(`rejects ${name}`, async () => {
      const error = await fault(transactions.submit(envelope));
      assert.equal(error.code, "invalid_request");
      assert.match(error.message, words);
    });
  }

  test("uses the network's time, which neither one wrong answer nor the gateway's clock moves (T4)", async () => {
    for (const days of [-40, 40]) {
      const { transactions, head, clock } = submitStage({ find: inLedger(100) });
      const sequence = 100;
      for (const seconds of [0, 5, 10]) {
        clock.pass(seconds === 0 ? 0 : 5_000);
        head.observe({ node: 0, sequence: sequence + seconds / 5, closeTime: START_SECONDS + seconds });
      }
      clock.step(days * 86_400_000);
      head.observe({ node: 0, sequence: sequence + 3, closeTime: START_SECONDS + 315_360_000 });
      const far = await fault(transactions.submit(transaction({ validForSeconds: 3_700 }).toXdr()));
      assert.match(far.message, /at most an hour from now/);
      assert.deepEqual(await transactions.submit(transaction().toXdr()), {
        hash: hex(transaction().hash()),
        ledger: 100,
      });
    }
  });

  test("accepts a good envelope before any node has answered, also with a wrong gateway clock", async () => {
    const { transactions, clock } = submitStage({ find: inLedger(102), storedSecondsAgo: 90_000 });
    clock.step(-86_400_000);
    assert.equal((await transactions.submit(transaction().toXdr())).ledger, 102);
    const far = await fault(transactions.submit(transaction({ validForSeconds: 3_700 }).toXdr()));
    assert.match(far.message, /at most an hour from now/);
  });

  test("rejects every random change of an envelope with invalid_request, or accepts it", async () => {
    const bytes = xdr.decodeBytes(built.toXdr(), "base64");
    const mutated = fc.tuple(fc.nat({ max: bytes.length - 1 }), fc.integer({ min: 1, max: 255 })).map(([at, by]) => {
      const copy = bytes.slice();
      copy[at] = copy[at]! ^ by;
      return xdr.encodeBytes(copy, "base64");
    });
    const random = fc.uint8Array({ maxLength: 200 }).map((some) => xdr.encodeBytes(some, "base64"));
    await fc.assert(
      fc.asyncProperty(fc.oneof(mutated, random, fc.string()), async (envelope) => {
        const error = await submitStage({ find: inLedger(100) }).transactions.submit(envelope).catch((error) => error);
        assert.ok(error.ledger === 100 || error.code === "invalid_request", String(error.stack ?? error));
      }),
      { numRuns: 500 },
    );
  });

  test("checks the inner transaction of a fee bump, and returns the outer hash", async () => {
    const signed = (inner: ReturnType<typeof transaction>) => {
      const outer = bump(inner);
      outer.sign(sponsor);
      return outer;
    };
    const refused = signed(transaction({ function: "drain" }));
    assert.match((await fault(transactions.submit(refused.toXdr()))).message, /must not call drain/);
    const outer = signed(built);
    const own = submitStage({ find: inLedger(100) });
    assert.deepEqual(await own.transactions.submit(outer.toXdr()), { hash: hex(outer.hash()), ledger: 100 });
    assert.deepEqual(own.envelopes, [outer.toXdr()]);
  });
});
