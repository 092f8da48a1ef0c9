// needs: once
import { strict as assert } from "node:assert";
import { after, before, describe, test } from "node:test";
import { Contract, StrKey, xdr } from "@stellar/stellar-sdk";
import { openSandboxRpc, type SandboxRpc } from "./sandbox_rpc.ts";

let sandbox: SandboxRpc;
const HASH = "ab".repeat(32);

before(async () => {
  sandbox = await openSandboxRpc();
});
after(() => sandbox.stop());

async function refusal(method: string, params: unknown): Promise<{ code: number; message: string }> {
  const { error } = await sandbox.call(method, params);
  assert.ok(error, `${method} was not refused`);
  return error;
}

/** The key of contract data that is a LedgerKey, but for its length: of so many bytes and what is around them. */
const dataKey = (bytes: number) =>
  xdr.LedgerKey.contractData(
    new xdr.LedgerKeyContractData({
      contract: new Contract(StrKey.encodeContract(new Uint8Array(32))).address().toScAddress(),
      key: xdr.ScVal.scvBytes(new Uint8Array(bytes)),
      durability: xdr.ContractDataDurability.persistent,
    }),
  ).toXdr("base64");

describe("params are refused with their exact code and text:", () => {
  const anyLedger = { startLedger: 1_000_000_000 };
  const cases: [string, string, unknown, number, string | RegExp][] = [
    ["positional params", "getTransaction", [HASH], -32602, /^invalid parameters: expected an object/],
    ["a hash of the wrong length", "getTransaction", { hash: "abc" }, -32602, "unexpected hash length (3)"],
    ["no hash", "getTransaction", {}, -32602, "unexpected hash length (0)"],
    ["a hash that is not hex", "getTransaction", { hash: "z".repeat(64) }, -32602, /^incorrect hash: /],
    [
      "a hash that is a number",
      "getTransaction",
      { hash: 5 },
      -32602,
      "invalid parameters: hash must be a string, got a number",
    ],
    [
      "an unknown xdrFormat",
      "getLedgerEntries",
      { keys: [], xdrFormat: "hex" },
      -32602,
      /^got 'hex': expected base64, json/,
    ],
    [
      "no keys",
      "getLedgerEntries",
      { keys: [] },
      -32603,
      "could not query captive core: no keys specified in request",
    ],
    [
      "a key twice",
      "getLedgerEntries",
      { keys: [dataKey(1), dataKey(2), dataKey(1)] },
      -32603,
      "could not query captive core: http request failed with non-200 status code (404): " +
      "the key at index 2 is the one at index 0",
    ],
    [
      "a key of more than 16 KB",
      "getLedgerEntries",
      { keys: [dataKey(16 * 1024)] },
      -32602,
      "key at index 0 has 16436 bytes, more than the 16384 a key may have",
    ],
    [
      "201 keys",
      "getLedgerEntries",
      { keys: Array(201).fill("") },
      -32602,
      "key count (201) exceeds maximum supported (200)",
    ],
    [
      "a key that is not base64",
      "getLedgerEntries",
      { keys: ["*"] },
      -32602,
      "cannot unmarshal key value * at index 0",
    ],
    [
      "a key that is no LedgerKey",
      "getLedgerEntries",
      { keys: ["AAAA"] },
      -32602,
      "cannot unmarshal key value AAAA at index 0",
    ],
    [
      "keys that are a string",
      "getLedgerEntries",
      { keys: "AAAA" },
      -32602,
      "invalid parameters: keys must be an array, got a string",
    ],
    [
      "a key that is a number",
      "getLedgerEntries",
      { keys: [1] },
      -32602,
      "invalid parameters: keys[0] must be a string, got a number",
    ],
    ["an envelope that is not XDR", "sendTransaction", { transaction: "AAAA" }, -32602, "invalid_xdr"],
    ["an envelope that is not base64", "sendTransaction", { transaction: "%" }, -32602, "invalid_xdr"],
    ["no envelope", "sendTransaction", {}, -32602, "invalid_xdr"],
    ["no startLedger", "getEvents", { filters: [] }, -32602, "startLedger must be positive"],
    ["startLedger 0", "getEvents", { startLedger: 0 }, -32602, "startLedger must be positive"],
    [
      "a negative startLedger",
      "getEvents",
      { startLedger: -1 },
      -32602,
      /^invalid parameters: startLedger must be an integer/,
    ],
    [
      "a fractional startLedger",
      "getEvents",
      { startLedger: 1.5 },
      -32602,
      /^invalid parameters: startLedger must be an integer/,
    ],
    [
      "a startLedger beyond 32 bits",
      "getEvents",
      { startLedger: 2 ** 32 },
      -32602,
      /^invalid parameters: startLedger must be/,
    ],
    [
      "a startLedger in a string",
      "getEvents",
      { startLedger: "1" },
      -32602,
      /^invalid parameters: startLedger must be a number/,
    ],
    [
      "too many events at once",
      "getEvents",
      { startLedger: 1, pagination: { limit: 10001 } },
      -32602,
      "limit must not exceed 10000",
    ],
    [
      "a cursor that is none",
      "getEvents",
      { pagination: { cursor: "x" } },
      -32602,
      "invalid parameters: invalid event id x",
    ],
    [
      "a cursor and a range",
      "getEvents",
      { startLedger: 1, pagination: { cursor: "0000000021474840576-0000000000" } },
      -32602,
      "ledger ranges and cursor cannot both be set",
    ],
    [
      "six filters",
      "getEvents",
      { startLedger: 1, filters: Array(6).fill({}) },
      -32602,
      "maximum 5 filters per request",
    ],
    [
      "pagination that is a number",
      "getEvents",
      { startLedger: 1, pagination: 1 },
      -32602,
      /^invalid parameters: pagination must be an object/,
    ],
    [
      "too many transactions at once",
      "getTransactions",
      { pagination: { cursor: "1", limit: 201 } },
      -32600,
      "limit must not exceed 200",
    ],
    [
      "a transaction cursor that is none",
      "getTransactions",
      { pagination: { cursor: "abc" } },
      -32602,
      /^cursor must be a TOID/,
    ],
    [
      "a transaction cursor and a ledger",
      "getTransactions",
      { startLedger: 1, pagination: { cursor: "1" } },
      -32600,
      "startLedger (1) and cursor (1) cannot both be set",
    ],
    [
      "a transaction cursor before what is held",
      "getTransactions",
      { pagination: { cursor: "1" } },
      -32602,
      "database does not contain metadata for ledger: 0",
    ],
    [
      "a ledger beyond the latest",
      "getTransactions",
      anyLedger,
      -32600,
      /^start ledger \(1000000000\) must be between the oldest ledger: \d+ and the latest ledger: \d+ for this rpc instance$/,
    ],
    [
      "a ledger beyond the latest, for ledgers",
      "getLedgers",
      anyLedger,
      -32600,
      /^start ledger \(1000000000\) must be between the oldest ledger: /,
    ],
    [
      "an unknown xdrFormat of ledgers",
      "getLedgers",
      { startLedger: 1, xdrFormat: "hex" },
      -32600,
      "got 'hex': expected base64, json for optional 'xdrFormat'",
    ],
    [
      "a ledger that is not held and an unknown xdrFormat",
      "getTransactions",
      { ...anyLedger, xdrFormat: "hex" },
      -32600,
      /^start ledger \(1000000000\) must be .*\ngot 'hex': expected base64, json for optional 'xdrFormat'$/,
    ],
    [
      "a ledger cursor that is none",
      "getLedgers",
      { pagination: { cursor: "x" } },
      -32602,
      /^cursor \('x'\) must be between the oldest ledger/,
    ],
    [
      "instructionLeeway in a string",
      "simulateTransaction",
      { resourceConfig: { instructionLeeway: "1" } },
      -32602,
      /^invalid parameters: instructionLeeway/,
    ],
    ["a method nobody has", "getFortune", {}, -32601, "method not found"],
  ];
  for (const [name, method, params, code, message] of cases) {
    test(`${name} (${method})`, async () => {
      const error = await refusal(method, params);
      assert.equal(error.code, code);
      if (typeof message === "string") assert.equal(error.message, message);
      else assert.match(error.message, message);
    });
  }

  test("a ledger or an event cursor out of range, naming the range", async () => {
    const { sequence: latest } = sandbox.network.latestLedger();
    const { sequence: oldest } = sandbox.network.oldestLedger();
    const message = `startLedger must be within the ledger range: ${oldest} - ${latest}`;
    assert.deepEqual(await refusal("getEvents", { startLedger: latest + 1 }), { code: -32600, message });
    const beyond = `${(BigInt(latest + 1) << 32n)}-0`;
    assert.deepEqual(await refusal("getEvents", { pagination: { cursor: beyond } }), { code: -32600, message });
    assert.equal((await sandbox.call("getEvents", { startLedger: latest })).error, undefined);
    assert.equal((await sandbox.call("getEvents", { startLedger: oldest })).error, undefined);
  });

  test("the key of a TTL entry (getLedgerEntries)", async () => {
    const key = xdr.LedgerKey.ttl(new xdr.LedgerKeyTtl({ keyHash: new Uint8Array(32) })).toXdr("base64");
    const message = "ledger ttl entries cannot be queried directly";
    assert.deepEqual(await refusal("getLedgerEntries", { keys: [key] }), { code: -32602, message });
  });
});

describe("explicit nulls are absent params", () => {
  test("as clients of typed languages send them", async () => {
    // Where its latest ledger is old a node is not healthy.
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
    assert.equal(
      (await sandbox.call("getTransactions", { startLedger: sequence, ...nulls })).result.latestLedger,
      sequence,
    );
  });
});
