// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createFixture, empty, type Fixture, OTHER_CONTRACT, simulate, untilAtTip } from "./parts.ts";
import { type EventWish, NodeRefusal, type SimulatedNode } from "./simulated_node.ts";

const ASSET = "CAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD2KM";
const movements = { isOne: () => true, assetIn: () => ASSET };

/** The assets in the history, some polls after a ledger with these events has closed. */
async function assetsOf(fixture: Fixture, wishes: EventWish[] = [{}]) {
  await untilAtTip(fixture);
  fixture.network.close(...wishes);
  for (let polls = 0; polls < 6; polls++) {
    await fixture.turn();
    fixture.clock.pass(2_000);
  }
  const { events } = await fixture.history.page({ limit: 1_000 });
  return events.map(({ asset }) => asset);
}

/** Runs before each call of getTransactions, and may fail it. */
function beforeTransactions(node: SimulatedNode, then: (asked: number) => void): void {
  let asked = 0;
  node.beforeCall = (method) => {
    node.lag = 0;
    if (method === "getTransactions") then(++asked);
  };
}

describe("the watcher finds the asset of a movement", () => {
  test("when its transaction is found at once", async () => {
    const { network, node } = simulate();
    assert.deepEqual(await assetsOf(await createFixture(network, { nodes: [node], movements })), [ASSET]);
  });

  for (const code of [-32603, -32001, -32003]) {
    test(`at a node that fails once (${code})`, async () => {
      const { network, node } = simulate();
      beforeTransactions(node, (asked) => {
        if (asked === 1) throw new NodeRefusal(code, "database is locked");
      });
      assert.deepEqual(await assetsOf(await createFixture(network, { nodes: [node], movements })), [ASSET]);
    });
  }

  test("at another node when the first node never returns transactions", async () => {
    const { network, node } = simulate();
    beforeTransactions(node, () => {
      throw new NodeRefusal(-32603, "database is locked");
    });
    const fixture = await createFixture(network, { nodes: [node, network.node()], movements });
    assert.deepEqual(await assetsOf(fixture), [ASSET]);
    assert.ok(!fixture.kinds().includes("asset_unknown"));
  });

  test("when a load balancer uses a node that lags one ledger for some seconds", async () => {
    const { network, node } = simulate();
    beforeTransactions(node, (asked) => {
      if (asked <= 4) node.lag = 1;
    });
    assert.deepEqual(await assetsOf(await createFixture(network, { nodes: [node], movements })), [ASSET]);
  });

  test("for 90 movements in one ledger, at a node that returns at most 50 transactions per call", async () => {
    const { network, node } = simulate({ maxLimit: 50 });
    const assets = await assetsOf(await createFixture(network, { nodes: [node], movements }), empty(90));
    assert.deepEqual(assets, Array.from({ length: 90 }, () => ASSET));
  });

  test("with two calls when 250 other transactions lie between two movements", async () => {
    const { network, node } = simulate();
    const others = Array.from({ length: 250 }, () => ({ contractId: OTHER_CONTRACT }));
    const fixture = await createFixture(network, { nodes: [node], movements });
    assert.deepEqual(await assetsOf(fixture, [{}, ...others, {}]), [ASSET, ASSET]);
    assert.equal(node.calls.filter(({ method }) => method === "getTransactions").length, 2);
  });
});
