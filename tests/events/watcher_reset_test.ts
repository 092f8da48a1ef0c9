// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createFixture, type Fixture, hashesOf, readAll, restart, simulate, untilAtTip } from "./parts.ts";
import { rpcId } from "./simulated_node.ts";

describe("the watcher after a network reset", () => {
  test("starts a new epoch for a lower ledger with a later close time and another hash", async () => {
    const { network, node } = simulate({ first: 5_000 });
    network.close({});
    const fixture = await createFixture(network, { nodes: [node] });
    await untilAtTip(fixture);
    network.reset(10);
    network.close({}, {});
    await untilAtTip(fixture);
    const state = await fixture.state();
    assert.deepEqual([state.epoch, state.scannedLedger], [1, 11]);
    assert.deepEqual(state.formerEpochs, [{ epoch: 0, fromLedger: 5_000, toLedger: 5_001 }]);
    assert.deepEqual(await readAll(fixture.history), hashesOf(network.emitted));
    assert.deepEqual(fixture.kinds().filter((kind) => kind !== "gap"), ["reset"]);
    assert.deepEqual(state.gaps.map(({ reason, fromLedger }) => [reason, fromLedger]), [["reset", 5_000]]);
    const ids = (await fixture.history.page({ limit: 10 })).events.map(({ id }) => id);
    assert.deepEqual(ids, [rpcId(5_001, 1, 1, 0), `1-${rpcId(11, 1, 1, 0)}`, `1-${rpcId(11, 2, 1, 0)}`]);
  });

  test("detects by a ledger's hash that a network was reset to higher ledgers while the gateway was off (T8)", async () => {
    const { network, node } = simulate({ first: 1_000 });
    for (let ledger = 0; ledger < 15; ledger++) network.close({});
    const first = await createFixture(network, { nodes: [node] });
    for (let turns = 0; turns < 4; turns++) await untilAtTip(first);
    assert.ok((await first.state()).checkpoints.length > 0);
    await first.watcher.stop();
    network.reset(1_000);
    for (let ledger = 0; ledger < 30; ledger++) network.close({});
    const again = await restart(first);
    await untilAtTip(again);
    assert.equal((await again.state()).epoch, 1);
    assert.deepEqual(await readAll(again.history), hashesOf(network.emitted));
    // The rescan of these ledgers had not happened.
    assert.deepEqual(await again.gaps(), [[1_000, 1_015]]);
  });

  test("reads no page after a start until a node returns the hash", async () => {
    const { network, node } = simulate({ first: 1_000 });
    for (let ledger = 0; ledger < 15; ledger++) network.close({});
    const first = await createFixture(network, { nodes: [node] });
    for (let turns = 0; turns < 4; turns++) await untilAtTip(first);
    network.reset(1_000);
    for (let ledger = 0; ledger < 30; ledger++) network.close({});
    node.beforeCall = (method) => {
      if (method === "getLedgers") throw new Response("not now", { status: 503 });
    };
    const again = await restart(first);
    for (let turns = 0; turns < 4; turns++) {
      await again.watcher.pollFor(0);
      again.clock.pass(4_000);
      assert.equal((await readAll(again.history)).length, 15);
    }
    node.beforeCall = () => {};
    await untilAtTip(again);
    assert.equal((await again.state()).epoch, 1);
    assert.deepEqual(await readAll(again.history), hashesOf(network.emitted));
  });

  test("detects a reset to higher ledgers without a poll in between", async () => {
    const { network, node } = simulate({ first: 1_000 });
    for (let ledger = 0; ledger < 5; ledger++) network.close({});
    const fixture = await createFixture(network, { nodes: [node] });
    for (let turns = 0; turns < 4; turns++) await untilAtTip(fixture);
    network.reset(1_000);
    for (let ledger = 0; ledger < 10; ledger++) network.close({});
    await untilAtTip(fixture);
    assert.equal((await fixture.state()).epoch, 1);
    assert.deepEqual(await readAll(fixture.history), hashesOf(network.emitted));
  });

  test("records unread ledgers of the former epoch as a gap", async () => {
    const { network, node } = simulate({ first: 5_000 });
    for (let ledger = 0; ledger < 30; ledger++) network.close({});
    const fixture = await createFixture(network, { nodes: [node], pageEvents: 1 });
    await fixture.rpc.getHealth();
    fixture.clock.pass(1_500);
    await fixture.rpc.getHealth();
    await fixture.watcher.pollFor(0);
    const read = (await readAll(fixture.history)).length;
    network.reset(10);
    network.close({});
    await untilAtTip(fixture);
    const { gaps } = await fixture.state();
    assert.deepEqual(gaps.map(({ epoch, toLedger }) => [epoch, toLedger]), [[0, 5_030]]);
    assert.deepEqual(
      await readAll(fixture.history),
      [...hashesOf(network.emitted).slice(0, read), network.emitted.at(-1)!.txHash],
    );
  });

  test("detects a reset at an older node without getLedgers and with close times only in getLatestLedger", async () => {
    const { network, node } = simulate({ first: 5_000 });
    node.tellsCloseTime = { getEvents: false, getHealth: false, getLatestLedger: true };
    node.lacks.add("getLedgers");
    network.close({});
    const fixture = await createFixture(network, { nodes: [node] });
    await untilAtTip(fixture);
    assert.equal((await fixture.state()).latestLedgerCloseTime, network.closeTime);
    node.lag = 1;
    assert.equal((await fixture.turn()).outcome, "lagging");
    node.lag = 0;
    network.reset(10);
    network.close({});
    await untilAtTip(fixture);
    assert.equal((await fixture.state()).epoch, 1);
  });

  /** For a node that holds one ledger: the first turn finds pruned ledgers, the second confirms them. */
  async function closeTwice({ network, watcher }: Fixture): Promise<void> {
    for (const ledgers of [3, 7]) {
      for (let ledger = 0; ledger < ledgers; ledger++) network.close({});
      await watcher.pollFor(0);
    }
  }

  async function lagAndReturn(fixture: Fixture): Promise<void> {
    const { network, node, watcher, clock } = fixture;
    node.lag = 2;
    for (let turns = 0; turns < 10; turns++) {
      await watcher.pollFor(0);
      clock.pass(2_500);
    }
    node.lag = 0;
    network.close({});
    await untilAtTip(fixture);
  }

  test("does not detect a reset at a node that holds one ledger and lags after a pause", async () => {
    const { network, node } = simulate({ first: 1_000, retention: 1 });
    network.close();
    const fixture = await createFixture(network, { nodes: [node] });
    await untilAtTip(fixture);
    await closeTwice(fixture);
    await lagAndReturn(fixture);
    assert.equal((await fixture.state()).epoch, 0);
    const logged = await readAll(fixture.history);
    assert.deepEqual(logged, [...new Set(logged)]);
  });

  test("does not detect a second reset at a node that lags after the first", async () => {
    const { network, node } = simulate({ first: 5_000, retention: 1 });
    network.close({});
    const fixture = await createFixture(network, { nodes: [node] });
    await untilAtTip(fixture);
    network.reset(10);
    network.close();
    await untilAtTip(fixture);
    assert.equal((await fixture.state()).epoch, 1);
    await closeTwice(fixture);
    await lagAndReturn(fixture);
    assert.equal((await fixture.state()).epoch, 1);
    const logged = await readAll(fixture.history);
    assert.deepEqual(logged, [...new Set(logged)]);
  });

  test("continues in a new epoch after a sandbox reverts", async () => {
    const { network, node } = simulate();
    for (let ledger = 0; ledger < 5; ledger++) network.close({});
    network.closeEmpty(10);
    const fixture = await createFixture(network, { nodes: [node] });
    for (let turns = 0; turns < 4; turns++) await untilAtTip(fixture);
    network.goBack(8);
    network.close({});
    network.close({});
    for (let turns = 0; turns < 5; turns++) {
      await untilAtTip(fixture);
      fixture.clock.pass(2_500);
    }
    const { epoch, scannedLedger } = await fixture.state();
    assert.deepEqual([epoch, scannedLedger], [1, network.latest]);
    assert.deepEqual(await readAll(fixture.history), hashesOf(network.emitted));
  });
});
