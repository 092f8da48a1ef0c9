// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { Asset, Operation, xdr } from "@stellar/stellar-sdk";
import { build, fund, keypair, startNetwork } from "./sandbox_network.ts";

test("a value nested deeper than the host reads is an error of the simulation, not a fault of the node", async () => {
  const { network } = await startNetwork();
  const alice = keypair("alice");
  fund(network, alice);
  const contract = Asset.native().contractId(network.passphrase);
  for (const depth of [60, 100, 150, 300]) {
    let nested = xdr.ScVal.scvVec([]);
    for (let level = 0; level < depth; level++) nested = xdr.ScVal.scvVec([nested]);
    const call = Operation.invokeContractFunction({ contract, function: "balance", args: [nested] });
    const simulated = network.simulate(build(network, alice, [call]).toEnvelope().toXdr(), {});
    assert.equal(simulated.ok, false, `depth ${depth}`);
  }
  await network.stop();
});
