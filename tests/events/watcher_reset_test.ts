// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createFixture, type Fixture, hashesOf, readAll, restart, simulate, untilAtTip } from "./parts.ts";
import { rpcId } from "./simulated_node.ts";

describe("the watcher and a reset network", () => {
  test("a lower ledger that closed later, and a changed hash: a new epoch from its oldest ledger", async () => {
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

  test("while the gateway was off, to ledgers that are higher already: noticed by a ledger's hash (T8)", async () => {
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
    // None of them was scanned twice.
    assert.deepEqual(await again.gaps(), [[1_000, 1_015]]);
  });

  test("no page is read after a start until a node returns the hash, for 20 s", async () => {
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

  test("without a poll for a minute, to ledgers that are higher by then", async () => {
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

  test("unread ledgers of the old network are a gap of the old epoch, and no job", async () => {
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

  test("an older node, without hashes and with close times in getLatestLedger only, is recognised all the same", async () => {
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

  /** Of a node that holds one ledger: what it pruned is noticed at the first turn, and certain at the second. */
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

  test("a node that lags after a pause, and holds no more than a ledger, shows no reset", async () => {
    const { network, node } = simulate({ first: 1_000, retention: 1 });
    network.close();
    const fixture = await createFixture(network, { nodes: [node] });
    await untilAtTip(fixture);
    await closeTwice(fixture);
    await lagAndReturn(fixture);
    assert.equal((await fixture.state()).epoch, 0);
    const told = await readAll(fixture.history);
    assert.deepEqual(told, [...new Set(told)]);
  });

  test("a node that lags after a reset that is written down shows no other one", async () => {
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
    const told = await readAll(fixture.history);
    assert.deepEqual(told, [...new Set(told)]);
  });

  test("after a sandbox reverts the watcher reads on from there, in a new epoch", async () => {
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
