// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createRead, refusedWith } from "./history_stage.ts";
import { hashesOf, readAll, threeTurns } from "./parts.ts";

describe("history over a reset of the network", () => {
  async function createReset() {
    const fixture = await createRead();
    const { network, history } = fixture;
    const middle = (await history.page({ limit: 15 })).cursor;
    const waiting = (await history.page({ fromLedger: network.latest + 100, limit: 10 })).cursor;
    const bounded = (await history.page({ toLedger: 1_005, limit: 4 })).cursor;
    const down = (await history.page({ order: "desc", toLedger: 1_005, limit: 4 })).cursor;
    // Long enough for the read ledgers to be settled.
    fixture.clock.pass(130_000);
    network.close();
    await threeTurns(fixture);
    network.reset(20);
    for (let ledger = 0; ledger < 3; ledger++) network.close({});
    await threeTurns(fixture);
    await threeTurns(fixture);
    return { ...fixture, middle, waiting, bounded, down, hashes: hashesOf(network.emitted) };
  }

  test("a cursor of the old epoch pages through its events and then those of the new one", async () => {
    const { history, middle, waiting, hashes } = await createReset();
    assert.deepEqual(hashesOf((await history.page({ cursor: middle, limit: 100 })).events), hashes.slice(15));
    assert.equal((await history.page({ cursor: waiting, limit: 10 })).events.length, 3);
    assert.deepEqual(await readAll(history, 4), hashes);
  });

  test("fromLedger and toLedger select ledgers of the current epoch", async () => {
    const { history, hashes } = await createReset();
    assert.deepEqual(hashesOf((await history.page({ fromLedger: 22, limit: 100 })).events), hashes.slice(21));
    assert.deepEqual((await history.page({ fromLedger: 1_004, limit: 100 })).events, []);
    assert.deepEqual(hashesOf((await history.page({ fromLedger: 20, toLedger: 21, limit: 9 })).events), [hashes[20]]);
  });

  test("after a reset the gateway refuses an ascending cursor with the old toLedger, and accepts a descending one", async () => {
    const { history, bounded, down, hashes } = await createReset();
    const why = /^cursor is of a page up to ledger 1005 of the network before its reset; begin again with fromLedger$/;
    for (const toLedger of [1_005, 21, undefined]) {
      await assert.rejects(history.page({ cursor: bounded, toLedger, limit: 4 }), refusedWith(why));
    }
    assert.deepEqual(hashesOf((await history.page({ cursor: down, limit: 4 })).events), hashes.slice(2, 6).reverse());
  });

  test("the status shows the stored ledgers of each epoch, and a page the oldest ledger of the current epoch", async () => {
    const { history } = await createReset();
    const { epoch, latestLedger, held } = await history.status();
    assert.deepEqual([epoch, latestLedger], [1, 23]);
    assert.deepEqual(held, [
      { epoch: 0, fromLedger: 1_000, toLedger: 1_010 },
      { epoch: 1, fromLedger: 20, toLedger: 23 },
    ]);
    assert.equal((await history.page({ limit: 1 })).oldestLedger, 20);
  });
});
