import { strict as assert } from "node:assert";
import { after, before, describe, test } from "node:test";
import { Keypair, StrKey } from "@stellar/stellar-sdk";
import { openSandboxRpc, type SandboxRpc } from "./rpc/sandbox_rpc.ts";

let sandbox: SandboxRpc;
before(async () => {
  sandbox = await openSandboxRpc();
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

  test("tells an account that exists in the words clients look for", async () => {
    const address = Keypair.random().publicKey();
    await (await ask(`?addr=${address}`)).body?.cancel();
    const response = await ask(`?addr=${address}`);
    assert.equal(response.status, 400);
    assert.match(response.headers.get("Content-Type")!, /^application\/problem\+json/);
    const problem = await response.json();
    assert.match(problem.detail, /createAccountAlreadyExist/);
    assert.match(problem.detail, /account already funded to starting balance/);
    assert.equal(problem.status, 400);
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
    const contract = StrKey.encodeContract(new Uint8Array(32));
    for (const query of ["", "?addr=", "?addr=G123", `?addr=${Keypair.random().secret()}`, `?addr=${contract}`]) {
      const response = await ask(query);
      assert.equal(response.status, 400);
      const problem = await response.json();
      assert.equal(problem.title, "Bad Request");
      assert.equal(problem.extras.invalid_field, "addr");
    }
    assert.equal((await ask("", { method: "POST" })).status, 400);
  });
});
