// needs: once
import { strict as assert } from "node:assert";
import { after, before, describe, test } from "node:test";
import { Asset, Keypair, Operation, StrKey, TransactionBuilder } from "@stellar/stellar-sdk";
import { openSandboxRpc, type SandboxRpc } from "./rpc/sandbox_rpc.ts";
import { readyState } from "./ready_network.ts";

let sandbox: SandboxRpc;
before(async () => {
  // Contracts are paid through the native asset's.
  sandbox = await openSandboxRpc({ stateFile: await readyState() });
});
after(() => sandbox.stop());

const ask = (query: string, init?: RequestInit) => fetch(`${sandbox.url}/friendbot${query}`, init);

describe("friendbot", () => {
  test("creates the account in the query, by GET and by POST", async () => {
    for (const method of ["GET", "POST"]) {
      const address = Keypair.random().publicKey();
      const response = await ask(`?addr=${address}`, { method });
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("Access-Control-Allow-Origin"), "*");
      const { hash, successful, envelope_xdr: envelope } = await response.json();
      assert.equal(successful, true);
      const transaction = await sandbox.call("getTransaction", { hash });
      assert.equal(transaction.result.status, "SUCCESS");
      assert.equal(transaction.result.envelopeXdr, envelope);
      assert.ok((await sandbox.rpc.getAccountEntry(address)).balance > 0n);
    }
  });

  test("creates the account in a form", async () => {
    const body = new URLSearchParams({ addr: Keypair.random().publicKey() });
    assert.equal((await (await ask("", { method: "POST", body })).json()).successful, true);
  });

  test("tells an address that has the starting balance so in the words clients look for", async () => {
    const contract = StrKey.encodeContract(crypto.getRandomValues(new Uint8Array(32)));
    for (const address of [Keypair.random().publicKey(), contract]) {
      assert.equal((await (await ask(`?addr=${address}`)).json()).successful, true);
      const response = await ask(`?addr=${address}`);
      assert.equal(response.status, 400);
      assert.match(response.headers.get("Content-Type")!, /^application\/problem\+json/);
      const problem = await response.json();
      assert.match(problem.detail, /createAccountAlreadyExist/);
      assert.match(problem.detail, /account already funded to starting balance/);
      assert.equal(problem.status, 400);
    }
  });

  test("pays an account again that has less than the starting balance", async () => {
    const pair = Keypair.random();
    await (await ask(`?addr=${pair.publicKey()}`)).body?.cancel();
    const balance = async () => (await sandbox.rpc.getAccountEntry(pair.publicKey())).balance;
    const source = await sandbox.rpc.getAccount(pair.publicKey());
    const away = Operation.payment({
      destination: Keypair.master(sandbox.network.passphrase).publicKey(),
      asset: Asset.native(),
      amount: "9000",
    });
    const transaction = new TransactionBuilder(source, { fee: "100", networkPassphrase: sandbox.network.passphrase })
      .addOperation(away).setTimeout(30).build();
    transaction.sign(pair);
    const { hash } = await sandbox.rpc.sendTransaction(transaction);
    assert.equal((await sandbox.rpc.pollTransaction(hash)).status, "SUCCESS");
    const before = await balance();
    assert.ok(before < 10_000_000_000n);
    assert.equal((await (await ask(`?addr=${pair.publicKey()}`)).json()).successful, true);
    assert.equal(await balance(), before + 100_000_000_000n);
  });

  test("pays a contract, also together with accounts", async () => {
    const contracts = [1, 2].map((n) => StrKey.encodeContract(new Uint8Array(32).fill(n)));
    const addresses = [contracts[0]!, Keypair.random().publicKey(), contracts[1]!, Keypair.random().publicKey()];
    const answers = await Promise.all(addresses.map(async (address) => await (await ask(`?addr=${address}`)).json()));
    assert.deepEqual(answers.map(({ successful }) => successful), [true, true, true, true], JSON.stringify(answers));
    for (const contract of contracts) {
      const held = await sandbox.rpc.getSACBalance(contract, Asset.native(), sandbox.network.passphrase);
      assert.equal(held.balanceEntry?.amount, "100000000000");
    }
  });

  test("creates one account when asked for it twice at once", async () => {
    const address = Keypair.random().publicKey();
    const statuses = await Promise.all([1, 2].map(async () => {
      const response = await ask(`?addr=${address}`);
      await response.body?.cancel();
      return response.status;
    }));
    assert.deepEqual(statuses.sort(), [200, 400]);
  });

  test("refuses what is not an account's address", async () => {
    for (const query of ["", "?addr=", "?addr=G123", "?addr=C123", `?addr=${Keypair.random().secret()}`]) {
      const response = await ask(query);
      assert.equal(response.status, 400);
      const problem = await response.json();
      assert.equal(problem.title, "Bad Request");
      assert.equal(problem.extras.invalid_field, "addr");
    }
    assert.equal((await ask("", { method: "POST" })).status, 400);
  });
});
