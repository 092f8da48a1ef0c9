import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GatewayError } from "../../lib/errors.ts";
import { createFixture, readAll } from "./parts.ts";
import { createSimulatedNode, type EventWish, rpcId } from "./simulated_node.ts";

const events = (count: number): EventWish[] => Array.from({ length: count }, () => ({}));
const hashesOf = (emitted: { txHash: string }[]) => emitted.map(({ txHash }) => txHash);

describe("the watcher tells gaps, lag and resets apart", () => {
  test("what the node pruned while the gateway was off is one gap, committed with the first events after it", async () => {
    const node = createSimulatedNode({ retention: 10 });
    node.close({});
    const fixture = await createFixture(node);
    await fixture.watcher.turn();
    const scanned = node.latest;
    for (let ledger = 0; ledger < 30; ledger++) node.close({});
    assert.equal((await fixture.watcher.turn()).outcome, "at_tip");
    const gap = { epoch: 0, fromLedger: scanned + 1, toLedger: node.oldest - 1, noticedAt: "2026-01-01T00:00:00Z" };
    assert.deepEqual(await fixture.store.gaps(), [gap]);
    assert.deepEqual(fixture.slices[1]!.gaps, [gap]);
    assert.ok(fixture.slices[1]!.events.length > 0);
    const held = node.emitted.filter(({ ledger }) => ledger <= scanned || ledger >= node.oldest);
    assert.deepEqual(await readAll(fixture.history), hashesOf(held));
    assert.deepEqual(fixture.problems.map(({ kind }) => kind), ["gap"]);
  });

  test("a gap that grows while it is noticed stays one gap", async () => {
    const node = createSimulatedNode({ retention: 10 });
    const { watcher, store } = await createFixture(node);
    await watcher.turn();
    const scanned = node.latest;
    node.closeEmpty(30);
    let closes = 2;
    node.beforeCall = (method) => {
      if (method === "getHealth" && closes-- > 0) node.closeEmpty(3);
    };
    assert.equal((await watcher.turn()).outcome, "at_tip");
    const gaps = await store.gaps();
    assert.deepEqual(gaps.map(({ fromLedger, toLedger }) => [fromLedger, toLedger]), [[scanned + 1, node.oldest - 1]]);
  });

  test("a node that pruned just what was read already leaves no gap", async () => {
    const node = createSimulatedNode({ retention: 10 });
    node.close({});
    const { watcher, store, history } = await createFixture(node);
    await watcher.turn();
    for (let ledger = 0; ledger < 10; ledger++) node.close({});
    await watcher.turn();
    assert.deepEqual(await store.gaps(), []);
    assert.deepEqual(await readAll(history), hashesOf(node.emitted));
  });

  test("a ledger of which only a part was read before it was pruned belongs to the gap", async () => {
    const node = createSimulatedNode({ retention: 10 });
    const half = node.close(...events(10));
    const { watcher, store, history } = await createFixture(node, { pageEvents: 4 });
    node.bend = (answer) => {
      if (node.requests.length > 1) throw new GatewayError("upstream_error", "the RPC node broke off");
      return answer;
    };
    await watcher.turn();
    node.bend = (answer) => answer;
    node.closeEmpty(20);
    await watcher.turn();
    const [gap] = await store.gaps();
    assert.deepEqual([gap!.fromLedger, gap!.toLedger], [half, node.oldest - 1]);
    assert.deepEqual(await readAll(history), hashesOf(node.emitted).slice(0, 4));
  });

  test("a node behind the cursor is waited for, never taken for a reset one", async () => {
    const node = createSimulatedNode();
    node.closeEmpty(100);
    node.close({});
    const { watcher, store, history, problems } = await createFixture(node);
    await watcher.turn();
    const before = await store.watcherState();
    node.lag = 50;
    assert.equal((await watcher.turn()).outcome, "lagging");
    assert.deepEqual(await store.watcherState(), before);
    node.lag = 0;
    node.close({});
    assert.equal((await watcher.turn()).outcome, "at_tip");
    assert.deepEqual(await readAll(history), hashesOf(node.emitted));
    assert.deepEqual(problems, []);
  });

  test("a node that lags while there is still much to read is not believed either", async () => {
    const node = createSimulatedNode();
    for (let ledger = 0; ledger < 40; ledger++) node.close({});
    const { watcher, slices, tip } = await createFixture(node, { pageEvents: 1 });
    assert.equal((await watcher.turn()).outcome, "behind");
    node.lag = 5;
    const commits = slices.length;
    assert.equal((await watcher.turn()).outcome, "lagging");
    assert.equal(slices.length, commits);
    assert.equal(tip.sequence, node.latest);
  });

  test("a lag that lasts is told once, and once when it is over", async () => {
    const node = createSimulatedNode();
    node.closeEmpty(10);
    const { watcher, clock, problems } = await createFixture(node);
    await watcher.turn();
    node.lag = 5;
    for (let seconds = 0; seconds < 60; seconds++) {
      await watcher.turn();
      clock.advance(1_000);
    }
    node.lag = 0;
    await watcher.turn();
    assert.deepEqual(problems.map(({ kind }) => kind), ["node_lagging", "recovered"]);
  });

  test("lags that pass quickly are not told, however many", async () => {
    const node = createSimulatedNode();
    node.closeEmpty(10);
    const { watcher, clock, problems } = await createFixture(node);
    for (let seconds = 0; seconds < 90; seconds++) {
      node.lag = seconds % 10 === 9 ? 1 : 0;
      await watcher.turn();
      clock.advance(1_000);
    }
    assert.deepEqual(problems, []);
  });

  test("a lower ledger that closed later is a reset network: a new epoch is read from its oldest ledger", async () => {
    const node = createSimulatedNode({ first: 5_000 });
    node.close({});
    const { watcher, store, history, problems, tip } = await createFixture(node);
    await watcher.turn();
    node.reset(10);
    node.close({}, {});
    assert.equal((await watcher.turn()).outcome, "at_tip");
    assert.equal(tip.epoch, 1);
    assert.equal(tip.sequence, node.latest);
    const state = (await store.watcherState())!;
    assert.deepEqual([state.epoch, state.oldestLedger, state.scannedLedger], [1, 10, 11]);
    assert.deepEqual(await readAll(history), hashesOf(node.emitted));
    assert.deepEqual(problems.map(({ kind }) => kind), ["reset"]);
    assert.deepEqual(await store.gaps(), []);
  });

  test("a network that is reset while it is first looked at leaves no gap: nothing of it was held", async () => {
    const node = createSimulatedNode({ first: 5_000 });
    node.closeEmpty(10);
    node.beforeCall = (method) => {
      if (method === "getEvents" && node.generation === 0) node.reset(10);
    };
    const { watcher, store } = await createFixture(node);
    assert.equal((await watcher.turn()).outcome, "at_tip");
    assert.deepEqual(await store.gaps(), []);
    assert.equal((await store.watcherState())!.oldestLedger, 10);
  });

  test("events of a new epoch have ids of their own though the network counts anew", async () => {
    const node = createSimulatedNode({ first: 20 });
    node.closeEmpty(30);
    node.close({});
    const { watcher, history } = await createFixture(node);
    await watcher.turn();
    node.reset(20);
    node.closeEmpty(10);
    node.close({});
    await watcher.turn();
    const ids = (await history.page({ limit: 10 })).events.map(({ id }) => id);
    assert.deepEqual(ids, [rpcId(51, 1, 1, 0), `1-${rpcId(31, 1, 1, 0)}`]);
  });

  test("what was seen of the old network but not read before its reset is a gap of the old epoch", async () => {
    const node = createSimulatedNode({ first: 5_000 });
    for (let ledger = 0; ledger < 30; ledger++) node.close({});
    const { watcher, store, history } = await createFixture(node, { pageEvents: 1 });
    await watcher.turn();
    node.reset(10);
    node.close({});
    await watcher.turn();
    const gaps = await store.gaps();
    // The page of the twentieth event is full: its ledger, the 5 020th, may go on.
    assert.deepEqual(gaps.map(({ epoch, fromLedger, toLedger }) => [epoch, fromLedger, toLedger]), [[0, 5_020, 5_030]]);
    assert.deepEqual(await readAll(history), [...hashesOf(node.emitted).slice(0, 20), node.emitted.at(-1)!.txHash]);
  });

  test("a reset network whose range holds the cursor is told by its close time before its events are taken", async () => {
    const node = createSimulatedNode({ first: 100 });
    for (let ledger = 0; ledger < 100; ledger++) node.close({});
    const { watcher, store, history } = await createFixture(node, { pageEvents: 1 });
    await watcher.turn();
    const read = (await readAll(history)).length;
    node.reset(100);
    for (let ledger = 0; ledger < 50; ledger++) node.close({});
    for (let turns = 0; (await watcher.turn()).outcome !== "at_tip"; turns++) assert.ok(turns < 10);
    assert.equal((await store.watcherState())!.epoch, 1);
    assert.deepEqual(
      await readAll(history),
      hashesOf([...node.emitted.slice(0, read + 1), ...node.emitted.slice(100)]),
    );
  });

  test("one answer alone does not begin a new epoch: a second has to agree", async () => {
    const node = createSimulatedNode({ first: 1_000 });
    node.closeEmpty(10);
    const { watcher, store } = await createFixture(node);
    await watcher.turn();
    node.bend = (answer) => ({ ...answer, latestLedger: 900, latestLedgerCloseTime: node.closeTime + 1_000 });
    assert.equal((await watcher.turn()).outcome, "lagging");
    assert.equal((await store.watcherState())!.epoch, 0);
  });

  test("a node that still shows the network before the reset is not believed", async () => {
    const node = createSimulatedNode({ first: 5_000 });
    node.close({});
    const { watcher, store, history } = await createFixture(node);
    await watcher.turn();
    node.reset(10);
    node.close({});
    await watcher.turn();
    node.showsFormer = true;
    assert.equal((await watcher.turn()).outcome, "lagging");
    node.showsFormer = false;
    node.close({});
    assert.equal((await watcher.turn()).outcome, "at_tip");
    assert.equal((await store.watcherState())!.epoch, 1);
    assert.deepEqual(await readAll(history), hashesOf(node.emitted));
  });

  test("an older node that says close times in getLatestLedger only is told apart all the same", async () => {
    const node = createSimulatedNode({ first: 5_000 });
    node.tellsCloseTime = { events: false, health: false, latest: true };
    node.close({});
    const { watcher, store } = await createFixture(node);
    await watcher.turn();
    node.closeEmpty(10);
    await watcher.turn();
    node.lag = 5;
    assert.equal((await watcher.turn()).outcome, "lagging");
    node.lag = 0;
    node.reset(10);
    node.close({});
    assert.equal((await watcher.turn()).outcome, "at_tip");
    assert.equal((await store.watcherState())!.epoch, 1);
  });

  test("a late node behind the same address as a current one is not believed, though that one speaks for it", async () => {
    const node = createSimulatedNode({ first: 5_000 });
    node.tellsCloseTime.events = false;
    for (let ledger = 0; ledger < 30; ledger++) node.close({});
    const { watcher, slices } = await createFixture(node, { pageEvents: 1 });
    assert.equal((await watcher.turn()).outcome, "behind");
    const commits = slices.length;
    node.beforeCall = (method) => {
      node.lag = method === "getEvents" ? 3 : 0;
    };
    assert.equal((await watcher.turn()).outcome, "lagging");
    assert.equal(slices.length, commits);
  });

  test("where the late node is the one that says the close time, the current one is followed without it", async () => {
    const node = createSimulatedNode({ first: 5_000 });
    node.tellsCloseTime.events = false;
    const { watcher, store } = await createFixture(node);
    await watcher.turn();
    node.closeEmpty(10);
    node.beforeCall = (method) => {
      node.lag = method === "getEvents" ? 0 : 3;
    };
    assert.equal((await watcher.turn()).outcome, "at_tip");
    const { latestLedger, latestLedgerCloseTime } = (await store.watcherState())!;
    assert.deepEqual([latestLedger, latestLedgerCloseTime], [5_010, 0]);
  });

  test("a node that never says a close time is followed, and a lower ledger of it counts as lag", async () => {
    const node = createSimulatedNode({ first: 5_000 });
    node.tellsCloseTime = { events: false, health: false, latest: false };
    node.close({});
    const { watcher, store, history } = await createFixture(node);
    await watcher.turn();
    node.close({});
    assert.equal((await watcher.turn()).outcome, "at_tip");
    assert.deepEqual(await readAll(history), hashesOf(node.emitted));
    node.reset(10);
    assert.equal((await watcher.turn()).outcome, "lagging");
    assert.equal((await store.watcherState())!.epoch, 0);
  });
});
