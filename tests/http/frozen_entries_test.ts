// needs: neutral
import { xdr } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { balanceKey, deviceKey, instanceKey } from "../../lib/escrow/reads/storage_keys.ts";
import { FROZEN_KEYS } from "../../lib/stellar/transactions/frozen_keys.ts";
import { accountKey } from "../../lib/stellar/transactions/prepare.ts";
import { type GatewayUnderTest, networkOfFile, type RpcFetch, startGateway } from "./test_gateway.ts";

const on = networkOfFile();
/** The keys that the validators have frozen, base64 LedgerKeys. */
let frozen: string[] = [];
/** Whether the node rejects transactions with txFrozenKeyAccessed. */
let refuses = false;

/** The sandbox's node on a network whose validators have frozen entries. */
const fetch: RpcFetch = async (url, init) => {
  const { method, params } = JSON.parse(String(init.body));
  const answer = await (await on.fetch(url, init)).json();
  if (method === "getLedgerEntries" && params.keys.includes(FROZEN_KEYS)) {
    const keys = frozen.map((key) => new xdr.EncodedLedgerKey(xdr.decodeBytes(key, "base64")));
    const setting = xdr.ConfigSettingEntry.configSettingFrozenLedgerKeys(new xdr.FrozenLedgerKeys({ keys }));
    const entry = xdr.LedgerEntryData.configSetting(setting).toXdr("base64");
    const others = answer.result.entries.filter(({ key }: { key: string }) => key !== FROZEN_KEYS);
    answer.result.entries = [...others, { key: FROZEN_KEYS, xdr: entry, lastModifiedLedgerSeq: 1 }];
  }
  if (method === "sendTransaction" && refuses) {
    const result = xdr.TransactionResultResult.txFrozenKeyAccessed();
    const refused = new xdr.TransactionResult({ feeCharged: 100n, result, ext: xdr.TransactionResultExt.v0() });
    answer.result = { ...answer.result, status: "ERROR", errorResultXdr: refused.toXdr("base64") };
  }
  return Response.json(answer);
};

let api: GatewayUnderTest;
let deviceHash: string;
before(async () => {
  api = await startGateway(on, { fetch });
  ({ deviceHash } = await api.registerDevice());
  const { accounts: { owner, agent }, asset } = on.sandbox;
  await api.write(owner, { kind: "registerAgent", deviceHash, agent: agent.address, asset, maxAmount: "0" });
  await api.write(owner, { kind: "fundEscrow", deviceHash, asset, amount: "700" });
});
after(() => api.stop());

const payment = () => ({
  deviceHash,
  asset: on.sandbox.asset,
  merchant: on.sandbox.accounts.merchant.address,
  amount: "25",
});
const prepared = () => api.prepare(on.sandbox.accounts.agent, { kind: "authorize", ...payment() });

async function bothAnswers(...keys: string[]) {
  frozen = keys;
  on.network.closeLedger();
  const check = await api.request("POST", "/v1/payments/check", { body: payment() });
  const { status, body, headers } = await prepared();
  return { check: check.body, status, error: body.error, link: headers.get("link") };
}

describe("a ledger entry that the network's validators froze", () => {
  test("makes check and prepare refuse a payment, and prepare names the entry", async () => {
    const { agent } = on.sandbox.accounts;
    const { paymentEscrow } = on.sandbox.contracts;
    const cases: [key: string, named: string][] = [
      [instanceKey(paymentEscrow), `an entry of the contract ${paymentEscrow}`],
      [balanceKey(paymentEscrow, deviceHash), `an entry of the contract ${paymentEscrow}`],
      [accountKey(agent.address), `the account ${agent.address}`],
    ];
    for (const [key, named] of cases) {
      const { check, status, error, link } = await bothAnswers(deviceKey(paymentEscrow, "00".repeat(32)), key);
      assert.deepEqual(check, { ok: false, reason: "entry_frozen" });
      assert.equal(status, 400);
      const { code, transactionError, reason, retry, message } = error;
      assert.deepEqual([code, transactionError, reason, retry], [
        "invalid_request",
        "txFrozenKeyAccessed",
        "entry_frozen",
        "never",
      ]);
      assert.ok(message.startsWith(`the network's validators have frozen ${named}, `), message);
      assert.equal(link, '</docs/errors#txfrozenkeyaccessed>; rel="help"');
    }
  });

  test("makes prepare refuse an operation when the entry is the contract's code", async () => {
    const key = xdr.decodeBytes(instanceKey(on.sandbox.contracts.agentRegistry), "base64");
    const data = xdr.LedgerEntryData.fromXdr(on.network.entry(key)!.dataXdr);
    assert.ok(data.type === "contractData" && data.contractData.val.type === "scvContractInstance");
    const { executable } = data.contractData.val.instance;
    assert.ok(executable.type === "contractExecutableWasm");
    const hash = executable.wasmHash.value;
    const { error } = await bothAnswers(
      xdr.LedgerKey.contractCode(new xdr.LedgerKeyContractCode({ hash })).toXdr("base64"),
    );
    assert.match(error.message, new RegExp(`frozen the contract code ${xdr.encodeBytes(hash, "hex")}, `));
  });

  test("does not affect a payment that does not need the entry", async () => {
    const { check, status } = await bothAnswers(
      deviceKey(on.sandbox.contracts.deviceRegistry, deviceHash),
      accountKey(on.sandbox.accounts.owner.address),
    );
    assert.deepEqual([check, status], [{ ok: true }, 200]);
  });

  test("makes submit answer txFrozenKeyAccessed with an explanation", async () => {
    frozen = [];
    const envelope = await api.signedEnvelope(on.sandbox.accounts.agent, { kind: "authorize", ...payment() });
    refuses = true;
    const { status, body: { error } } = await api.submit(envelope);
    assert.deepEqual([status, error.transactionError, error.retry], [400, "txFrozenKeyAccessed", "never"]);
    assert.match(error.message, /: txFrozenKeyAccessed \(validators have frozen a ledger entry that it needs; .+\)$/);
  });
});
