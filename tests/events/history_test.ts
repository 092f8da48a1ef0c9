import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GatewayError } from "../../lib/errors.ts";
import { decodeCursor, encodeCursor } from "../../lib/events/cursor.ts";
import type { HistoryQuery } from "../../lib/events/history.ts";
import { createFixture, type Fixture, hashesOf, readAll, restart, simulate } from "./parts.ts";
import { CONTRACT } from "./simulated_node.ts";

const DEVICE = "ab".repeat(32);
const OTHER_DEVICE = "cd".repeat(32);
const MERCHANT = "GBZH7S5NC57XNHKHJ75C5DGMI3SP6ZFJLIKW74K6OSMA5E5DFMYBDD2Z";

/** Ten ledgers with two events each, all of them read. */
async function createRead() {
  const { network, node } = simulate();
  for (let ledger = 0; ledger < 10; ledger++) {
    network.close({ type: "escrow.funded", deviceHash: DEVICE }, {
      type: "payment.authorized",
      deviceHash: ledger % 2 === 0 ? DEVICE : OTHER_DEVICE,
      merchant: MERCHANT,
    });
  }
  const fixture = await createFixture(network, { nodes: [node] });
  await fixture.turn();
  return { ...fixture, hashes: hashesOf(network.emitted) };
}

async function threeTurns({ turn, clock }: Pick<Fixture, "turn" | "clock">): Promise<void> {
  for (let turns = 0; turns < 3; turns++) {
    await turn();
    clock.pass(2_500);
  }
}

const refusedWith = (message: RegExp) => (error: unknown) =>
  error instanceof GatewayError && error.code === "invalid_request" && message.test(error.message);

