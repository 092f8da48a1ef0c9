// needs: neutral
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { type Keypair, Operation, scValToNative, xdr } from "@stellar/stellar-sdk";
import {
  AUTHORIZED,
  clawback,
  CLAWBACK_ENABLED,
  flags,
  lineFlags,
  payUsd,
  REVOCABLE,
  startAssetNetwork,
  trust,
  trustlineOf,
  USD,
  usd,
} from "./asset_network.ts";
import { alice, bob, carol, issuer } from "./people.ts";
import { address, call, eventsOf, i128, signed, type TestNetwork } from "./sandbox_network.ts";

// CAP-46-06. The tests follow one another on one network.
describe("the contract of an issued asset", () => {
  let n: TestNetwork;
  let contract: string;
  const held = (holder: Keypair) => trustlineOf(n.network, holder)?.balance;
  const of = (pair: Keypair) => address(pair.publicKey());
  /** The result of a simulated call, or the first line of its error. */
  const simulate = (name: string, ...args: xdr.ScVal[]) => {
    const draft = n.build(alice, [call(contract, name, ...args)]);
    const simulated = n.network.simulate(draft.toEnvelope().toXdr(), {});
    if (!simulated.ok) return simulated.error.split("\n")[0];
    return scValToNative(xdr.ScVal.fromXdr(simulated.result!.valueXdr));
  };
  const invoked = (source: Keypair, name: string, ...args: xdr.ScVal[]) => {
    const applied = n.invoke(source, call(contract, name, ...args));
    assert.equal(applied.successful, true);
    return applied;
  };

  before(async () => {
    n = await startAssetNetwork();
    contract = usd.contractId(n.network.passphrase);
    n.run(issuer, flags(REVOCABLE | CLAWBACK_ENABLED));
    n.run(alice, trust());
    n.run(issuer, payUsd(alice, "100"));
    const deployed = n.invoke(bob, Operation.createStellarAssetContract({ asset: usd }));
    assert.equal(deployed.successful, true);
  });

  test("returns the asset's name, symbol, decimals and issuer, and the balances of trustlines", () => {
    assert.equal(simulate("name"), USD);
    assert.equal(simulate("symbol"), "USD");
    assert.equal(simulate("decimals"), 7);
    assert.equal(simulate("admin"), issuer.publicKey());
    assert.equal(simulate("balance", of(alice)), 1_000_000_000n);
    assert.match(String(simulate("balance", of(bob))), /Error\(Contract, #13\)/, "no trustline");
  });

  test("transfers between trustlines with one event", () => {
    n.run(bob, trust());
    const events = eventsOf(invoked(alice, "transfer", of(alice), of(bob), i128(30n)));
    assert.deepEqual([held(alice), held(bob)], [999_999_970n, 30n]);
    assert.deepEqual(events.map(({ topics }) => topics), [["transfer", alice.publicKey(), bob.publicKey(), USD]]);
    n.run(bob, payUsd(issuer, "0.000001"));
    assert.equal(simulate("balance", of(bob)), 20n);
  });

  test("mints for its issuer, burns, and holds balances of contracts", () => {
    invoked(issuer, "mint", of(bob), i128(5n));
    assert.equal(held(bob), 25n);
    invoked(bob, "burn", of(bob), i128(5n));
    assert.equal(held(bob), 20n);
    invoked(alice, "transfer", of(alice), address(contract), i128(7n));
    assert.equal(simulate("balance", address(contract)), 7n);
  });

  test("refuses a transfer to a full or unauthorized trustline, as payments do", () => {
    n.run(bob, trust("0.0000030"));
    assert.match(String(simulate("transfer", of(alice), of(bob), i128(11n))), /Error\(Contract, #10\)/);
    n.run(issuer, lineFlags(bob, 0, AUTHORIZED));
    assert.equal(simulate("authorized", of(bob)), false);
    assert.match(String(simulate("transfer", of(alice), of(bob), i128(1n))), /Error\(Contract, #11\)/);
    invoked(issuer, "set_authorized", of(bob), xdr.ScVal.scvBool(true));
    assert.equal(trustlineOf(n.network, bob)!.flags & AUTHORIZED, AUTHORIZED);
    invoked(issuer, "clawback", of(alice), i128(1n));
    assert.equal(held(alice), 999_999_962n);
  });

  test("opens the caller's trustline, which counts as a subentry (CAP-73)", async () => {
    await n.fund(carol);
    invoked(carol, "trust", of(carol));
    assert.equal(held(carol), 0n);
    assert.equal(n.account(carol).numSubEntries, 1);
    n.run(issuer, payUsd(carol, "1"));
    assert.equal(simulate("balance", of(carol)), 10_000_000n);
  });

  test("fails a transfer without any change if the balance is spent after its simulation", () => {
    const all = simulate("balance", of(carol)) as bigint;
    const late = n.prepare(carol, call(contract, "transfer", of(carol), of(alice), i128(all)));
    n.run(issuer, clawback(carol, "0.5"));
    const { hash } = n.submit(signed(late, carol));
    n.close();
    assert.equal(n.network.transaction(hash)?.successful, false);
    assert.equal(held(carol), 5_000_000n);
  });
});
