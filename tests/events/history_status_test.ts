import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createPruned, createRead } from "./history_stage.ts";
import { createFixture } from "./parts.ts";
import { createSimulatedNode } from "./simulated_node.ts";

describe("the status of history", () => {
  test("before the first commit holds nothing", async () => {
    const { history } = await createFixture(createSimulatedNode());
    assert.deepEqual(await history.status(), {
      epoch: 0,
      latestLedger: 0,
      scannedLedger: null,
      lagLedgers: null,
      held: [],
      gaps: [],
      undecodedEvents: 0,
    });
  });

  test("says how far the node is ahead of what is held", async () => {
    const { history, node, tip } = await createRead();
    tip.observe(node.latest + 7, node.closeTime + 35);
    const { latestLedger, scannedLedger, lagLedgers } = await history.status();
    assert.deepEqual([latestLedger, scannedLedger, lagLedgers], [node.latest + 7, node.latest, 7]);
  });

  test("begins where events are still held after old ones were forgotten", async () => {
    const { history, node, store, prune } = await createPruned();
    const { held } = await history.status();
    assert.deepEqual(held, [{ epoch: 0, fromLedger: 1_005, toLedger: node.latest }]);
    await prune(node.latest);
    assert.deepEqual(await store.readEvents({ limit: 9 }), []);
    assert.deepEqual((await history.status()).held, []);
  });

  test("follows what is forgotten of earlier epochs too, until nothing of one is left", async () => {
    const { history, node, watcher, prune } = await createPruned();
    node.reset(20);
    for (let ledger = 0; ledger < 3; ledger++) node.close({});
    await watcher.turn();
    const current = { epoch: 1, fromLedger: 20, toLedger: 23 };
    assert.deepEqual((await history.status()).held, [{ epoch: 0, fromLedger: 1_005, toLedger: 1_010 }, current]);
    await prune(1_007);
    assert.deepEqual((await history.status()).held, [{ epoch: 0, fromLedger: 1_008, toLedger: 1_010 }, current]);
    await prune(21, 1);
    assert.deepEqual((await history.status()).held, [{ ...current, fromLedger: 22 }]);
  });

  test("shows gaps, and what is held without them", async () => {
    const node = createSimulatedNode({ retention: 10 });
    const { history, watcher } = await createFixture(node);
    node.closeEmpty(4);
    await watcher.turn();
    for (let outages = 0; outages < 2; outages++) {
      node.closeEmpty(20);
      await watcher.turn();
    }
    const { held, gaps } = await history.status();
    assert.deepEqual(gaps.map(({ fromLedger, toLedger }) => [fromLedger, toLedger]), [[1_005, 1_014], [1_025, 1_034]]);
    assert.deepEqual(held.map(({ fromLedger, toLedger }) => [fromLedger, toLedger]), [
      [1_000, 1_004],
      [1_015, 1_024],
      [1_035, 1_044],
    ]);
  });
});