describe("a page of history", () => {
  test("begins at the first event held, or at fromLedger, in the order of the log", async () => {
    const { history, hashes } = await createRead();
    assert.deepEqual(hashesOf((await history.page({ limit: 3 })).events), hashes.slice(0, 3));
    assert.deepEqual(hashesOf((await history.page({ fromLedger: 1_004, limit: 2 })).events), hashes.slice(6, 8));
  });

  test("goes on at its cursor, through all pages, without a repetition or an omission", async () => {
    const { history, hashes } = await createRead();
    for (const limit of [1, 3, 7, 20, 1_000]) assert.deepEqual(await readAll(history, limit), hashes);
  });

  test("descending walks from the newest event down to the first, and ends there", async () => {
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

  test("toLedger bounds it, both ways", async () => {
    const { history, hashes } = await createRead();
    const query = { fromLedger: 1_003, toLedger: 1_005, limit: 100 };
    assert.deepEqual(hashesOf((await history.page(query)).events), hashes.slice(4, 10));
    assert.deepEqual(hashesOf((await history.page({ ...query, order: "desc" })).events), hashes.slice(4, 10).reverse());
  });

  test("with a toLedger has a cursor that goes on with that one alone: it has passed over what is beyond", async () => {
    const { history, hashes } = await createRead();
    const query = { toLedger: 1_005, limit: 4 };
    const seen: string[] = [];
    let page = await history.page({ ...query, fromLedger: 1_003 });
    for (; page.events.length > 0; page = await history.page({ ...query, cursor: page.cursor })) {
      seen.push(...hashesOf(page.events));
    }
    assert.deepEqual(seen, hashes.slice(4, 10));
    const { cursor } = page;
    for (const [toLedger, got] of [[undefined, "none"], [1_006, "1006"], [1_004, "1004"]] as const) {
      await assert.rejects(
        history.page({ cursor, toLedger, limit: 4 }),
        (error) =>
          refusedWith(new RegExp(`^toLedger must be 1005, as it was for this cursor.*fromLedger.*got ${got}$`))(
            error,
          ) &&
          (error as GatewayError).param === "toLedger",
      );
    }
  });

  test("whose cursor began at a later ledger than its toLedger is refused", async () => {
    const { history } = await createRead();
    for (const order of ["asc", "desc"] as const) {
      const { cursor } = await history.page({ fromLedger: 1_005, order, limit: 2 });
      await assert.rejects(
        history.page({ cursor, toLedger: 1_004, limit: 2 }),
        refusedWith(/^toLedger must not be before fromLedger 1005, got 1004$/),
      );
      assert.equal((await history.page({ cursor, toLedger: 1_005, limit: 2 })).events.length, order === "asc" ? 0 : 2);
    }
  });

  test("with a toLedger that no ledger could have goes on with it, too", async () => {
    const { history, hashes } = await createRead();
    const query = { toLedger: 2 ** 32 - 1, limit: 15 };
    const { cursor } = await history.page(query);
    assert.deepEqual(hashesOf((await history.page({ ...query, cursor })).events), hashes.slice(15));
  });

  test("descending goes on to no later ledger than its toLedger, by its cursor alone as well", async () => {
    const { history, hashes } = await createRead();
    const { cursor } = await history.page({ order: "desc", toLedger: 1_005, limit: 4 });
    for (const toLedger of [undefined, 1_005]) {
      const { events } = await history.page({ cursor, toLedger, limit: 4 });
      assert.deepEqual(hashesOf(events), hashes.slice(2, 6).reverse());
    }
    await assert.rejects(history.page({ cursor, toLedger: 1_006, limit: 4 }), refusedWith(/^toLedger must be 1005/));
  });

  test("may be given a toLedger later, which its cursor has from then on", async () => {
    const { history, hashes } = await createRead();
    const first = await history.page({ limit: 4 });
    const second = await history.page({ cursor: first.cursor, toLedger: 1_003, limit: 4 });
    assert.deepEqual(hashesOf(second.events), hashes.slice(4, 6));
    await assert.rejects(history.page({ cursor: second.cursor, limit: 4 }), refusedWith(/^toLedger must be 1003/));
  });

  test("shorter than limit has reached what is held, and its cursor hears all that comes later", async () => {
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

  test("without a match still moves its cursor past all that was looked through", async () => {
    const { history, store } = await createRead();
    const { events, cursor } = await history.page({ limit: 10, filter: { types: ["escrow.swept"] } });
    assert.deepEqual(events, []);
    const { storeId, sequence } = decodeCursor(cursor);
    assert.deepEqual({ storeId, sequence }, { storeId: store.id, sequence: 20 });
  });

  test("a reader that pages by cursor sees what becomes known late: a contract's id that was corrected (T2)", async () => {
    const { network, node } = simulate();
    const wrong = "CB4DPMGOA374JIB2ZVD4AHW5GJKQUYNOFGRYNOJ75EFH2KCJSMHOWIRA";
    for (let ledger = 0; ledger < 85; ledger++) network.close({});
    const first = await createFixture(network, { nodes: [node], contractIds: [wrong] });
    await threeTurns(first);
    const { cursor } = await first.history.page({ limit: 1_000 });
    const corrected = await restart(first, { contractIds: [CONTRACT] });
    await threeTurns(corrected);
    assert.deepEqual(
      hashesOf((await corrected.history.page({ cursor, limit: 1_000 })).events),
      hashesOf(network.emitted),
    );
  });

  test("before the first event was read is empty, and its cursor misses nothing", async () => {
    const { network, node } = simulate();
    network.close({});
    const { history, turn } = await createFixture(network, { nodes: [node] });
    const empty = await history.page({ limit: 10 });
    assert.deepEqual([empty.events, empty.latestLedger, empty.oldestLedger], [[], 0, null]);
    await turn();
    const page = await history.page({ limit: 10, cursor: empty.cursor });
    assert.deepEqual([page.events.length, page.oldestLedger], [1, 1_000]);
  });

  test("from a ledger beyond the tip is empty and waits there", async () => {
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

  test("from the highest numbers a ledger could have is empty, and its cursor stays good", async () => {
    const { history } = await createRead();
    for (const fromLedger of [2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]) {
      const { events, cursor } = await history.page({ fromLedger, limit: 10 });
      assert.deepEqual(events, []);
      assert.deepEqual((await history.page({ cursor, limit: 10 })).events, []);
    }
  });

  test("filters by types, device, merchant and transaction, all of which have to match", async () => {
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

  test("pages of a filtered history are complete too", async () => {
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
    ["a fromLedger of half a ledger", { fromLedger: 1.5 }, /^fromLedger must be an integer from 1/],
    ["a toLedger of 0", { toLedger: 0 }, /^toLedger must be an integer from 1 to 4294967295, got 0/],
    [
      "a toLedger before fromLedger",
      { fromLedger: 5, toLedger: 4 },
      /^toLedger must not be before fromLedger 5, got 4$/,
    ],
    ["a limit of 0", { limit: 0 }, /^limit must be an integer from 1 to 1000, got 0/],
    ["a limit above 1 000", { limit: 1_001 }, /^limit must be an integer from 1 to 1000, got 1001/],
    ["garbage for a cursor", { cursor: "garbage" }, /^cursor must be one from an earlier answer, got "garbage"/],
    ["a cursor of another store (T12)", { cursor: encodeCursor(good) }, /^cursor is of another store.*fromLedger/],
  ];
  for (const [what, query, message] of refusals) {
    test(`is refused for ${what}`, async () => {
      const { history } = await createFixture(simulate().network);
      await assert.rejects(history.page({ limit: 10, ...query }), refusedWith(message));
    });
  }

  test("a cursor ahead of the log, of the other order, or older than what is held is refused, saying so (T12)", async () => {
    const { history, store, bareStore } = await createRead();
    const at = (sequence: number, order: "asc" | "desc" = "asc") =>
      encodeCursor({ storeId: store.id, sequence, floor: 0, ceiling: 0, mark: 0, order });
    await assert.rejects(
      history.page({ cursor: at(21), limit: 1 }),
      refusedWith(/^cursor is ahead of the log.*fromLedger/),
    );
    await assert.rejects(history.page({ cursor: at(5), order: "desc", limit: 1 }), refusedWith(/^order must be asc/));
    const early = (await history.page({ limit: 4 })).cursor;
    await bareStore.events.forget({ upTo: 6, undelivered: [] });
    await assert.rejects(history.page({ cursor: early, limit: 1 }), refusedWith(/^cursor is older than what is held/));
    assert.equal((await history.page({ limit: 100 })).events.length, 14);
    assert.equal((await history.page({ fromLedger: 1, limit: 100 })).events.length, 14);
    assert.equal((await history.page({ cursor: at(6), limit: 100 })).events.length, 14);
    assert.equal((await history.page({ cursor: at(10, "desc"), limit: 100 })).events.length, 4);
    assert.deepEqual((await history.page({ cursor: at(4, "desc"), limit: 100 })).events, []);
  });
});

describe("one event", () => {
  test("is answered by its id, and not_found where it is not held", async () => {
    const { history } = await createRead();
    const { events: [first] } = await history.page({ limit: 1 });
    assert.deepEqual(await history.event(first!.id), first);
    for (const id of ["", "nonsense", first!.id.replace(/.$/, "7"), `1-${first!.id}`, "x".repeat(10_000)]) {
      await assert.rejects(history.event(id), (error) => error instanceof GatewayError && error.code === "not_found");
    }
  });
});

describe("history over a reset of the network", () => {
  async function createReset() {
    const fixture = await createRead();
    const { network, history } = fixture;
    const middle = (await history.page({ limit: 15 })).cursor;
    const waiting = (await history.page({ fromLedger: network.latest + 100, limit: 10 })).cursor;
    const bounded = (await history.page({ toLedger: 1_005, limit: 4 })).cursor;
    const down = (await history.page({ order: "desc", toLedger: 1_005, limit: 4 })).cursor;
    network.reset(20);
    for (let ledger = 0; ledger < 3; ledger++) network.close({});
    await threeTurns(fixture);
    await threeTurns(fixture);
    return { ...fixture, middle, waiting, bounded, down, hashes: hashesOf(network.emitted) };
  }

  test("a cursor of the old epoch goes on through its events and then those of the new one", async () => {
    const { history, middle, waiting, hashes } = await createReset();
    assert.deepEqual(hashesOf((await history.page({ cursor: middle, limit: 100 })).events), hashes.slice(15));
    assert.equal((await history.page({ cursor: waiting, limit: 10 })).events.length, 3);
    assert.deepEqual(await readAll(history, 4), hashes);
  });

  test("fromLedger and toLedger mean ledgers of the current epoch", async () => {
    const { history, hashes } = await createReset();
    assert.deepEqual(hashesOf((await history.page({ fromLedger: 22, limit: 100 })).events), hashes.slice(21));
    assert.deepEqual((await history.page({ fromLedger: 1_004, limit: 100 })).events, []);
    assert.deepEqual(hashesOf((await history.page({ fromLedger: 20, toLedger: 21, limit: 9 })).events), [hashes[20]]);
  });

  test("a toLedger of before means another ledger now: its ascending cursor is refused, a descending one goes on", async () => {
    const { history, bounded, down, hashes } = await createReset();
    for (const toLedger of [1_005, 21, undefined]) {
      await assert.rejects(
        history.page({ cursor: bounded, toLedger, limit: 4 }),
        refusedWith(
          /^cursor is of a page up to ledger 1005 of the network before its reset: begin again with fromLedger$/,
        ),
      );
    }
    assert.deepEqual(hashesOf((await history.page({ cursor: down, limit: 4 })).events), hashes.slice(2, 6).reverse());
  });

  test("status and pages tell the ledgers that are held, of each epoch", async () => {
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

describe("the status of history", () => {
  test("before the first commit holds nothing", async () => {
    const { history } = await createFixture(simulate().network);
    assert.deepEqual(await history.status(), {
      epoch: 0,
      latestLedger: 0,
      scannedLedger: null,
      lagLedgers: null,
      held: [],
      gaps: [],
      undecodedEvents: 0,
      clockDisagreesBySeconds: null,
    });
  });

  test("says how far the network is ahead of what is held", async () => {
    const { history, network, rpc } = await createRead();
    network.closeEmpty(7);
    await rpc.getHealth();
    const { latestLedger, scannedLedger, lagLedgers } = await history.status();
    assert.deepEqual([latestLedger, scannedLedger, lagLedgers], [network.latest, network.latest - 7, 7]);
  });

  test("begins after what was forgotten", async () => {
    const { history, network, bareStore } = await createRead();
    await bareStore.events.forget({ upTo: 7, undelivered: [] });
    assert.deepEqual((await history.status()).held, [{ epoch: 0, fromLedger: 1_005, toLedger: network.latest }]);
    assert.equal((await history.page({ limit: 1 })).oldestLedger, 1_005);
    await bareStore.events.forget({ upTo: 20, undelivered: [] });
    assert.deepEqual((await history.status()).held, []);
  });

  test("shows gaps, and what is held without them", async () => {
    const { network, node } = simulate({ retention: 10 });
    const fixture = await createFixture(network, { nodes: [node] });
    network.closeEmpty(4);
    await threeTurns(fixture);
    for (let outages = 0; outages < 2; outages++) {
      network.closeEmpty(20);
      await threeTurns(fixture);
    }
    const { held, gaps } = await fixture.history.status();
    assert.deepEqual(gaps.map(({ fromLedger, toLedger }) => [fromLedger, toLedger]), [[1_005, 1_014], [1_025, 1_034]]);
    assert.deepEqual(held.map(({ fromLedger, toLedger }) => [fromLedger, toLedger]), [
      [1_000, 1_004],
      [1_015, 1_024],
      [1_035, 1_044],
    ]);
  });
});
