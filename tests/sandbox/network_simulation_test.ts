// needs: neutral
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { Asset, type xdr } from "@stellar/stellar-sdk";
import { rememberedSandbox, type Sandbox } from "../../lib/sandbox/bootstrap.ts";
import { alice, type AssetNetwork, bob, startAssetNetwork } from "./asset_network.ts";
import { readyState } from "./ready_network.ts";
import {
  address,
  build,
  bytes,
  call,
  i128,
  prepare,
  signed,
  START_SECONDS,
  submit,
  u32,
  u64,
} from "./sandbox_network.ts";

describe("a simulation sees the latest ledger", () => {
  let n: AssetNetwork;
  let sandbox: Sandbox;
  const native = () => Asset.native().contractId(n.network.passphrase);
  const simulated = (operation: xdr.Operation) =>
    n.network.simulate(build(n.network, alice, [operation]).toEnvelope().toXdr(), {});
  const allow = (untilLedger: number) =>
    call(native(), "approve", address(alice.publicKey()), address(bob.publicKey()), i128(1n), u32(untilLedger));
  const policy = (expiresAt: number) =>
    call(
      sandbox.contracts.agentRegistry,
      "register_agent",
      address(alice.publicKey()),
      bytes(new Uint8Array(32)),
      address(bob.publicKey()),
      i128(0n),
      address(native()),
      u64(BigInt(expiresAt)),
    );

  before(async () => {
    n = await startAssetNetwork({ stateFile: await readyState({ now: () => START_SECONDS * 1000 }) });
    sandbox = rememberedSandbox(n.network)!;
  });

  test("by its number: what lives until then is not too short", () => {
    const { sequence } = n.network.latestLedger();
    assert.equal(simulated(allow(sequence)).ok, true);
    assert.equal(simulated(allow(sequence - 1)).ok, false);
  });

  test("by its close time, however long ago it closed", () => {
    const { closeTime } = n.network.latestLedger();
    n.clock.seconds += 100;
    const registered = call(
      sandbox.contracts.deviceRegistry,
      "register",
      address(alice.publicKey()),
      bytes(new Uint8Array(32)),
      address(bob.publicKey()),
    );
    n.network.submit(signed(prepare(n.network, alice, registered), alice).toEnvelope().toXdr());
    const { closeTime: now } = n.network.closeLedger();
    assert.equal(now, closeTime + 100);
    n.clock.seconds += 100;
    assert.equal(simulated(policy(now + 1)).ok, true, "not expired in the latest ledger, though it is by the clock");
    assert.equal(simulated(policy(now - 1)).ok, false);
  });

  test("while what is submitted is applied in the next", () => {
    const { sequence } = n.network.latestLedger();
    const late = signed(prepare(n.network, alice, allow(sequence)), alice);
    const { hash } = submit(n.network, late);
    n.network.closeLedger();
    assert.equal(n.network.transaction(hash)?.successful, false);
  });
});
