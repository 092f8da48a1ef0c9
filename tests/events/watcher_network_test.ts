// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createFixture, empty, hashesOf, readAll, restart, simulate, untilAtTip } from "./parts.ts";
import { NodeRefusal } from "./simulated_node.ts";

describe("the watcher and a lagging node", () => {
  test("the watcher waits for a node that is behind the cursor, and detects no reset", async () => {
    const { network, node } = simulate();
    network.closeEmpty(100);
    network.close({});
    const fixture = await createFixture(network, { nodes: [node] });
    await fixture.turn();
    await fixture.turn();
    const before = await fixture.state();
    node.lag = 50;
    assert.equal((await fixture.turn()).outcome, "lagging");
    assert.deepEqual(await fixture.state(), before);
    node.lag = 0;
    network.close({});
    await untilAtTip(fixture);
    assert.deepEqual(await readAll(fixture.history), hashesOf(network.emitted));
    assert.deepEqual(fixture.problems, []);
  });

  test("the watcher reports a long lag once, and once when it ends, but no short lag", async () => {
    const { network, node } = simulate();
    network.closeEmpty(10);
    const { turn, clock, kinds } = await createFixture(network, { nodes: [node] });
    await turn();
    await turn();
    for (let times = 0; times < 5; times++) {
      node.lag = 5;
      await turn();
      clock.pass(3_000);
      node.lag = 0;
      await turn();
    }
    assert.deepEqual(kinds(), []);
    node.lag = 5;
    for (let seconds = 0; seconds < 25; seconds++) {
      await turn();
      clock.pass(1_000);
    }
    node.lag = 0;
    await turn();
    assert.deepEqual(kinds().slice(0, 2), ["node_lagging", "recovered"]);
  });
});

describe("the watcher and pruned ledgers", () => {
  test("ledgers pruned while the gateway was off become one gap after two polls some seconds apart", async () => {
    const { network, node } = simulate({ retention: 10 });
    network.close({});
    const fixture = await createFixture(network, { nodes: [node] });
    await untilAtTip(fixture);
    const scanned = network.latest;
    for (let ledger = 0; ledger < 30; ledger++) network.close({});
    assert.equal((await fixture.watcher.pollFor(0)).outcome, "lagging");
    assert.deepEqual(await fixture.gaps(), []);
    fixture.clock.pass(2_200);
    await untilAtTip(fixture);
    assert.deepEqual(await fixture.gaps(), [[scanned + 1, node.oldest - 1]]);
    const held = network.emitted.filter(({ ledger }) => ledger <= scanned || ledger >= node.oldest);
    assert.deepEqual(await readAll(fixture.history), hashesOf(held));
    assert.deepEqual(fixture.kinds(), ["gap"]);
  });

  test("one wrong answer creates no gap", async () => {
    const { network, node } = simulate();
    network.close({});
    const fixture = await createFixture(network, { nodes: [node] });
    await untilAtTip(fixture);
    network.close({}, {});
    let lies = 1;
    node.beforeCall = (method) => {
      if (method !== "getEvents" || lies-- <= 0) return;
      throw new NodeRefusal(
        -32600,
        `startLedger must be within the ledger range: ${network.latest} - ${network.latest + 9}`,
      );
    };
    await untilAtTip(fixture);
    assert.deepEqual(await fixture.gaps(), []);
    assert.deepEqual(await readAll(fixture.history), hashesOf(network.emitted));
  });

  for (const place of [0, 1]) {
    test(`ledgers that only the ${place === 0 ? "first" : "second"} node holds are a gap while that node is down`, async () => {
      const { network, node: lean } = simulate({ retention: 10 });
      const full = network.node();
      network.close({});
      const fixture = await createFixture(network, { nodes: place === 0 ? [full, lean] : [lean, full] });
      await untilAtTip(fixture);
      const scanned = (await fixture.state()).scannedLedger;
      full.beforeCall = () => {
        throw new Response("down", { status: 500 });
      };
      for (let ledger = 0; ledger < 50; ledger++) network.close({});
      await untilAtTip(fixture);
      const [[from, to]] = await fixture.gaps() as [[number, number]];
      assert.equal(from, scanned + 1);
      const { cursor } = await fixture.history.page({ limit: 1_000 });
      full.beforeCall = () => {};
      fixture.clock.pass(600_000);
      await untilAtTip(fixture);
      assert.deepEqual(await fixture.gaps(), []);
      const late = await fixture.history.page({ cursor, limit: 1_000 });
      const missed = network.emitted.filter(({ ledger }) => ledger >= from && ledger <= to);
      assert.deepEqual(hashesOf(late.events), hashesOf(missed), "what was missing comes next, and once");
      assert.ok(fixture.kinds().includes("repaired"));
    });
  }

  test("the watcher retries a gap that no node can fill every ten minutes", async () => {
    const { network, node } = simulate({ retention: 10 });
    network.close({});
    const fixture = await createFixture(network, { nodes: [node] });
    await untilAtTip(fixture);
    for (let ledger = 0; ledger < 30; ledger++) network.close({});
    await untilAtTip(fixture);
    const gaps = await fixture.gaps();
    assert.equal(gaps.length, 1);
    node.retention = 1_000;
    for (let minutes = 0; minutes < 9; minutes++) {
      fixture.clock.pass(60_000);
      await untilAtTip(fixture);
    }
    assert.deepEqual(await fixture.gaps(), gaps, "it has been asked just now");
    fixture.clock.pass(60_000);
    await untilAtTip(fixture);
    assert.deepEqual(await fixture.gaps(), []);
    assert.deepEqual((await readAll(fixture.history)).sort(), hashesOf(network.emitted));
  });

  test("the watcher retries a gap at every start", async () => {
    const { network, node } = simulate({ retention: 10 });
    network.close({});
    const fixture = await createFixture(network, { nodes: [node] });
    await untilAtTip(fixture);
    for (let ledger = 0; ledger < 30; ledger++) network.close({});
    await untilAtTip(fixture);
    assert.equal((await fixture.gaps()).length, 1);
    const again = await restart(fixture, { nodes: [network.node()] });
    await untilAtTip(again);
    assert.deepEqual(await again.gaps(), []);
    assert.deepEqual(new Set(await readAll(again.history)), new Set(hashesOf(network.emitted)));
  });

  test("a ledger that was only partly read before it was pruned belongs to the gap", async () => {
    const { network, node } = simulate({ retention: 10 });
    const fixture = await createFixture(network, { nodes: [node], pageEvents: 4 });
    await untilAtTip(fixture);
    const half = network.close(...empty(10));
    let pages = 0;
    node.beforeCall = (method) => {
      if (method === "getEvents" && pages++ > 0) throw new NodeRefusal(-32603, "broke off");
    };
    await fixture.turn();
    node.beforeCall = () => {};
    network.closeEmpty(20);
    await untilAtTip(fixture);
    assert.deepEqual(await fixture.gaps(), [[half, node.oldest - 1]]);
    assert.deepEqual(await readAll(fixture.history), hashesOf(network.emitted).slice(0, 4));
  });
});
