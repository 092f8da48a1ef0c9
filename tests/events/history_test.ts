import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GatewayError } from "../../lib/errors.ts";
import { createHistory } from "../../lib/events/history.ts";
import { createLedgerView } from "../../lib/stellar/ledger/ledger_view.ts";
import { endOfLedger } from "../../lib/events/position.ts";
import { encodeCursor } from "../../lib/events/cursor.ts";
import { createRead, DEVICE, MERCHANT, OTHER_DEVICE } from "./history_stage.ts";
import { createFixture, readAll } from "./parts.ts";
import { CONTRACT, createSimulatedNode, rpcId } from "./simulated_node.ts";

describe("a page of history", () => {
  test("has the public form of an event: the common fields and those of its type, no others", async () => {
    const node = createSimulatedNode({ closeTime: 1_767_225_595 });
    node.close({ type: "payment.claimed", merchant: MERCHANT });
    const { watcher, history } = await createFixture(node);
    await watcher.turn();
    assert.deepEqual((await history.page({ limit: 1 })).events, [{
      id: rpcId(1_001, 1, 1, 0),
      type: "payment.claimed",
      contractId: CONTRACT,
      ledger: 1_001,
      ledgerClosedAt: "2026-01-01T00:00:00Z",
      txHash: "1".padStart(64, "0"),
      merchant: MERCHANT,
    }]);
  });

  test("starts at the oldest event held when neither fromLedger nor cursor is given", async () => {
    const { history, hashes } = await createRead();
    const page = await history.page({ limit: 3 });
    assert.deepEqual(page.events.map(({ txHash }) => txHash), hashes.slice(0, 3));
  });

  test("starts with the first event of fromLedger", async () => {
    const { history, hashes } = await createRead();
    const page = await history.page({ fromLedger: 1_004, limit: 2 });
    assert.deepEqual(page.events.map(({ txHash }) => txHash), hashes.slice(6, 8));
  });

  test("goes on at its cursor, through all pages, without a repetition or an omission", async () => {
    const { history, hashes } = await createRead();
    for (const limit of [1, 3, 7, 20, 1_000]) assert.deepEqual(await readAll(history, limit), hashes);
  });

  test("says the newest ledger seen", async () => {
    const { history, node, tip } = await createRead();
    assert.equal((await history.page({ limit: 1 })).latestLedger, node.latest);
    tip.observe(node.latest + 5, node.closeTime + 25);
    assert.equal((await history.page({ limit: 1 })).latestLedger, node.latest + 5);
  });

  test("shorter than limit has reached what is held, and its cursor hears all that comes later", async () => {
    const { history, node, watcher } = await createRead();
    let { cursor, events } = await history.page({ limit: 100 });
    assert.equal(events.length, 20);
    for (let asks = 0; asks < 3; asks++) {
      const again = await history.page({ cursor, limit: 100 });
      assert.deepEqual(again.events, []);
      cursor = again.cursor;
    }
    node.closeEmpty(3);
    node.close({}, {});
    await watcher.turn();
    const later = (await history.page({ cursor, limit: 100 })).events.map(({ txHash }) => txHash);
    assert.deepEqual(later, node.emitted.slice(20).map(({ txHash }) => txHash));
  });

  test("that just fits its limit has a cursor that goes on", async () => {
    const { history, node, watcher } = await createRead();
    const { cursor } = await history.page({ limit: 20 });
    assert.deepEqual((await history.page({ cursor, limit: 20 })).events, []);
    node.close({});
    await watcher.turn();
    assert.equal((await history.page({ cursor, limit: 20 })).events.length, 1);
  });

  test("without a match still moves its cursor past all that was looked through", async () => {
    const { history, store } = await createRead();
    const { events, cursor } = await history.page({ limit: 10, types: ["escrow.swept"] });
    assert.deepEqual(events, []);
    assert.equal(cursor, encodeCursor(endOfLedger(0, (await store.watcherState())!.scannedLedger)));
  });

  test("before the first event was read is empty, and its cursor misses nothing", async () => {
    const node = createSimulatedNode();
    node.close({});
    const { history, watcher } = await createFixture(node);
    const empty = await history.page({ limit: 10 });
    assert.deepEqual([empty.events, empty.latestLedger], [[], 0]);
    await watcher.turn();
    assert.equal((await history.page({ limit: 10, cursor: empty.cursor })).events.length, 1);
  });

  test("from a ledger beyond the tip is empty and waits there", async () => {
    const { history, node, watcher } = await createRead();
    let page = await history.page({ fromLedger: node.latest + 3, limit: 10 });
    assert.deepEqual(page.events, []);
    const expected: string[] = [];
    for (let ledger = 0; ledger < 5; ledger++) {
      node.close({});
      if (node.latest >= 1_013) expected.push(node.emitted.at(-1)!.txHash);
      await watcher.turn();
      page = await history.page({ cursor: page.cursor, limit: 10 });
      assert.deepEqual(page.events.map(({ txHash }) => txHash), expected.slice(-1));
    }
    assert.equal(expected.length, 3);
  });

  test("from the highest numbers a ledger could have is empty, and its cursor stays good", async () => {
    const { history } = await createRead();
    for (const fromLedger of [2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]) {
      const { events, cursor } = await history.page({ fromLedger, limit: 10 });
      assert.deepEqual(events, []);
      const page = { events: [], cursor, latestLedger: 1_010, oldestLedger: 1_000 };
      assert.deepEqual(await history.page({ cursor, limit: 10 }), page);
    }
  });

  test("filters by types, device and merchant, all of which have to match", async () => {
    const { history } = await createRead();
    const count = async (filter: object) => (await history.page({ limit: 100, ...filter })).events.length;
    assert.equal(await count({ types: ["escrow.funded"] }), 10);
    assert.equal(await count({ types: ["escrow.funded", "payment.authorized"] }), 20);
    assert.equal(await count({ deviceHash: OTHER_DEVICE }), 5);
    assert.equal(await count({ merchant: MERCHANT }), 10);
    assert.equal(await count({ merchant: MERCHANT, deviceHash: DEVICE }), 5);
    assert.equal(await count({ merchant: MERCHANT, types: ["escrow.funded"] }), 0);
  });

  test("pages of a filtered history are complete too", async () => {
    const { history } = await createRead();
    const seen: number[] = [];
    let cursor: string | undefined;
    while (true) {
      const page = await history.page({ deviceHash: OTHER_DEVICE, limit: 2, cursor });
      seen.push(...page.events.map(({ ledger }) => ledger));
      if (page.events.length < 2) break;
      cursor = page.cursor;
    }
    assert.deepEqual(seen, [1_002, 1_004, 1_006, 1_008, 1_010]);
  });

  const refusals: [string, object, RegExp][] = [
    ["fromLedger and cursor together", {
      fromLedger: 1,
      cursor: encodeCursor(endOfLedger(0, 5)),
    }, /fromLedger and cursor exclude each other/],
    ["a fromLedger of 0", { fromLedger: 0 }, /fromLedger must be an integer from 1 to 4294967295, got 0/],
    ["a fromLedger of half a ledger", { fromLedger: 1.5 }, /fromLedger must be an integer from 1/],
    ["a fromLedger no ledger can have", { fromLedger: 2 ** 32 }, /fromLedger must be an integer from 1 to 4294967295/],
    ["a limit of 0", { limit: 0 }, /limit must be an integer from 1 to 1000, got 0/],
    ["a limit above 1 000", { limit: 1_001 }, /limit must be an integer from 1 to 1000, got 1001/],
    ["garbage for a cursor", { cursor: "garbage" }, /cursor must be one from an earlier answer, got "garbage"/],
  ];
  for (const [what, query, message] of refusals) {
    test(`is refused for ${what}`, async () => {
      const { history } = await createFixture(createSimulatedNode());
      await assert.rejects(
        history.page({ limit: 10, ...query }),
        (error) => error instanceof GatewayError && error.code === "invalid_request" && message.test(error.message),
      );
    });
  }
});

