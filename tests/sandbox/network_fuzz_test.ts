// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Keypair, xdr } from "@stellar/stellar-sdk";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { pay } from "./envelope_parts.ts";
import { alice, balanceOf, bob, build, carol, fund, signed, startNetwork, submit } from "./sandbox_network.ts";

const people = [alice, bob, carol];

/** The lumens of these accounts and of the fee pool. */
function lumens(network: SandboxNetwork, accounts: Keypair[]): bigint {
  const { header } = xdr.LedgerHeaderHistoryEntry.fromXdr(network.latestLedger().headerXdr);
  return accounts.reduce((sum, pair) => sum + balanceOf(network, pair), header.feePool);
}

test("random payments neither make nor lose lumens", async () => {
  const { network } = await startNetwork();
  await fund(network, ...people);
  const accounts = [Keypair.master(network.passphrase), ...people];
  const total = 1_000_000_000_000_000_000n;
  assert.equal(lumens(network, accounts), total);

  const person = fc.constantFrom(...people);
  const amount = fc.bigInt({ min: 1n, max: 120_000_000_000n });
  const fee = fc.integer({ min: 100, max: 5_000 });
  const step = fc.record({ from: person, to: person, amount, fee, extra: person });
  let applied = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 5 }), (steps) => {
      for (const { from, to, amount, fee, extra } of steps) {
        const operations = [pay(to, amount), pay(extra, amount / 7n + 1n)];
        submit(network, signed(build(network, from, operations, { fee: String(fee) }), from));
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
