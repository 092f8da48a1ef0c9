// needs: once
import { strict as assert } from "node:assert";
import { describe, test } from "node:test";
import { Contract, StrKey, xdr } from "@stellar/stellar-sdk";
import { sandboxRpcOfFile } from "./sandbox_rpc.ts";

const sandbox = sandboxRpcOfFile();
const HASH = "ab".repeat(32);

async function refusal(method: string, params: unknown): Promise<{ code: number; message: string }> {
  const { error } = await sandbox.call(method, params);
  assert.ok(error, `${method} was not refused`);
  return error;
}

/** A LedgerKey of contract data whose own key has this many bytes. */
const dataKey = (bytes: number) =>
  xdr.LedgerKey.contractData(
    new xdr.LedgerKeyContractData({
      contract: new Contract(StrKey.encodeContract(new Uint8Array(32))).address().toScAddress(),
      key: xdr.ScVal.scvBytes(new Uint8Array(bytes)),
      durability: xdr.ContractDataDurability.persistent,
    }),
  ).toXdr("base64");

describe("with its exact code and text,", () => {
  const anyLedger = { startLedger: 1_000_000_000 };
  type Case = [what: string, params: unknown, message: string | RegExp];
  function refuses(method: string, code: number, cases: Case[]): void {
    for (const [what, params, message] of cases) {
      test(`${method} refuses ${what}: ${code}`, async () => {
        const error = await refusal(method, params);
        assert.equal(error.code, code);
        if (typeof message === "string") assert.equal(error.message, message);
        else assert.match(error.message, message);
      });
    }
  }

  refuses("getTransaction", -32602, [
    ["positional params", [HASH], /^invalid parameters: expected an object/],
    ["a hash of the wrong length", { hash: "abc" }, "unexpected hash length (3)"],
    ["no hash", {}, "unexpected hash length (0)"],
    ["a hash that is not hex", { hash: "z".repeat(64) }, /^incorrect hash: /],
    ["a hash that is a number", { hash: 5 }, "invalid parameters: hash must be a string; got a number"],
  ]);
  refuses("getLedgerEntries", -32602, [
    ["an unknown xdrFormat", { keys: [], xdrFormat: "hex" }, /^got 'hex': expected base64, json/],
    ["a key of over 16 KB", { keys: [dataKey(16 * 1024)] }, /^key at index 0 has 16436 bytes, more than the 16384 /],
    ["201 keys", { keys: Array(201).fill("") }, "key count (201) exceeds maximum supported (200)"],
    ["a key that is not base64", { keys: ["*"] }, "cannot unmarshal key value * at index 0"],
    ["a key that is not a LedgerKey", { keys: ["AAAA"] }, "cannot unmarshal key value AAAA at index 0"],
    ["keys that are a string", { keys: "AAAA" }, "invalid parameters: keys must be an array; got a string"],
    ["a key that is a number", { keys: [1] }, "invalid parameters: keys[0] must be a string; got a number"],
  ]);
  refuses("getLedgerEntries", -32603, [
    ["no keys", { keys: [] }, "could not query captive core: no keys specified in request"],
    [
      "a key twice",
      { keys: [dataKey(1), dataKey(2), dataKey(1)] },
      "could not query captive core: http request failed with non-200 status code (404): " +
      "the key at index 2 is the one at index 0",
    ],
  ]);
  refuses("sendTransaction", -32602, [
    ["an envelope that is not XDR", { transaction: "AAAA" }, "invalid_xdr"],
    ["an envelope that is not base64", { transaction: "%" }, "invalid_xdr"],
    ["no envelope", {}, "invalid_xdr"],
  ]);
  refuses("getEvents", -32602, [
    ["no startLedger", { filters: [] }, "startLedger must be positive"],
    ["startLedger 0", { startLedger: 0 }, "startLedger must be positive"],
    ["a negative startLedger", { startLedger: -1 }, /^invalid parameters: startLedger must be an integer/],
    ["a fractional startLedger", { startLedger: 1.5 }, /^invalid parameters: startLedger must be an integer/],
    ["a startLedger beyond 32 bits", { startLedger: 2 ** 32 }, /^invalid parameters: startLedger must be/],
    ["a startLedger in a string", { startLedger: "1" }, /^invalid parameters: startLedger must be a number/],
    ["too many events at once", { startLedger: 1, pagination: { limit: 10001 } }, "limit must not exceed 10000"],
    ["an invalid cursor", { pagination: { cursor: "x" } }, "invalid parameters: invalid event id x"],
    [
      "a cursor and a range",
      { startLedger: 1, pagination: { cursor: "0000000021474840576-0000000000" } },
      "ledger ranges and cursor cannot both be set",
    ],
    ["six filters", { startLedger: 1, filters: Array(6).fill({}) }, "maximum 5 filters per request"],
    ["pagination that is a number", { startLedger: 1, pagination: 1 }, /: pagination must be an object/],
  ]);
  refuses("getTransactions", -32600, [
    ["too many transactions at once", { pagination: { cursor: "1", limit: 201 } }, "limit must not exceed 200"],
    [
      "a cursor and a ledger",
      { startLedger: 1, pagination: { cursor: "1" } },
      /^startLedger \(1\) and cursor \(1\) cannot/,
    ],
    [
      "a ledger beyond the latest",
      anyLedger,
      /^start ledger \(1000000000\) must be between the oldest ledger: \d+ and the latest ledger: \d+ for this rpc instance$/,
    ],
    [
      "a ledger beyond the latest and an unknown xdrFormat",
      { ...anyLedger, xdrFormat: "hex" },
      /^start ledger \(1000000000\) must be .*\ngot 'hex': expected base64, json for optional 'xdrFormat'$/,
    ],
  ]);
  refuses("getTransactions", -32602, [
    ["an invalid transaction cursor", { pagination: { cursor: "abc" } }, /^cursor must be a TOID/],
    ["a cursor before the oldest ledger", { pagination: { cursor: "1" } }, /^database does not contain .* ledger: 0$/],
  ]);
  refuses("getLedgers", -32600, [
    ["a ledger beyond the latest", anyLedger, /^start ledger \(1000000000\) must be between the oldest ledger: /],
    ["an unknown xdrFormat", { startLedger: 1, xdrFormat: "hex" }, /^got 'hex': expected base64, json for optional/],
  ]);
  refuses("getLedgers", -32602, [
    ["an invalid ledger cursor", { pagination: { cursor: "x" } }, /^cursor \('x'\) must be between the oldest ledger/],
  ]);
  refuses("simulateTransaction", -32602, [
    ["instructionLeeway in a string", { resourceConfig: { instructionLeeway: "1" } }, /parameters: instructionLeeway/],
  ]);
  refuses("getFortune", -32601, [["the request, because no such method exists", {}, "method not found"]]);

  test("getEvents refuses a startLedger or a cursor out of range, and names the range: -32600", async () => {
    const { sequence: latest } = sandbox.network.latestLedger();
    const { sequence: oldest } = sandbox.network.oldestLedger();
    const message = `startLedger must be within the ledger range: ${oldest} - ${latest}`;
    assert.deepEqual(await refusal("getEvents", { startLedger: latest + 1 }), { code: -32600, message });
    const beyond = `${(BigInt(latest + 1) << 32n)}-0`;
    assert.deepEqual(await refusal("getEvents", { pagination: { cursor: beyond } }), { code: -32600, message });
    assert.equal((await sandbox.call("getEvents", { startLedger: latest })).error, undefined);
    assert.equal((await sandbox.call("getEvents", { startLedger: oldest })).error, undefined);
  });

  test("getLedgerEntries refuses the key of a TTL entry: -32602", async () => {
    const key = xdr.LedgerKey.ttl(new xdr.LedgerKeyTtl({ keyHash: new Uint8Array(32) })).toXdr("base64");
    const message = "ledger ttl entries cannot be queried directly";
    assert.deepEqual(await refusal("getLedgerEntries", { keys: [key] }), { code: -32602, message });
  });
});