describe("history over a reset of the network", () => {
  async function createReset() {
    const fixture = await createRead();
    const { node, watcher, history } = fixture;
    const middle = (await history.page({ limit: 15 })).cursor;
    node.reset(20);
    for (let ledger = 0; ledger < 3; ledger++) node.close({});
    await watcher.turn();
    return { ...fixture, middle, hashes: node.emitted.map(({ txHash }) => txHash) };
  }

  test("a cursor of the old epoch goes on through its events and then those of the new one", async () => {
    const { history, middle, hashes } = await createReset();
    const page = await history.page({ cursor: middle, limit: 100 });
    assert.deepEqual(page.events.map(({ txHash }) => txHash), hashes.slice(15));
  });

  test("a cursor that waited at the old tip hears the new epoch from its first event", async () => {
    const { history, node, watcher } = await createRead();
    const { cursor } = await history.page({ fromLedger: node.latest + 100, limit: 10 });
    node.reset(20);
    node.close({});
    await watcher.turn();
    assert.equal((await history.page({ cursor, limit: 10 })).events.length, 1);
  });

  test("fromLedger means the ledger of the current epoch", async () => {
    const { history, hashes } = await createReset();
    const page = await history.page({ fromLedger: 22, limit: 100 });
    assert.deepEqual(page.events.map(({ txHash }) => txHash), hashes.slice(21));
    assert.deepEqual((await history.page({ fromLedger: 1_004, limit: 100 })).events, []);
  });

  test("without a start the oldest events held come first, from whichever epoch", async () => {
    const { history, hashes } = await createReset();
    assert.deepEqual(await readAll(history, 4), hashes);
  });

  test("status tells the held ledgers of each epoch", async () => {
    const { history } = await createReset();
    for (let asks = 0; asks < 2; asks++) {
      const { epoch, latestLedger, held } = await history.status();
      assert.deepEqual([epoch, latestLedger], [1, 23]);
      assert.deepEqual(held, [
        { epoch: 0, fromLedger: 1_001, toLedger: 1_010 },
        { epoch: 1, fromLedger: 20, toLedger: 23 },
      ]);
    }
  });
});

describe("the newest ledger a page tells", () => {
  test("is the committed one where another gateway's watcher has seen a reset this one has not", async () => {
    const { node, watcher, store } = await createRead();
    const tip = createLedgerView({ sequence: 1_010, closeTime: node.closeTime });
    node.reset(20);
    await watcher.turn();
    assert.equal((await createHistory({ store, tip }).page({ limit: 1 })).latestLedger, 20);
  });

  test("is the tip's where the tip has seen a reset that is not committed yet", async () => {
    const { history, tip, node } = await createRead();
    assert.equal(tip.observe(20, node.closeTime + 1_000), "reset");
    assert.equal((await history.page({ limit: 1 })).latestLedger, 20);
  });
});
