// needs: neutral
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { type Keypair, Operation, scValToNative, xdr } from "@stellar/stellar-sdk";
import {
  alice,
  type AssetNetwork,
  AUTHORIZED,
  bob,
  carol,
  CLAWBACK_ENABLED,
  flags,
  issuer,
  lineFlags,
  pay,
  REVOCABLE,
  startAssetNetwork,
  trust,
  trustlineOf,
  usd,
} from "./asset_network.ts";
import { accountOf, address, build, call, fund, i128, invoke, prepare, signed, submit } from "./sandbox_network.ts";

// The contract of an issued asset (CAP-46-06) and the classic operations see the same trustlines.
describe("the contract of an issued asset", () => {
  let n: AssetNetwork;
  let contract: string;
  const held = (holder: Keypair) => trustlineOf(n.network, holder)?.balance;
  const of = (pair: Keypair) => address(pair.publicKey());
  const ask = (name: string, ...args: xdr.ScVal[]) => {
    const draft = build(n.network, alice, [call(contract, name, ...args)]);
    const simulated = n.network.simulate(draft.toEnvelope().toXdr(), {});
    if (!simulated.ok) return simulated.error.split("\n")[0];
    return scValToNative(xdr.ScVal.fromXdr(simulated.result!.valueXdr));
  };
  const invoked = (source: Keypair, name: string, ...args: xdr.ScVal[]) => {
    const applied = invoke(n.network, source, call(contract, name, ...args));
    assert.equal(applied.successful, true);
    return applied;
  };

  before(async () => {
    n = await startAssetNetwork();
    contract = usd.contractId(n.network.passphrase);
    n.run(issuer, flags(REVOCABLE | CLAWBACK_ENABLED));
    n.run(alice, trust());
    n.run(issuer, pay(alice, "100"));
    const deployed = invoke(n.network, bob, Operation.createStellarAssetContract({ asset: usd }));
    assert.equal(deployed.successful, true);
  });

  test("is at the asset's address, and knows its name, its issuer and its holders", () => {
    assert.equal(ask("name"), `USD:${issuer.publicKey()}`);
    assert.equal(ask("symbol"), "USD");
    assert.equal(ask("decimals"), 7);
    assert.equal(ask("admin"), issuer.publicKey());
    assert.equal(ask("balance", of(alice)), 1_000_000_000n);
    assert.match(String(ask("balance", of(bob))), /Error\(Contract, #13\)/, "no trustline");
  });

  test("moves what trustlines hold, and says so once", () => {
    n.run(bob, trust());
    const { contractEventsXdr } = invoked(alice, "transfer", of(alice), of(bob), i128(30n));
    assert.deepEqual([held(alice), held(bob)], [999_999_970n, 30n]);
    const [event, more] = contractEventsXdr.flat().map((e) =>
      xdr.ContractEvent.fromXdr(e).body.v0.topics.map(scValToNative)
    );
    assert.deepEqual(event, ["transfer", alice.publicKey(), bob.publicKey(), `USD:${issuer.publicKey()}`]);
    assert.equal(more, undefined);
    n.run(bob, pay(issuer, "0.000001"));
    assert.equal(ask("balance", of(bob)), 20n);
  });

  test("mints for its issuer, burns, and holds balances for contracts", () => {
    invoked(issuer, "mint", of(bob), i128(5n));
    assert.equal(held(bob), 25n);
    invoked(bob, "burn", of(bob), i128(5n));
    assert.equal(held(bob), 20n);
    invoked(alice, "transfer", of(alice), address(contract), i128(7n));
    assert.equal(ask("balance", address(contract)), 7n);
  });

  test("refuses a line that is full or not authorized, as payments do", () => {
    n.run(bob, trust("0.0000030"));
    assert.match(String(ask("transfer", of(alice), of(bob), i128(11n))), /Error\(Contract, #10\)/);
    n.run(issuer, lineFlags(bob, 0, AUTHORIZED));
    assert.equal(ask("authorized", of(bob)), false);
    assert.match(String(ask("transfer", of(alice), of(bob), i128(1n))), /Error\(Contract, #11\)/);
    invoked(issuer, "set_authorized", of(bob), xdr.ScVal.scvBool(true));
    assert.equal(trustlineOf(n.network, bob)!.flags & AUTHORIZED, AUTHORIZED);
    invoked(issuer, "clawback", of(alice), i128(1n));
    assert.equal(held(alice), 999_999_962n);
  });

  test("opens a trustline for whoever asks, with the subentry of one (CAP-73)", async () => {
    await fund(n.network, carol);
    invoked(carol, "trust", of(carol));
    assert.equal(held(carol), 0n);
    assert.equal(accountOf(n.network, carol).numSubEntries, 1);
    n.run(issuer, pay(carol, "1"));
    assert.equal(ask("balance", of(carol)), 10_000_000n);
  });

  test("what was simulated and is spent before it is applied fails without a trace", () => {
    const all = ask("balance", of(carol)) as bigint;
    const late = prepare(n.network, carol, call(contract, "transfer", of(carol), of(alice), i128(all)));
    const dana = n.run(alice, trust());
    assert.equal(dana.successful, true);
    n.run(issuer, Operation.clawback({ asset: usd, from: carol.publicKey(), amount: "0.5" }));
    const { hash } = submit(n.network, signed(late, carol));
    n.network.closeLedger();
    assert.equal(n.network.transaction(hash)?.successful, false);
    assert.equal(held(carol), 5_000_000n);
  });
});
