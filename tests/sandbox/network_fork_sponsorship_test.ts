// needs: once
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Account, Asset, Claimant, Operation, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import { openRemote, type Remote } from "../../lib/sandbox/fork/remote.ts";
import {
  accountKeyXdr,
  extensionsOf,
  newAccount,
  withExtensions,
  withFields,
} from "../../lib/sandbox/ledger/accounts.ts";
import { keyOf } from "../../lib/sandbox/ledger/bytes.ts";
import { PROTOCOL_VERSION } from "../../lib/sandbox/ledger/protocol.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { alice, bob } from "./envelope_parts.ts";
import { openSandboxRpc, type SandboxRpc } from "./rpc/sandbox_rpc.ts";
import {
  accountOf,
  apply,
  build,
  engineModule,
  fund,
  keypair,
  signed,
  START_SECONDS,
  startNetwork,
} from "./sandbox_network.ts";

const PASSPHRASE = "the network that is forked";
const cosigner = keypair("cosigner");

type Sandbox = SandboxRpc & { network: SandboxNetwork };

describe("what somebody sponsors on the network that is forked", () => {
  test("a claimable balance names its sponsor, who has the reserve back when it is claimed", async (t) => {
    const origin = await openSandboxRpc({ passphrase: PASSPHRASE }) as Sandbox;
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

  for (
    const [what, operation, isPreAuthorized] of [
      ["removed", Operation.setOptions({ signer: { ed25519PublicKey: cosigner.publicKey(), weight: 0 } }), false],
      ["gone with its account", Operation.accountMerge({ destination: bob.publicKey() }), false],
      ["used up", Operation.bumpSequence({ bumpTo: "0" }), true],
    ] as const
  ) {
    for (const numSponsoring of [1, 0]) {
      const late = numSponsoring === 0 ? ", which was read after it had ended its sponsorship over there" : "";
      test(`a signer that is ${what} gives its sponsor the reserve back${late}`, async () => {
        const source = new Account(alice.publicKey(), alicesAccount.seqNum.toString());
        const transaction = new TransactionBuilder(source, { fee: "100", networkPassphrase: PASSPHRASE })
          .addOperation(operation).setTimeout(0).build();
        const key = isPreAuthorized
          ? xdr.SignerKey.signerKeyTypePreAuthTx(transaction.hash())
          : xdr.SignerKey.signerKeyTypeEd25519(cosigner.rawPublicKey());
        const { network } = await startNetwork({ forkOf: remoteWithSponsoredSigner(key, numSponsoring) });
        const { complete, tryOut } = network.fork!;
        if (!isPreAuthorized) transaction.sign(alice);
        await complete(() => tryOut(transaction.toEnvelope().toXdr()));
        assert.equal(apply(network, transaction).successful, true);
        await complete(() => network.entry(accountKeyXdr(bob.rawPublicKey())));
        assert.equal(extensionsOf(accountOf(network, bob)).numSponsoring, 0);
        if (operation.body.type === "accountMerge") return;
        assert.equal(extensionsOf(accountOf(network, alice)).numSponsored, 0);
        assert.equal(accountOf(network, alice).numSubEntries, 0);
      });
    }
  }
});

const alicesAccount = newAccount(alice.rawPublicKey(), 1_000_000_000n, 7);

/** A network on which Alice has a signer whose reserve Bob pays, as wallets arrange it with BeginSponsoringFutureReserves. */
function remoteWithSponsoredSigner(key: xdr.SignerKey, numSponsoring: number): Remote {
  const signers = [new xdr.Signer({ key, weight: 1 })];
  const sponsorship = { numSponsored: 1, signerSponsors: [bob.xdrAccountId()] };
  const accounts = [
    withExtensions(withFields(alicesAccount, { signers, numSubEntries: 1 }), sponsorship),
    withExtensions(newAccount(bob.rawPublicKey(), 1_000_000_000n, 7), { numSponsoring }),
  ];
  const entries = new Map(accounts.map((account) => {
    const data = xdr.LedgerEntryData.account(account);
    const entry = new xdr.LedgerEntry({ lastModifiedLedgerSeq: 7, data, ext: xdr.LedgerEntryExt.v0() });
    return [keyOf(accountKeyXdr(account.accountId.ed25519.value)), { entryXdr: entry.toXdr() }];
  }));
  return {
    passphrase: PASSPHRASE,
    protocolVersion: PROTOCOL_VERSION,
    ledger: { sequence: 100, hash: new Uint8Array(32), closeTime: START_SECONDS - 5 },
    read: (keys) =>
      Promise.resolve(
        new Map(keys.flatMap((key) => {
          const entry = entries.get(key);
          return entry ? [[key, entry]] : [];
        })),
      ),
  };
}
