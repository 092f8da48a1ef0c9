// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createRead } from "./history_stage.ts";
import { createFixture, simulate, threeTurns } from "./parts.ts";

describe("the status of history", () => {
  test("is empty before the first commit", async () => {
    const { history } = await createFixture(simulate().network);
    assert.deepEqual(await history.status(), {
      ...{ epoch: 0, latestLedger: 0, scannedLedger: null, scannedCloseTime: null, lagLedgers: null },
      ...{ held: [], gaps: [], undecodedEvents: 0, clockDisagreesBySeconds: null },
    });
  });

  test("reports how far the log lags behind the network", async () => {
    const { history, network, rpc } = await createRead();
    network.closeEmpty(7);
    await rpc.getHealth();
    const { latestLedger, scannedLedger, lagLedgers } = await history.status();
    assert.deepEqual([latestLedger, scannedLedger, lagLedgers], [network.latest, network.latest - 7, 7]);
  });

  test("shows ranges that begin after deleted events", async () => {
    const { history, network, bareStore } = await createRead();
    await bareStore.events.forget({ upTo: 7, undelivered: [] });
    assert.deepEqual((await history.status()).held, [{ epoch: 0, fromLedger: 1_005, toLedger: network.latest }]);
    assert.equal((await history.page({ limit: 1 })).oldestLedger, 1_005);
    await bareStore.events.forget({ upTo: 20, undelivered: [] });
    assert.deepEqual((await history.status()).held, []);
  });

  test("shows gaps, and the held ranges without them", async () => {
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
    const ranges = [[1_000, 1_004], [1_015, 1_024], [1_035, 1_044]];
    assert.deepEqual(held.map(({ fromLedger, toLedger }) => [fromLedger, toLedger]), ranges);
  });
});
