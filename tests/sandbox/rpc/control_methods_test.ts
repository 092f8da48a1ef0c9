// needs: once
import { strict as assert } from "node:assert";
import { describe, test } from "node:test";
import { Account, Asset, Keypair, Operation, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import { toHex } from "../../../lib/sandbox/ledger/bytes.ts";
import { readyNetwork } from "../ready_network.ts";
import { sandboxRpcOfFile } from "./sandbox_rpc.ts";

const sandbox = sandboxRpcOfFile();
const latest = async () => (await sandbox.call("getLatestLedger")).result;

async function accountOf(address: string): Promise<xdr.AccountEntry> {
  const accountId = Keypair.fromPublicKey(address).xdrAccountId();
  const key = xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId })).toXdr("base64");
  const { entries } = (await sandbox.call("getLedgerEntries", { keys: [key] })).result;
  const data = xdr.LedgerEntryData.fromXdr(entries[0].xdr, "base64");
  return data.type === "account" ? data.account : assert.fail(data.type);
}

/** Whether each of the ledgers has the hash of the one before. */
async function isChained(first: number, last: number): Promise<boolean> {
  let previous: string | undefined;
  for (let startLedger = first; startLedger <= last; startLedger += 200) {
    const pagination = { limit: Math.min(200, last - startLedger + 1) };
    const { ledgers } = (await sandbox.call("getLedgers", { startLedger, pagination })).result;
    for (const { hash, headerXdr } of ledgers) {
      const { header } = xdr.LedgerHeaderHistoryEntry.fromXdr(headerXdr, "base64");
      if (previous !== undefined && toHex(header.previousLedgerHash.toXdr()) !== previous) return false;
      previous = hash;
    }
  }
  return true;
}

describe("sandbox_advance", () => {
  test("closes a ledger for every five seconds, whatever the network's own pace", async () => {
    for (const ledgerMs of [0, 100, 1_000, 60_000]) {
      const { network } = await readyNetwork({ ledgerMs, schedule: () => () => {} });
      const before = network.latestLedger();
      const after = network.advance({ seconds: 30 * 86_400 });
      assert.equal(after.sequence - before.sequence, 518_400, `--ledger-ms ${ledgerMs}`);
      assert.ok(after.closeTime - before.closeTime >= 30 * 86_400);
      await network.stop();
    }
  });

  test("closes ledgers without moving the clock", async () => {
    const before = await latest();
    const { result } = await sandbox.call("sandbox_advance", { ledgers: 500, keepTime: true });
    assert.equal(result.ledgers, 500);
    assert.ok(Number(result.latestLedgerCloseTime) - Number(before.closeTime) < 60);
  });

  test("says when the chain of ledger hashes is broken", async () => {
    for (const [ledgers, hashChain] of [[2_001, "whole"], [2_002, "broken"]] as const) {
      const { sequence } = await latest();
      assert.equal((await sandbox.call("sandbox_advance", { ledgers })).result.hashChain, hashChain);
      assert.equal(await isChained(sequence, sequence + ledgers), hashChain === "whole", `${ledgers} ledgers`);
    }
  });
});

test("sandbox_fund pays an amount to a new account, and again", async () => {
  const address = Keypair.random().publicKey();
  for (const amount of ["12.5000001", "3"]) {
    assert.equal((await sandbox.call("sandbox_fund", { address, amount })).result.paid, true);
  }
  assert.equal(String((await accountOf(address)).balance), "155000001");
});

test("sandbox_snapshots lists the snapshots with their ledgers, and drops one", async () => {
  const taken: { name: string; ledger: number }[] = [];
  for (const name of ["first", "second"]) {
    const { ledger } = (await sandbox.call("sandbox_snapshot", { name })).result;
    taken.push({ name, ledger });
    await sandbox.call("sandbox_advance", { ledgers: 1 });
  }
  const list = async (params = {}) => (await sandbox.call("sandbox_snapshots", params)).result.snapshots;
  assert.deepEqual(await list(), taken);
  assert.deepEqual(await list({ drop: "first" }), taken.slice(1));
  assert.match(
    (await sandbox.call("sandbox_revert", { name: "first" })).error.message,
    /snapshots second; got "first"/,
  );
  assert.equal((await sandbox.call("sandbox_revert", { name: "second" })).result.name, "second");
});

test("every control method refuses a parameter that it does not take, and a wrong amount", async () => {
  const cases: [method: string, params: Record<string, unknown>, message: RegExp][] = [
    ["sandbox_advance", { second: 5 }, /some of seconds, ledgers, keepTime; got "second"; did you mean seconds\?/],
    ["sandbox_advance", { seconds: 5, keepTime: true }, /keepTime must come with ledgers; got seconds/],
    ["sandbox_snapshot", { name: "x", label: "y" }, /some of name; got "label"/],
    ["sandbox_snapshots", { name: "x" }, /some of drop; got "name"/],
    ["sandbox_revert", { snapshot: "x" }, /some of name; got "snapshot"/],
    ["sandbox_fund", { address: "G", amout: "1" }, /some of address, amount; got "amout"; did you mean amount\?/],
  ];
  for (const amount of ["-1", "0", "1.00000001", "much", 5]) {
    const address = Keypair.random().publicKey();
    cases.push(["sandbox_fund", { address, amount }, /amount must be lumens as text, such as "250\.5"; got/]);
  }
  for (const [method, params, message] of cases) {
    const { error } = await sandbox.call(method, params);
    assert.equal(error?.code, -32602, `${method} ${JSON.stringify(params)}`);
    assert.match(error.message, message);
  }
});

test("a refused offer says what the sandbox supports", async () => {
  const alice = Keypair.random();
  await sandbox.call("sandbox_fund", { address: alice.publicKey() });
  const { seqNum } = await accountOf(alice.publicKey());
  const pair = { selling: Asset.native(), buying: new Asset("USDC", alice.publicKey()) };
  const offer = Operation.manageSellOffer({ ...pair, amount: "1", price: "1" });
  const source = new Account(alice.publicKey(), String(seqNum));
  const transaction = new TransactionBuilder(source, { fee: "100", networkPassphrase: sandbox.network.passphrase })
    .addOperation(offer).setTimeout(0).build();
  transaction.sign(alice);
  const { result } = await sandbox.call("sendTransaction", { transaction: transaction.toXdr() });
  assert.equal(result.status, "ERROR");
  const { data } = xdr.DiagnosticEvent.fromXdr(result.diagnosticEventsXdr[0], "base64").event.body.v0;
  assert.ok(data.type === "scvString");
  assert.match(String(data.str), /does not support manageSellOffer: .* It supports contracts, accounts, payments/);
});
