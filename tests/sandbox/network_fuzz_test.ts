// needs: neutral
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import fc from "fast-check";
import { Asset, Keypair, Operation, xdr } from "@stellar/stellar-sdk";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { startReadyNetwork } from "./ready_network.ts";
import {
  address,
  balanceOf,
  build,
  call,
  fund,
  keypair,
  prepare,
  signed,
  startNetwork,
  submit,
} from "./sandbox_network.ts";
import { forTier } from "../tier.ts";

const people = ["alice", "bob", "carol"].map(keypair);

/** Lumens of these accounts and the fee pool. */
function lumens(network: SandboxNetwork, accounts: Keypair[]): bigint {
  const { header } = xdr.LedgerHeaderHistoryEntry.fromXdr(network.latestLedger().headerXdr);
  return accounts.reduce((sum, pair) => sum + balanceOf(network, pair), header.feePool);
}

describe("whatever is sent to the network", () => {
  let network: SandboxNetwork;
  let samples: Uint8Array[];

  before(async () => {
    ({ network } = await startReadyNetwork());
    await fund(network, ...people);
    const [alice, bob] = people as [Keypair, Keypair];
    const native = Asset.native().contractId(network.passphrase);
    const payment = Operation.payment({ destination: bob.publicKey(), asset: Asset.native(), amount: "1" });
    samples = [
      signed(build(network, alice, [payment]), alice),
      signed(prepare(network, alice, call(native, "balance", address(alice.publicKey()))), alice),
    ].map((transaction) => transaction.toEnvelope().toXdr());
  });

  /** Refused as not XDR by a plain Error, or answered. */
  function survives(envelopeXdr: Uint8Array): void {
    for (const attempt of [() => network.submit(envelopeXdr), () => network.simulate(envelopeXdr, {})]) {
      try {
        assert.ok(attempt());
      } catch (error) {
        assert.ok(error instanceof Error && !(error instanceof assert.AssertionError), String(error));
      }
    }
    const { sequence } = network.latestLedger();
    assert.equal(network.closeLedger().sequence, sequence + 1);
  }

  test("bytes of any kind are answered, and ledgers go on closing", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), survives), { numRuns: forTier({ test: 30, all: 100 }) });
  });

  test("envelopes with bytes flipped are answered, and ledgers go on closing", () => {
    const flips = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.nat({ max: samples.length - 1 }), flips, (which, changes) => {
        const mutated = samples[which]!.slice();
        for (const [at, mask] of changes) mutated[at % mutated.length]! ^= mask;
        survives(mutated);
      }),
      { numRuns: forTier({ test: 60, all: 200 }) },
    );
  });
});

describe("whatever accounts do with their lumens", () => {
  test("none is made and none is lost", async () => {
    const { network } = await startNetwork();
    await fund(network, ...people);
    const accounts = [Keypair.master(network.passphrase), ...people];
    const total = 1_000_000_000_000_000_000n;
    assert.equal(lumens(network, accounts), total);

    const amount = fc.bigInt({ min: 1n, max: 120_000_000_000n });
    const person = fc.nat({ max: people.length - 1 });
    const step = fc.record({
      from: person,
      to: person,
      amount,
      fee: fc.integer({ min: 100, max: 5_000 }),
      extra: person,
    });
    const text = (stroops: bigint) => `${stroops / 10_000_000n}.${(stroops % 10_000_000n).toString().padStart(7, "0")}`;
    let applied = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 5 }), (steps) => {
        for (const { from, to, amount: stroops, fee, extra } of steps) {
          const [source, other, third] = [people[from]!, people[to]!, people[extra]!];
          const operations = [
            Operation.payment({ destination: other.publicKey(), asset: Asset.native(), amount: text(stroops) }),
            Operation.payment({
              destination: third.publicKey(),
              asset: Asset.native(),
              amount: text(stroops / 7n + 1n),
            }),
          ];
          submit(network, signed(build(network, source, operations, { fee: String(fee) }), source));
        }
        network.closeLedger();
        applied += network.transactionsAfter(network.latestLedger().sequence, 0, 10).length;
        assert.equal(lumens(network, accounts), total);
        for (const pair of people) assert.ok(balanceOf(network, pair) >= 0n);
      }),
      { numRuns: 60 },
    );
    assert.ok(applied > 60, "hardly a transaction was applied");
  });
});
