import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createPruned, createRead } from "./history_stage.ts";
import { createFixture } from "./parts.ts";
import { createSimulatedNode } from "./simulated_node.ts";

describe("history of which old events were forgotten", () => {
  test("begins where all is held: what is kept for a delivery alone is not shown", async () => {
    const { history, hashes } = await createPruned({ owedLedger: 1_002 });
    for (const query of [{}, { fromLedger: 1 }, { fromLedger: 1_002 }, { fromLedger: 1_005 }]) {
      const page = await history.page({ ...query, limit: 100 });
      assert.deepEqual(page.events.map(({ txHash }) => txHash), hashes.slice(4));
    }
    const later = await history.page({ fromLedger: 1_007, limit: 100 });
    assert.deepEqual(later.events.map(({ txHash }) => txHash), hashes.slice(6));
  });

  test("a page tells the oldest ledger held, so that who comes back too late sees that something is missing", async () => {
    const { history, cursorAt, prune } = await createPruned();
    const page = await history.page({ cursor: cursorAt(1_002), limit: 2 });
    assert.deepEqual(page.events.map(({ ledger }) => ledger), [1_005, 1_006]);
    assert.equal(page.oldestLedger, 1_005);
    await prune(1_008);
    assert.equal((await history.page({ cursor: page.cursor, limit: 2 })).oldestLedger, 1_009);
  });

  test("the oldest ledger held is that of the first start while nothing was forgotten, and null before it", async () => {
    assert.equal((await (await createFixture(createSimulatedNode())).history.page({ limit: 1 })).oldestLedger, null);
    assert.equal((await (await createRead()).history.page({ limit: 1 })).oldestLedger, 1_000);
  });
});
