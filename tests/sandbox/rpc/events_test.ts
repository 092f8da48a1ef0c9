// needs: once
import { strict as assert } from "node:assert";
import { before, describe, test } from "node:test";
import { Keypair } from "@stellar/stellar-sdk";
import { sandboxRpcOfFile } from "./sandbox_rpc.ts";

// Friendbot publishes a fee event and a transfer event for each account.
const ACCOUNTS = 5;
const SCAN_LIMIT = 10_000;

const sandbox = sandboxRpcOfFile();
let firstLedger: number;

interface Page {
  events: { id: string; ledger: number; type: string; topic: string[]; txHash: string }[];
  cursor: string;
  latestLedger: number;
}

async function getEvents(params: Record<string, unknown>): Promise<Page> {
  const { result, error } = await sandbox.call("getEvents", params);
  assert.equal(error, undefined);
  return result;
}

before(async () => {
  firstLedger = sandbox.network.latestLedger().sequence + 1;
  for (let i = 0; i < ACCOUNTS; i++) await sandbox.rpc.requestAirdrop(Keypair.random().publicKey());
});

describe("getEvents", () => {
  test("ends before endLedger, with a cursor at the end of the searched ledgers", async () => {
    const page = await getEvents({ startLedger: firstLedger, endLedger: firstLedger + 1 });
    assert.ok(page.events.length > 0);
    assert.ok(page.events.every(({ ledger }) => ledger === firstLedger));
    assert.equal(BigInt(page.cursor.split("-")[0]!) >> 32n, BigInt(firstLedger));
    const next = await getEvents({ pagination: { cursor: page.cursor, limit: 1 } });
    assert.ok(next.events[0]!.ledger > firstLedger);
  });

  test("returns no event for an endLedger that is not after startLedger", async () => {
    assert.deepEqual((await getEvents({ startLedger: firstLedger, endLedger: firstLedger })).events, []);
    assert.deepEqual((await getEvents({ startLedger: firstLedger, endLedger: 1 })).events, []);
  });

  test("returns an empty page with a cursor at the latest ledger when no event matches", async () => {
    const page = await getEvents({ startLedger: firstLedger, filters: [{ type: "system" }] });
    assert.deepEqual(page.events, []);
    assert.equal(BigInt(page.cursor.split("-")[0]!) >> 32n, BigInt(page.latestLedger));
    const again = await getEvents({ pagination: { cursor: page.cursor }, filters: [{ type: "system" }] });
    assert.ok(again.cursor >= page.cursor);
  });

  test("returns 100 events a page unless the request has a limit", async () => {
    await Promise.all(Array.from({ length: 120 }, () => sandbox.network.fund(Keypair.random().publicKey())));
    assert.equal((await getEvents({ startLedger: firstLedger })).events.length, 100);
    assert.equal((await getEvents({ startLedger: firstLedger, pagination: { limit: 0 } })).events.length, 100);
    assert.ok((await getEvents({ startLedger: firstLedger, pagination: { limit: 10_000 } })).events.length > 120);
  });

  test("searches 10,000 ledgers a call, and the cursor of an empty page continues after them", async () => {
    const empty = sandbox.network.closeLedger().sequence;
    for (let i = 0; i < SCAN_LIMIT; i++) sandbox.network.closeLedger();
    const funded = await sandbox.network.fund(Keypair.random().publicKey());
    const first = await getEvents({ startLedger: empty });
    assert.deepEqual(first.events, []);
    assert.equal(first.cursor, `${(BigInt(empty + SCAN_LIMIT) << 32n) - 1n}-4294967295`.padStart(30, "0"));
    const second = await getEvents({ pagination: { cursor: first.cursor } });
    assert.equal(second.events[0]!.txHash, funded.hash);
  });
});
