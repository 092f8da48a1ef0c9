// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GatewayError } from "../../lib/errors.ts";
import { decodeCursor, encodeCursor } from "../../lib/events/cursor.ts";
import type { HistoryQuery } from "../../lib/events/history.ts";
import { createRead, DEVICE, MERCHANT, OTHER_DEVICE, refusedWith } from "./history_stage.ts";
import { createFixture, hashesOf, readAll, restart, simulate, threeTurns } from "./parts.ts";
import { CONTRACT } from "./simulated_node.ts";

describe("a page of history", () => {
  test("begins at the oldest stored event, or at fromLedger, in the order of the log", async () => {
    const { history, hashes } = await createRead();
    assert.deepEqual(hashesOf((await history.page({ limit: 3 })).events), hashes.slice(0, 3));
    assert.deepEqual(hashesOf((await history.page({ fromLedger: 1_004, limit: 2 })).events), hashes.slice(6, 8));
  });

  test("continues at its cursor, through all pages, without a repetition or an omission", async () => {
    const { history, hashes } = await createRead();
    for (const limit of [1, 3, 7, 20, 1_000]) assert.deepEqual(await readAll(history, limit), hashes);
  });

  test("in descending order leads from the newest event to the first, and ends there", async () => {
    const { history, hashes } = await createRead();
    for (const limit of [1, 6, 20, 50]) {
      const seen: string[] = [];
      let page = await history.page({ order: "desc", limit });
      for (let pages = 0; page.events.length > 0; pages++) {
        assert.ok(pages < 30);
        seen.push(...hashesOf(page.events));
        page = await history.page({ cursor: page.cursor, limit });
      }
      assert.deepEqual(seen, [...hashes].reverse());
    }
    const bounded = await history.page({ order: "desc", fromLedger: 1_009, limit: 10 });
    assert.deepEqual(hashesOf(bounded.events), hashes.slice(16).reverse());
    assert.deepEqual((await history.page({ cursor: bounded.cursor, limit: 10 })).events, []);
  });

  test("that is shorter than limit ends at the end of the log, and its cursor returns all later events", async () => {
    const fixture = await createRead();
    const { history, network } = fixture;
    let { cursor, events } = await history.page({ limit: 100 });
    assert.equal(events.length, 20);
    for (let asks = 0; asks < 3; asks++) {
      const again = await history.page({ cursor, limit: 100 });
      assert.deepEqual(again.events, []);
      cursor = again.cursor;
    }
    network.closeEmpty(3);
    network.close({}, {});
    await fixture.turn();
    const later = hashesOf((await history.page({ cursor, limit: 100 })).events);
    assert.deepEqual(later, hashesOf(network.emitted.slice(20)));
  });

  test("without a matching event still moves its cursor past all events that it read", async () => {
    const { history, store } = await createRead();
    const { events, cursor } = await history.page({ limit: 10, filter: { types: ["escrow.swept"] } });
    assert.deepEqual(events, []);
    const { storeId, sequence } = decodeCursor(cursor);
    assert.deepEqual({ storeId, sequence }, { storeId: store.id, sequence: 20 });
  });

  test("contains late events for a client that pages by cursor, after the operator corrects a contract id (T2)", async () => {
    const { network, node } = simulate();
    const wrong = "CB4DPMGOA374JIB2ZVD4AHW5GJKQUYNOFGRYNOJ75EFH2KCJSMHOWIRA";
    for (let ledger = 0; ledger < 85; ledger++) network.close({});
    const first = await createFixture(network, { nodes: [node], contractIds: [wrong] });
    await threeTurns(first);
    const { cursor } = await first.history.page({ limit: 1_000 });
    const corrected = await restart(first, { contractIds: [CONTRACT] });
    await threeTurns(corrected);
    const { events } = await corrected.history.page({ cursor, limit: 1_000 });
    assert.deepEqual(hashesOf(events), hashesOf(network.emitted));
  });

  test("is empty before the first event is read, and its cursor misses no event", async () => {
    const { network, node } = simulate();
    network.close({});
    const { history, turn } = await createFixture(network, { nodes: [node] });
    const empty = await history.page({ limit: 10 });
    assert.deepEqual([empty.events, empty.latestLedger, empty.oldestLedger], [[], 0, null]);
    await turn();
    const page = await history.page({ limit: 10, cursor: empty.cursor });
    assert.deepEqual([page.events.length, page.oldestLedger], [1, 1_000]);
  });

  test("from a ledger beyond the latest one is empty, and its cursor returns events from that ledger on", async () => {
    const { history, network, turn } = await createRead();
    let page = await history.page({ fromLedger: network.latest + 3, limit: 10 });
    assert.deepEqual(page.events, []);
    const seen: number[] = [];
    for (let ledger = 0; ledger < 5; ledger++) {
      network.close({});
      await turn();
      page = await history.page({ cursor: page.cursor, limit: 10 });
      seen.push(...page.events.map((event) => event.ledger));
    }
    assert.deepEqual(seen, [1_013, 1_014, 1_015]);
  });

  test("from the highest possible ledger numbers is empty, and its cursor remains valid", async () => {
    const { history } = await createRead();
    for (const fromLedger of [2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]) {
      const { events, cursor } = await history.page({ fromLedger, limit: 10 });
      assert.deepEqual(events, []);
      assert.deepEqual((await history.page({ cursor, limit: 10 })).events, []);
    }
  });

  test("contains only events that match every filter: types, device, merchant and transaction", async () => {
    const { history, hashes } = await createRead();
    const count = async (filter: HistoryQuery["filter"]) => (await history.page({ limit: 100, filter })).events.length;
    assert.equal(await count({ types: ["escrow.funded"] }), 10);
    assert.equal(await count({ types: ["escrow.funded", "payment.authorized"] }), 20);
    assert.equal(await count({ deviceHash: OTHER_DEVICE }), 5);
    assert.equal(await count({ merchant: MERCHANT }), 10);
    assert.equal(await count({ merchant: MERCHANT, deviceHash: DEVICE }), 5);
    assert.equal(await count({ merchant: MERCHANT, types: ["escrow.funded"] }), 0);
    assert.equal(await count({ txHash: hashes[7]! }), 1);
  });

  test("with a filter leads through all matching events", async () => {
    const { history } = await createRead();
    const seen: number[] = [];
    let cursor: string | undefined;
    while (true) {
      const page = await history.page({ filter: { deviceHash: OTHER_DEVICE }, limit: 2, cursor });
      seen.push(...page.events.map(({ ledger }) => ledger));
      if (page.events.length < 2) break;
      cursor = page.cursor;
    }
    assert.deepEqual(seen, [1_002, 1_004, 1_006, 1_008, 1_010]);
  });

  const good = { storeId: "000000000000", sequence: 0, floor: 0, ceiling: 0, mark: 0, order: "asc" } as const;
  const refusals: [string, object, RegExp][] = [
    ["fromLedger and cursor together", { fromLedger: 1, cursor: encodeCursor(good) }, /^fromLedger and cursor exclude/],
    ["a fromLedger of 0", { fromLedger: 0 }, /^fromLedger must be an integer from 1 to 4294967295, got 0/],
    ["a fractional fromLedger", { fromLedger: 1.5 }, /^fromLedger must be an integer from 1/],
    ["a toLedger of 0", { toLedger: 0 }, /^toLedger must be an integer from 1 to 4294967295, got 0/],
    [
      "a toLedger before fromLedger",
      { fromLedger: 5, toLedger: 4 },
      /^toLedger must not be before fromLedger 5, got 4$/,
    ],
    ["a limit of 0", { limit: 0 }, /^limit must be an integer from 1 to 1000, got 0/],
    ["a limit above 1 000", { limit: 1_001 }, /^limit must be an integer from 1 to 1000, got 1001/],
    ["an invalid cursor", { cursor: "garbage" }, /^cursor must be one from an earlier answer, got "garbage"/],
    ["a cursor of another store (T12)", { cursor: encodeCursor(good) }, /^cursor is of another store.*fromLedger/],
  ];
  for (const [what, query, message] of refusals) {
    test(`is refused for ${what}`, async () => {
      const { history } = await createFixture(simulate().network);
      await assert.rejects(history.page({ limit: 10, ...query }), refusedWith(message));
    });
  }

  test("is refused with the reason for a cursor ahead of the log, of the other order, or older than the oldest event (T12)", async () => {
    const { history, store, bareStore } = await createRead();
    const at = (sequence: number, order: "asc" | "desc" = "asc") =>
      encodeCursor({ storeId: store.id, sequence, floor: 0, ceiling: 0, mark: 0, order });
    const ahead = history.page({ cursor: at(21), limit: 1 });
    await assert.rejects(ahead, refusedWith(/^cursor is ahead of the log.*fromLedger/));
    await assert.rejects(history.page({ cursor: at(5), order: "desc", limit: 1 }), refusedWith(/^order must be asc/));
    const early = (await history.page({ limit: 4 })).cursor;
    await bareStore.events.forget({ upTo: 6, undelivered: [] });
    const late = history.page({ cursor: early, limit: 1 });
    await assert.rejects(late, refusedWith(/^cursor is older than the oldest stored event/));
    assert.equal((await history.page({ limit: 100 })).events.length, 14);
    assert.equal((await history.page({ fromLedger: 1, limit: 100 })).events.length, 14);
    assert.equal((await history.page({ cursor: at(6), limit: 100 })).events.length, 14);
    assert.equal((await history.page({ cursor: at(10, "desc"), limit: 100 })).events.length, 4);
    assert.deepEqual((await history.page({ cursor: at(4, "desc"), limit: 100 })).events, []);
  });
});

describe("one event", () => {
  test("is returned by its id, and any other id returns not_found", async () => {
    const { history } = await createRead();
    const { events: [first] } = await history.page({ limit: 1 });
    assert.deepEqual(await history.event(first!.id), first);
    for (const id of ["", "nonsense", first!.id.replace(/.$/, "7"), `1-${first!.id}`, "x".repeat(10_000)]) {
      await assert.rejects(history.event(id), (error) => error instanceof GatewayError && error.code === "not_found");
    }
  });
});
