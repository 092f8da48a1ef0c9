// needs: once
import { strict as assert } from "node:assert";
import { after, before, describe, test } from "node:test";
import { Asset, Keypair, StrKey } from "@stellar/stellar-sdk";
import { pay } from "./envelope_parts.ts";
import { draft, succeed } from "./rpc/client.ts";
import { openSandboxRpc, type SandboxRpc } from "./rpc/sandbox_rpc.ts";
import { readyState } from "./ready_network.ts";

let sandbox: SandboxRpc;
before(async () => {
  // The native asset's contract pays contracts.
  sandbox = await openSandboxRpc({ stateFile: await readyState() });
});
after(() => sandbox.stop());

const ask = (query: string, init?: RequestInit) => fetch(`${sandbox.url}/friendbot${query}`, init);

describe("friendbot", () => {
  test("creates the account that the query names, by GET and by POST", async () => {
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

  test("creates the account that a form names", async () => {
    const body = new URLSearchParams({ addr: Keypair.random().publicKey() });
    assert.equal((await (await ask("", { method: "POST", body })).json()).successful, true);
  });

  test("refuses an address that has the starting balance, in the words that clients look for", async () => {
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

  test("pays an account again when it has less than the starting balance", async () => {
    const pair = Keypair.random();
    await (await ask(`?addr=${pair.publicKey()}`)).body?.cancel();
    const balance = async () => (await sandbox.rpc.getAccountEntry(pair.publicKey())).balance;
    const away = pay(Keypair.master(sandbox.network.passphrase), 90_000_000_000n);
    await succeed(sandbox, await draft(sandbox, pair, away), pair);
    const before = await balance();
    assert.ok(before < 10_000_000_000n);
    assert.equal((await (await ask(`?addr=${pair.publicKey()}`)).json()).successful, true);
    assert.equal(await balance(), before + 100_000_000_000n);
  });

  test("pays contracts and accounts in one transaction", async () => {
    const contracts = [1, 2].map((n) => StrKey.encodeContract(new Uint8Array(32).fill(n)));
    const addresses = [contracts[0]!, Keypair.random().publicKey(), contracts[1]!, Keypair.random().publicKey()];
    const answers = await Promise.all(addresses.map(async (address) => await (await ask(`?addr=${address}`)).json()));
    assert.deepEqual(answers.map(({ successful }) => successful), [true, true, true, true], JSON.stringify(answers));
    for (const contract of contracts) {
      const held = await sandbox.rpc.getSACBalance(contract, Asset.native(), sandbox.network.passphrase);
      assert.equal(held.balanceEntry?.amount, "100000000000");
    }
  });

  test("creates an account once for two requests at once", async () => {
    const address = Keypair.random().publicKey();
    const statuses = await Promise.all([1, 2].map(async () => {
      const response = await ask(`?addr=${address}`);
      await response.body?.cancel();
      return response.status;
    }));
    assert.deepEqual(statuses.sort(), [200, 400]);
  });

  test("refuses a request without an account's address", async () => {
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
