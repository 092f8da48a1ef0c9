// needs: once
import { strict as assert } from "node:assert";
import { describe, test } from "node:test";
import { Keypair } from "@stellar/stellar-sdk";
import { createRpcServer } from "../../../lib/sandbox/rpc/server.ts";
import { sandboxRpcOfFile } from "./sandbox_rpc.ts";

const sandbox = sandboxRpcOfFile();

const latest = async () => (await sandbox.call("getLatestLedger")).result;

describe("the sandbox's own methods", () => {
  test("sandbox_advance moves ledgers and clock, and the node stays healthy", async () => {
    const before = await latest();
    const { result } = await sandbox.call("sandbox_advance", { seconds: 3_600 });
    const after = await latest();
    assert.deepEqual(result, {
      ledgers: 720,
      latestLedger: before.sequence + 720,
      latestLedgerCloseTime: after.closeTime,
      hashChain: "whole",
    });
    assert.ok(Number(after.closeTime) >= Number(before.closeTime) + 3_600);
    assert.equal((await sandbox.call("getHealth")).result.status, "healthy");
    assert.equal((await sandbox.call("sandbox_advance", { ledgers: 5 })).result.ledgers, 5);
  });

  test("getLedgers goes through a million ledgers advanced over without a hole", async () => {
    const { sequence } = await latest();
    await sandbox.call("sandbox_advance", { ledgers: 1_000_000 });
    const { result } = await sandbox.call("getLedgers", { startLedger: sequence + 700, pagination: { limit: 200 } });
    const sequences = result.ledgers.map((ledger: { sequence: number }) => ledger.sequence);
    assert.deepEqual(sequences, Array.from({ length: 200 }, (_, n) => sequence + 700 + n));
    assert.equal((await sandbox.call("getEvents", { startLedger: sequence + 5_000 })).error, undefined);
  });

  test("sandbox_snapshot and sandbox_revert take and go back to a name", async () => {
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

  test("what is wrong with their params is said", async () => {
    const wrong: [string, Record<string, unknown>, RegExp][] = [
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
      const { error } = await sandbox.call(method, params);
      assert.equal(error?.code, -32602, method);
      assert.match(error.message, message);
    }
  });

  test("they are for programs on this machine: no stranger, no name that leads here, no page", async () => {
    const server = createRpcServer({ network: sandbox.network, version: "0", now: Date.now });
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "sandbox_advance", params: { ledgers: 1 } });
    const ask = async (url: string, remoteAddress: string, headers: Record<string, string> = {}) => {
      const init = { method: "POST", body, headers: { "Content-Type": "application/json", ...headers } };
      return await (await server.fetch(new Request(url, init), { remoteAddress })).json();
    };
    const [here, page] = ["http://127.0.0.1:8000/", { Origin: "https://evil.example" }];
    for (
      const [url, remoteAddress, headers] of [
        [here, "10.0.0.7"],
        [here, ""],
        ["http://evil.example:8000/", "127.0.0.1"],
        [here, "127.0.0.1", page],
        [here, "127.0.0.1", { Origin: "null" }],
      ] as const
    ) {
      const { error } = await ask(url, remoteAddress, headers);
      assert.match(error.message, /sandbox_advance is only for programs on the sandbox's own machine/);
    }
    for (
      const [url, remoteAddress, headers] of [
        [here, "127.0.0.1"],
        ["http://localhost:8000/", "::ffff:127.0.0.1"],
        ["http://[::1]:8000/", "::1"],
        [here, "127.0.0.1", { Origin: "http://localhost:3000" }],
      ] as const
    ) {
      assert.equal((await ask(url, remoteAddress, headers)).result?.ledgers, 1);
    }
  });
});
