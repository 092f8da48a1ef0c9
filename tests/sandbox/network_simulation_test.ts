// needs: neutral
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { Asset, xdr } from "@stellar/stellar-sdk";
import { startAssetNetwork } from "./asset_network.ts";
import { readyState } from "./ready_network.ts";
import { alice, bob } from "./people.ts";
import { address, bytes, call, i128, signed, START_SECONDS, type TestNetwork, u32, u64 } from "./sandbox_network.ts";
import { rememberedSandbox, type Sandbox } from "../../lib/sandbox/bootstrap.ts";

describe("a simulation", () => {
  let n: TestNetwork;
  let contracts: Sandbox["contracts"];
  const native = () => Asset.native().contractId(n.network.passphrase);
  const [alices, bobs] = [alice, bob].map((pair) => address(pair.publicKey())) as [xdr.ScVal, xdr.ScVal];
  const card = bytes(new Uint8Array(32));
  const isSimulated = (operation: xdr.Operation) =>
    n.network.simulate(n.build(alice, [operation]).toEnvelope().toXdr(), {}).ok;
  const allow = (untilLedger: number) => call(native(), "approve", alices, bobs, i128(1n), u32(untilLedger));
  const policy = (expiresAt: number) => {
    const args = [alices, card, bobs, i128(0n), address(native()), u64(BigInt(expiresAt))];
    return call(contracts.agentRegistry, "register_agent", ...args);
  };

  before(async () => {
    n = await startAssetNetwork({ stateFile: await readyState({ now: () => START_SECONDS * 1000 }) });
    contracts = rememberedSandbox(n.network)!.contracts;
  });

  test("uses the latest ledger's number", () => {
    const { sequence } = n.network.latestLedger();
    assert.equal(isSimulated(allow(sequence)), true);
    assert.equal(isSimulated(allow(sequence - 1)), false);
  });

  test("uses the latest ledger's close time, not the clock", () => {
    const { closeTime } = n.network.latestLedger();
    n.clock.seconds += 100;
    const register = call(contracts.deviceRegistry, "register", alices, card, bobs);
    n.submit(signed(n.prepare(alice, register), alice));
    const { closeTime: now } = n.close();
    assert.equal(now, closeTime + 100);
    n.clock.seconds += 100;
    assert.equal(isSimulated(policy(now + 1)), true, "only the clock has passed this time");
    assert.equal(isSimulated(policy(now - 1)), false);
  });

  test("accepts an approval until the latest ledger, which fails in the next ledger", () => {
    const { sequence } = n.network.latestLedger();
    const { hash } = n.submit(signed(n.prepare(alice, allow(sequence)), alice));
    n.close();
    assert.equal(n.network.transaction(hash)?.successful, false);
  });

  for (const depth of [60, 100, 150, 300]) {
    test(`fails for a value of ${depth} levels, which the host does not read`, () => {
      let nested = xdr.ScVal.scvVec([]);
      for (let level = 0; level < depth; level++) nested = xdr.ScVal.scvVec([nested]);
      assert.equal(isSimulated(call(native(), "balance", nested)), false);
    });
  }
});
