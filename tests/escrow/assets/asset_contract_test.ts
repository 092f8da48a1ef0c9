// needs: neutral
import { Asset } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { assetBalance, builtInAsset } from "../../../lib/escrow/assets/asset_contract.ts";
import { assetBalanceKey, instanceKey } from "../../../lib/escrow/reads/storage_keys.ts";
import { addressOf, type Issued, issueNow } from "../../sandbox/past_the_gateway.ts";
import { i128 } from "../../sandbox/sandbox_network.ts";
import { sandboxOfFile } from "../sandbox.ts";

const sandbox = sandboxOfFile();

describe("entries of an asset contract", () => {
  let usd: Issued;
  before(async () => void (usd = issueNow(sandbox.network, await sandbox.account(), "USDollars")));

  async function entry(key: string) {
    const { entries } = await sandbox.gateway().rpc.getLedgerEntries([key]);
    return entries[0];
  }
  const held = async (contract: string) =>
    assetBalance(await entry(assetBalanceKey(contract, sandbox.contracts.paymentEscrow)));

  test("the instance names an issued asset or lumens, and no asset for another contract", async () => {
    assert.deepEqual(builtInAsset((await entry(instanceKey(usd.contract)))!), usd.asset);
    assert.deepEqual(builtInAsset((await entry(instanceKey(sandbox.asset)))!), Asset.native());
    assert.equal(builtInAsset((await entry(instanceKey(sandbox.contracts.paymentEscrow)))!), undefined);
  });

  test("a contract's balance has its amount, and the issuer's rights and actions", async () => {
    const { contracts: { paymentEscrow }, asset, owner } = sandbox;
    assert.equal(await held(usd.contract), undefined);
    usd.mint(paymentEscrow, 70n);
    assert.deepEqual(await held(usd.contract), { amount: 70n, authorized: true, clawback: true });
    usd.clawback(paymentEscrow, 1n);
    usd.authorize(paymentEscrow, false);
    assert.deepEqual(await held(usd.contract), { amount: 69n, authorized: false, clawback: true });
    sandbox.invoke(owner, asset, "transfer", addressOf(owner), addressOf(paymentEscrow), i128(5n));
    assert.deepEqual(await held(asset), { amount: 5n, authorized: true, clawback: false });
  });
});
