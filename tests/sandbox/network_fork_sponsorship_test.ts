import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Asset, Claimant, Operation, xdr } from "@stellar/stellar-sdk";
import { openRemote } from "../../lib/sandbox/fork/remote.ts";
import { extensionsOf } from "../../lib/sandbox/ledger/accounts.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { alice, bob } from "./envelope_parts.ts";
import { openSandboxRpc, type SandboxRpc } from "./rpc/sandbox_rpc.ts";
import { accountOf, apply, build, engineModule, fund, signed } from "./sandbox_network.ts";

type Sandbox = SandboxRpc & { network: SandboxNetwork };

describe("what somebody sponsors on the network that is forked", () => {
  test("a claimable balance names its sponsor, who has the reserve back when it is claimed", async (t) => {
    const origin = await openSandboxRpc({ passphrase: "the network that is forked" }) as Sandbox;
    t.after(origin.stop);
    await fund(origin.network, alice, bob);
    const claimants = [new Claimant(bob.publicKey())];
    const create = Operation.createClaimableBalance({ asset: Asset.native(), amount: "5", claimants });
    const creation = signed(build(origin.network, alice, [create]), alice);
    assert.equal(apply(origin.network, creation).successful, true);
    const id = creation.getClaimableBalanceId(0);
    const balanceId = xdr.ClaimableBalanceId.fromXdr(id, "hex");
    const key = xdr.LedgerKey.claimableBalance(new xdr.LedgerKeyClaimableBalance({ balanceId })).toXdr().toBase64();

    const forkOf = await openRemote(origin.url);
    const fork = await openSandboxRpc({ engineWasm: await engineModule(), forkOf }) as Sandbox;
    t.after(fork.stop);
    const [there, here] = await Promise.all(
      [origin, fork].map((node) => node.call("getLedgerEntries", { keys: [key] })),
    );
    assert.equal(here!.result.entries[0].extXdr, there!.result.entries[0].extXdr);
    await fork.rpc.getAccountEntry(bob.publicKey());
    const claim = build(fork.network, bob, [Operation.claimClaimableBalance({ balanceId: id })]);
    const { hash } = await fork.rpc.sendTransaction(signed(claim, bob));
    assert.equal((await fork.rpc.pollTransaction(hash)).status, "SUCCESS");
    await fork.rpc.getAccountEntry(alice.publicKey());
    assert.equal(extensionsOf(accountOf(fork.network, alice)).numSponsoring, 0);
  });
});
