// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createRead, refusedWith } from "./history_stage.ts";
import { hashesOf } from "./parts.ts";

describe("a page of history up to a ledger", () => {
  test("contains no later event, in ascending and descending order", async () => {
    const { history, hashes } = await createRead();
    const query = { fromLedger: 1_003, toLedger: 1_005, limit: 100 };
    assert.deepEqual(hashesOf((await history.page(query)).events), hashes.slice(4, 10));
    assert.deepEqual(hashesOf((await history.page({ ...query, order: "desc" })).events), hashes.slice(4, 10).reverse());
  });

  test("has a cursor that is valid for its toLedger only", async () => {
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
      const message = new RegExp(`^toLedger must be 1005, as for this cursor.*got ${got}. Begin again with fromLedger`);
      const refused = { code: "invalid_request", message, param: "toLedger" };
      await assert.rejects(history.page({ cursor, toLedger, limit: 4 }), refused);
    }
  });

  test("is refused when its cursor began at a later ledger than toLedger", async () => {
    const { history } = await createRead();
    for (const order of ["asc", "desc"] as const) {
      const { cursor } = await history.page({ fromLedger: 1_005, order, limit: 2 });
      const earlier = history.page({ cursor, toLedger: 1_004, limit: 2 });
      await assert.rejects(earlier, refusedWith(/^toLedger must not be before fromLedger 1005, got 1004$/));
      assert.equal((await history.page({ cursor, toLedger: 1_005, limit: 2 })).events.length, order === "asc" ? 0 : 2);
    }
  });

  test("continues with its cursor also when toLedger is above every ledger", async () => {
    const { history, hashes } = await createRead();
    const query = { toLedger: 2 ** 32 - 1, limit: 15 };
    const { cursor } = await history.page(query);
    assert.deepEqual(hashesOf((await history.page({ ...query, cursor })).events), hashes.slice(15));
  });

  test("in descending order stays below its toLedger, also when the next request has only the cursor", async () => {
    const { history, hashes } = await createRead();
    const { cursor } = await history.page({ order: "desc", toLedger: 1_005, limit: 4 });
    for (const toLedger of [undefined, 1_005]) {
      const { events } = await history.page({ cursor, toLedger, limit: 4 });
      assert.deepEqual(hashesOf(events), hashes.slice(2, 6).reverse());
    }
    await assert.rejects(history.page({ cursor, toLedger: 1_006, limit: 4 }), refusedWith(/^toLedger must be 1005/));
  });

  test("accepts a toLedger with a later cursor, and the next cursor requires it", async () => {
    const { history, hashes } = await createRead();
    const first = await history.page({ limit: 4 });
    const second = await history.page({ cursor: first.cursor, toLedger: 1_003, limit: 4 });
    assert.deepEqual(hashesOf(second.events), hashes.slice(4, 6));
    await assert.rejects(history.page({ cursor: second.cursor, limit: 4 }), refusedWith(/^toLedger must be 1003/));
  });
});