describe("a method treats null params", () => {
  test("as absent, because clients of typed languages send them", async () => {
    // A node with an old latest ledger is not healthy.
    sandbox.network.closeLedger();
    const { sequence } = sandbox.network.latestLedger();
    const nulls = { xdrFormat: null, pagination: null };
    assert.equal((await sandbox.call("getHealth", null)).result.status, "healthy");
    const keys = [dataKey(4)];
    assert.deepEqual((await sandbox.call("getLedgerEntries", { keys, xdrFormat: null })).result.entries, []);
    const noKeys = { code: -32603, message: "could not query captive core: no keys specified in request" };
    assert.deepEqual(await refusal("getLedgerEntries", { keys: null }), noKeys);
    assert.equal((await sandbox.call("getTransaction", { hash: HASH, xdrFormat: null })).result.status, "NOT_FOUND");
    const events = await sandbox.call("getEvents", { ...nulls, startLedger: sequence, endLedger: null, filters: null });
    assert.equal(events.result.latestLedger, sequence);
    const limited = { startLedger: sequence, filters: [], pagination: { cursor: null, limit: null } };
    assert.equal((await sandbox.call("getEvents", limited)).result.latestLedger, sequence);
    const page = await sandbox.call("getTransactions", { startLedger: sequence, ...nulls });
    assert.equal(page.result.latestLedger, sequence);
  });
});
