// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Account, Asset, Operation, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import { accountKeyXdr, newAccount } from "../../lib/sandbox/ledger/accounts.ts";
import type { IssuedAsset } from "../../lib/sandbox/ledger/assets.ts";
import { keyOf } from "../../lib/sandbox/ledger/bytes.ts";
import { AUTHORIZED, PROTOCOL_VERSION } from "../../lib/sandbox/ledger/protocol.ts";
import { trustlineKeyXdr } from "../../lib/sandbox/ledger/trustlines.ts";
import { alice, bob } from "./envelope_parts.ts";
import { accountOf, apply, codesOf, START_SECONDS, startNetwork } from "./sandbox_network.ts";

const PASSPHRASE = "the network that is forked";
const usd = new Asset("USD", bob.publicKey());
const usdXdr = usd.toXdrObject() as IssuedAsset;

const account = newAccount(alice.rawPublicKey(), 1_000_000_000n, 7);

function trustline(ext: xdr.TrustLineEntryExt = xdr.TrustLineEntryExt.v0()): xdr.TrustLineEntry {
  return new xdr.TrustLineEntry({
    accountId: alice.xdrAccountId(),
    asset: xdr.TrustLineAsset.fromXdr(usdXdr.toXdr()),
    balance: 0n,
    limit: 100n,
    flags: AUTHORIZED,
    ext,
  });
}

/** Counts the liquidity pools whose shares the account has and that hold the asset. */
function withPoolUse(liquidityPoolUseCount: number): xdr.TrustLineEntryExt {
  const v2 = new xdr.TrustLineEntryExtensionV2({ liquidityPoolUseCount, ext: xdr.TrustLineEntryExtensionV2Ext.v0() });
  const liabilities = new xdr.Liabilities({ buying: 0n, selling: 0n });
  return xdr.TrustLineEntryExt.v1(new xdr.TrustLineEntryV1({ liabilities, ext: xdr.TrustLineEntryV1Ext.v2(v2) }));
}

/** Goes on from a network with Alice's account, which says how many subentries it has, and this trustline of hers. */
async function forkWith(numSubEntries: number, line: xdr.TrustLineEntry) {
  const alices = new xdr.AccountEntry({ ...account, numSubEntries });
  const entries = new Map([
    [accountKeyXdr(alice.rawPublicKey()), xdr.LedgerEntryData.account(alices)] as const,
    [trustlineKeyXdr(alice.rawPublicKey(), usdXdr), xdr.LedgerEntryData.trustline(line)] as const,
  ].map(([key, data]) => {
    const entry = new xdr.LedgerEntry({ lastModifiedLedgerSeq: 7, data, ext: xdr.LedgerEntryExt.v0() });
    return [keyOf(key), { entryXdr: entry.toXdr() }];
  }));
  const { network } = await startNetwork({
    forkOf: {
      passphrase: PASSPHRASE,
      protocolVersion: PROTOCOL_VERSION,
      ledger: { sequence: 100, hash: new Uint8Array(32), closeTime: START_SECONDS - 5 },
      read: (keys) => Promise.resolve(new Map([...entries].filter(([key]) => keys.includes(key)))),
    },
  });
  return network;
}

/** Closes the trustline in a transaction of Alice, and answers its result codes. */
async function closeTrustline(network: Awaited<ReturnType<typeof forkWith>>): Promise<string> {
  const source = new Account(alice.publicKey(), account.seqNum.toString());
  const transaction = new TransactionBuilder(source, { fee: "100", networkPassphrase: PASSPHRASE })
    .addOperation(Operation.changeTrust({ asset: usd, limit: "0" })).setTimeout(0).build();
  transaction.sign(alice);
  await network.fork!.complete(() => network.fork!.tryOut(transaction.toEnvelope().toXdr()));
  return codesOf(apply(network, transaction).resultXdr);
}

describe("what an account of the network that is forked has", () => {
  for (const numSubEntries of [1, 0]) {
    const late = numSubEntries === 0 ? ", though it was opened over there after the account was read" : "";
    test(`a trustline is closed${late}`, async () => {
      const network = await forkWith(numSubEntries, trustline());
      assert.equal(await closeTrustline(network), "txSuccess/changeTrust/changeTrustSuccess");
      assert.equal(accountOf(network, alice).numSubEntries, 0);
    });
  }

  test("the trustline of an asset that is in a liquidity pool is not closed: CannotDelete", async () => {
    const network = await forkWith(1, trustline(withPoolUse(1)));
    assert.equal(await closeTrustline(network), "txFailed/changeTrust/changeTrustCannotDelete");
  });

  test("one that has been in a liquidity pool is", async () => {
    const network = await forkWith(1, trustline(withPoolUse(0)));
    assert.equal(await closeTrustline(network), "txSuccess/changeTrust/changeTrustSuccess");
  });
});
