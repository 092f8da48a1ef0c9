// needs: once
import { strict as assert } from "node:assert";
import { describe, test } from "node:test";
import { Keypair } from "@stellar/stellar-sdk";
import { createRpcServer } from "../../../lib/sandbox/rpc/server.ts";
import { sandboxRpcOfFile } from "./sandbox_rpc.ts";

const sandbox = sandboxRpcOfFile();

const latest = async () => (await sandbox.call("getLatestLedger")).result;

describe("on a sandbox,", () => {
  test("sandbox_advance closes ledgers and advances the clock, and the node stays healthy", async () => {
    const before = await latest();
    const { result } = await sandbox.call("sandbox_advance", { seconds: 3_600 });
    const after = await latest();
    const { closeTime: latestLedgerCloseTime } = after;
    const latestLedger = before.sequence + 720;
    assert.deepEqual(result, { ledgers: 720, latestLedger, latestLedgerCloseTime, hashChain: "whole" });
    assert.ok(Number(after.closeTime) >= Number(before.closeTime) + 3_600);
    assert.equal((await sandbox.call("getHealth")).result.status, "healthy");
    assert.equal((await sandbox.call("sandbox_advance", { ledgers: 5 })).result.ledgers, 5);
  });

  test("sandbox_revert undoes a payment of sandbox_fund after sandbox_snapshot", async () => {
    const taken = (await sandbox.call("sandbox_snapshot", { name: "here" })).result;
    assert.deepEqual(taken, { name: "here", ledger: taken.ledger, snapshots: ["here"] });
    const address = Keypair.random().publicKey();
    const funded = (await sandbox.call("sandbox_fund", { address })).result;
    assert.equal(funded.paid, true);
    assert.equal((await sandbox.call("getTransaction", { hash: funded.hash })).result.status, "SUCCESS");
    assert.deepEqual((await sandbox.call("sandbox_fund", { address })).result, { address, paid: false });
    const reverted = (await sandbox.call("sandbox_revert", { name: "here" })).result;
    assert.deepEqual([reverted.latestLedger, reverted.snapshots], [taken.ledger + 1, ["here"]]);
    assert.equal((await sandbox.call("getTransaction", { hash: funded.hash })).result.status, "NOT_FOUND");
  });

  const wrong: [method: string, params: Record<string, unknown>, message: RegExp][] = [
    ["sandbox_advance", {}, /either seconds or ledgers must be 1 or more/],
    ["sandbox_advance", { seconds: 1, ledgers: 1 }, /either seconds or ledgers must be 1 or more/],
    ["sandbox_advance", { seconds: -1 }, /seconds must be an integer from 0 to 315360000; got -1/],
    ["sandbox_advance", { ledgers: 2 ** 31 }, /an advance must be at most \d+ ledgers/],
    ["sandbox_snapshot", {}, /name must be 1 to 64 letters/],
    ["sandbox_snapshot", { name: "a b" }, /name must be 1 to 64 letters, .*; got "a b"/],
    ["sandbox_revert", { name: "never" }, /name must be one of the snapshots .*; got "never"/],
    ["sandbox_fund", { address: "G1" }, /address must be an account \(G…\) or a contract \(C…\); got "G1"/],
  ];
  for (const [method, params, message] of wrong) {
    test(`${method} refuses ${JSON.stringify(params)}`, async () => {
      const { error } = await sandbox.call(method, params);
      assert.equal(error?.code, -32602, method);
      assert.match(error.message, message);
    });
  }

  type Caller = [what: string, url: string, remoteAddress: string, headers?: Record<string, string>];
  async function advance(url: string, remoteAddress: string, headers: Record<string, string> = {}) {
    const server = createRpcServer({ network: sandbox.network, version: "0", now: Date.now });
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "sandbox_advance", params: { ledgers: 1 } });
    const init = { method: "POST", body, headers: { "Content-Type": "application/json", ...headers } };
    return await (await server.fetch(new Request(url, init), { remoteAddress })).json();
  }
  const HERE = "http://127.0.0.1:8000/";

  const allowed: Caller[] = [
    ["a program on this machine", HERE, "127.0.0.1"],
    ["an IPv4 address in IPv6 form", "http://localhost:8000/", "::ffff:127.0.0.1"],
    ["an IPv6 address", "http://[::1]:8000/", "::1"],
    ["a page of this machine", HERE, "127.0.0.1", { Origin: "http://localhost:3000" }],
  ];
  for (const [what, ...caller] of allowed) {
    test(`sandbox_advance serves ${what}`, async () => assert.equal((await advance(...caller)).result?.ledgers, 1));
  }

  const strangers: Caller[] = [
    ["another machine", HERE, "10.0.0.7"],
    ["an unknown address", HERE, ""],
    ["a foreign host name that resolves to this machine", "http://evil.example:8000/", "127.0.0.1"],
    ["a foreign page", HERE, "127.0.0.1", { Origin: "https://evil.example" }],
    ["a page without an origin", HERE, "127.0.0.1", { Origin: "null" }],
  ];
  for (const [what, ...caller] of strangers) {
    test(`sandbox_advance refuses ${what}`, async () => {
      const { error } = await advance(...caller);
      assert.match(error.message, /sandbox_advance is only for programs on the sandbox's own machine/);
    });
  }
});
