import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Account, Operation, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import type { Remote } from "../../lib/sandbox/fork/remote.ts";
import {
  accountKeyXdr,
  extensionsOf,
  newAccount,
  withExtensions,
  withFields,
} from "../../lib/sandbox/ledger/accounts.ts";
import { keyOf } from "../../lib/sandbox/ledger/bytes.ts";
import { PROTOCOL_VERSION } from "../../lib/sandbox/ledger/chain.ts";
import { alice, bob } from "./envelope_parts.ts";
import { accountOf, apply, keypair, START_SECONDS, startNetwork } from "./sandbox_network.ts";

const PASSPHRASE = "the network that is forked";
const cosigner = keypair("cosigner");

describe("a sponsor that was read after it had ended its sponsorship on the network that is forked", () => {
  for (
    const [what, operation, isPreAuthorized] of [
      ["removed", Operation.setOptions({ signer: { ed25519PublicKey: cosigner.publicKey(), weight: 0 } }), false],
      ["gone with its account", Operation.accountMerge({ destination: bob.publicKey() }), false],
      ["used up", Operation.bumpSequence({ bumpTo: "0" }), true],
    ] as const
  ) {
    test(`a signer that is ${what} goes all the same`, async () => {
      const source = new Account(alice.publicKey(), alicesAccount.seqNum.toString());
      const transaction = new TransactionBuilder(source, { fee: "100", networkPassphrase: PASSPHRASE })
        .addOperation(operation).setTimeout(0).build();
      const key = isPreAuthorized
        ? xdr.SignerKey.signerKeyTypePreAuthTx(transaction.hash())
        : xdr.SignerKey.signerKeyTypeEd25519(cosigner.rawPublicKey());
      const { network } = await startNetwork({ forkOf: remoteWithSponsoredSigner(key) });
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
});

const alicesAccount = newAccount(alice.rawPublicKey(), 1_000_000_000n, 7);

/** A network on which Alice has a signer whose reserve Bob pays, as wallets arrange it with BeginSponsoringFutureReserves. */
function remoteWithSponsoredSigner(key: xdr.SignerKey): Remote {
  const signers = [new xdr.Signer({ key, weight: 1 })];
  const sponsorship = { numSponsored: 1, signerSponsors: [bob.xdrAccountId()] };
  const accounts = [
    withExtensions(withFields(alicesAccount, { signers, numSubEntries: 1 }), sponsorship),
    withExtensions(newAccount(bob.rawPublicKey(), 1_000_000_000n, 7), { numSponsoring: 0 }),
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
