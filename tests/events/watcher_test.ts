import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers";
import { RpcError } from "../../lib/stellar/rpc.ts";
import { type EventSlice, StoreError } from "../../lib/store/store.ts";
import { GatewayError } from "../../lib/errors.ts";
import { pauseAfter } from "../../lib/events/watcher.ts";
import { createFixture, readAll } from "./parts.ts";
import { CONTRACT, createSimulatedNode, decodeSimulated, type EventWish, rpcId } from "./simulated_node.ts";

const OTHER_CONTRACT = "CB4DPMGOA374JIB2ZVD4AHW5GJKQUYNOFGRYNOJ75EFH2KCJSMHOWIRA";
const events = (count: number): EventWish[] => Array.from({ length: count }, () => ({}));
/** Resolves when all that can go on without time passing has gone on. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));
const hashesOf = (emitted: { txHash: string }[]) => emitted.map(({ txHash }) => txHash);

describe("the watcher reads what the node holds", () => {
  test("the first turn backfills from the node's oldest ledger to its newest", async () => {
    const node = createSimulatedNode({ first: 500, retention: 10 });
    node.close({});
    node.closeEmpty(5);
    node.close({}, {});
    node.closeEmpty(4);
    const { watcher, history, slices } = await createFixture(node);
    assert.deepEqual(await watcher.turn(), { outcome: "at_tip", events: 2 });
    assert.deepEqual(await readAll(history), hashesOf(node.emitted).slice(1));
    assert.equal(slices.at(-1)!.state.oldestLedger, node.oldest);
    assert.equal(slices.at(-1)!.state.scannedLedger, node.latest);
    assert.deepEqual(slices.flatMap(({ gaps }) => gaps ?? []), []);
  });

  test("ledgers pruned between the first look and the first page are no gap: they were never in reach", async () => {
    const node = createSimulatedNode({ retention: 20 });
    node.closeEmpty(50);
    const oldest = node.oldest;
    node.beforeCall = (method) => {
      if (method === "getEvents" && node.requests.length < 3) node.close({});
    };
    const { watcher, store } = await createFixture(node);
    assert.equal((await watcher.turn()).outcome, "at_tip");
    assert.deepEqual(await store.gaps(), []);
    assert.ok((await store.watcherState())!.oldestLedger > oldest);
  });

  test("commits at most 100 events at a time, ascending, each time with a state that fits them", async () => {
    const node = createSimulatedNode();
    for (let ledger = 0; ledger < 90; ledger++) node.close(...events(5));
    const { watcher, slices, history } = await createFixture(node);
    assert.deepEqual(await watcher.turn(), { outcome: "at_tip", events: 450 });
    assert.deepEqual(slices.map((slice) => slice.events.length), [100, 100, 100, 100, 50]);
    const positions = slices.flatMap((slice) => slice.events.map(({ position }) => position));
    assert.deepEqual(positions, [...positions].sort());
    for (const slice of slices.slice(0, -1)) {
      assert.equal(slice.state.scannedLedger, slice.events.at(-1)!.ledger - 1);
      assert.equal(slice.state.rpcCursor, undefined);
    }
    assert.deepEqual(await readAll(history), hashesOf(node.emitted));
  });

  test("a page that ends inside a ledger leaves that ledger unscanned, and history does not show half of it", async () => {
    const node = createSimulatedNode();
    node.close(...events(3));
    const half = node.close(...events(10));
    const fixture = await createFixture(node, { pageEvents: 8 });
    node.bend = (answer) => {
      if (node.requests.length > 1) throw new GatewayError("upstream_error", "the RPC node broke off");
      return answer;
    };
    assert.equal((await fixture.watcher.turn()).outcome, "failed");
    assert.equal((await fixture.store.watcherState())!.scannedLedger, half - 1);
    assert.deepEqual(await readAll(fixture.history), hashesOf(node.emitted).slice(0, 3));
    node.bend = (answer) => answer;
    assert.equal((await fixture.watcher.turn()).outcome, "at_tip");
    assert.deepEqual(await readAll(fixture.history), hashesOf(node.emitted));
  });

  test("goes on over empty pages: one call scans at most 10 000 ledgers", async () => {
    const node = createSimulatedNode({ first: 1 });
    node.closeEmpty(25_000);
    node.close({});
    const { watcher, history } = await createFixture(node);
    assert.deepEqual(await watcher.turn(), { outcome: "at_tip", events: 1 });
    assert.equal(node.requests.length, 3);
    assert.deepEqual(await readAll(history), hashesOf(node.emitted));
  });

  test("a turn is bounded, and the next one goes on where it ended", async () => {
    const node = createSimulatedNode();
    for (let ledger = 0; ledger < 30; ledger++) node.close({});
    const { watcher, history } = await createFixture(node, { pageEvents: 1 });
    assert.deepEqual(await watcher.turn(), { outcome: "behind", events: 20 });
    assert.deepEqual(await watcher.turn(), { outcome: "at_tip", events: 10 });
    assert.deepEqual(await readAll(history), hashesOf(node.emitted));
  });

  test("asks for smaller pages where a node allows no larger ones", async () => {
    const node = createSimulatedNode({ maxLimit: 100 });
    for (let ledger = 0; ledger < 15; ledger++) node.close(...events(10));
    const { watcher, history } = await createFixture(node);
    assert.deepEqual(await watcher.turn(), { outcome: "at_tip", events: 150 });
    assert.deepEqual(await readAll(history), hashesOf(node.emitted));
  });

  test("leaves out other contracts, other types and failed calls, whatever the node's filter let through", async () => {
    const node = createSimulatedNode();
    node.close({ contractId: OTHER_CONTRACT }, {}, { inSuccessfulContractCall: false }, {
      inSuccessfulContractCall: true,
    });
    const foreign = node.close({});
    node.rpc.getEvents = ((ask) => async (request, options) => {
      const answer = await ask({ ...request, contractIds: [CONTRACT, OTHER_CONTRACT] }, options);
      return {
        ...answer,
        events: answer.events.map((event) => event.ledger === foreign ? { ...event, type: "diagnostic" } : event),
      };
    })(node.rpc.getEvents);
    const { watcher, history } = await createFixture(node);
    await watcher.turn();
    const page = await history.page({ limit: 10 });
    assert.deepEqual(page.events.map(({ txHash }) => txHash), hashesOf(node.emitted).slice(0, 2));
  });

  test("writes close times as ISO 8601 UTC with seconds", async () => {
    const node = createSimulatedNode();
    node.close({ ledgerClosedAt: "2026-01-01T01:00:00.250+01:00" }, { ledgerClosedAt: "2026-01-01T00:00:00Z" });
    const { watcher, history } = await createFixture(node);
    await watcher.turn();
    const { events } = await history.page({ limit: 10 });
    assert.deepEqual(events.map((event) => event.ledgerClosedAt), ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"]);
  });

  test("each turn tells the tip of new ledgers with their close time, events or none", async () => {
    const node = createSimulatedNode();
    const { watcher, tip } = await createFixture(node);
    await watcher.turn();
    assert.equal(tip.sequence, node.latest);
    node.closeEmpty(3);
    await watcher.turn();
    assert.equal(tip.sequence, node.latest);
    assert.equal(tip.closeTime, node.closeTime);
  });

  test("a turn that finds nothing new writes nothing", async () => {
    const node = createSimulatedNode();
    node.close({});
    const { watcher, slices } = await createFixture(node);
    await watcher.turn();
    const commits = slices.length;
    assert.deepEqual(await watcher.turn(), { outcome: "at_tip", events: 0 });
    assert.equal(slices.length, commits);
  });

  test("lets others run between two commits", async () => {
    const node = createSimulatedNode();
    for (let ledger = 0; ledger < 50; ledger++) node.close(...events(10));
    const { watcher, slices } = await createFixture(node);
    const commitsSeen = new Set<number>();
    let over = false;
    const look = () => {
      commitsSeen.add(slices.length);
      if (!over) setImmediate(look);
    };
    look();
    await watcher.turn();
    over = true;
    assert.deepEqual([...commitsSeen], [0, 1, 2, 3, 4, 5]);
  });

  test("tells of events only after they are committed", async () => {
    const node = createSimulatedNode();
    node.close({}, {});
    const heard: string[][] = [];
    const fixture = await createFixture(node, {
      onEvents: (told) => {
        assert.equal(fixture.slices.length, 1);
        heard.push(hashesOf(told));
      },
      beforeCommit: () => assert.equal(heard.length, 0),
    });
    await fixture.watcher.turn();
    assert.deepEqual(heard, [hashesOf(node.emitted)]);
    assert.deepEqual(await readAll(fixture.history), hashesOf(node.emitted));
  });
});

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

describe("the watcher and its contracts", () => {
  test("a new contract id backfills again from the oldest ledger and repeats no event", async () => {
    const node = createSimulatedNode();
    node.close({}, { contractId: OTHER_CONTRACT });
    node.close({});
    const first = await createFixture(node);
    await first.watcher.turn();
    const again = await createFixture(node, { store: first.store, contractIds: [OTHER_CONTRACT, CONTRACT] });
    assert.equal((await again.watcher.turn()).outcome, "at_tip");
    const shown = (await again.history.page({ limit: 10 })).events;
    assert.deepEqual(shown.map(({ contractId }) => contractId), [CONTRACT, OTHER_CONTRACT, CONTRACT]);
    assert.equal(new Set(hashesOf(shown)).size, 3);
    assert.equal((await again.store.watcherState())!.oldestLedger, 1_000);
    assert.deepEqual(again.problems.map(({ kind }) => kind), ["contracts_changed"]);
  });

  test("history held from before the node's retention stays held when the contracts change", async () => {
    const node = createSimulatedNode({ retention: 10 });
    node.close({});
    const first = await createFixture(node);
    await first.watcher.turn();
    for (let ledger = 0; ledger < 30; ledger++) {
      node.close({});
      await first.watcher.turn();
    }
    const again = await createFixture(node, { store: first.store, contractIds: [OTHER_CONTRACT, CONTRACT] });
    const asked = node.requests.length;
    node.beforeCall = (method) => {
      if (method === "getEvents" && node.requests.length === asked + 1) node.closeEmpty(3);
    };
    await again.watcher.turn();
    assert.deepEqual(await readAll(again.history), hashesOf(node.emitted));
    assert.equal((await again.store.watcherState())!.oldestLedger, 1_000);
    assert.deepEqual(await again.store.gaps(), []);
  });

  test("a gap and a change of contracts at the same start are both seen", async () => {
    const node = createSimulatedNode({ retention: 10 });
    const first = await createFixture(node);
    await first.watcher.turn();
    const scanned = node.latest;
    node.closeEmpty(40);
    const again = await createFixture(node, { store: first.store, contractIds: [OTHER_CONTRACT] });
    await again.watcher.turn();
    const gaps = await again.store.gaps();
    assert.deepEqual(gaps.map(({ fromLedger, toLedger }) => [fromLedger, toLedger]), [[scanned + 1, node.oldest - 1]]);
  });

  test("other contracts on a node that lags are waited for", async () => {
    const node = createSimulatedNode({ first: 5_000 });
    node.closeEmpty(20);
    const first = await createFixture(node);
    await first.watcher.turn();
    const again = await createFixture(node, { store: first.store, contractIds: [OTHER_CONTRACT] });
    node.lag = 5;
    assert.equal((await again.watcher.turn()).outcome, "lagging");
    assert.equal((await again.store.watcherState())!.contractIds, CONTRACT);
    node.lag = 0;
    assert.equal((await again.watcher.turn()).outcome, "at_tip");
  });

  test("other contracts on a network that was reset begin a new epoch, and the old one's end is a gap", async () => {
    const node = createSimulatedNode({ first: 5_000 });
    for (let ledger = 0; ledger < 30; ledger++) node.close({});
    const first = await createFixture(node, { pageEvents: 1 });
    assert.equal((await first.watcher.turn()).outcome, "behind");
    node.reset(10);
    node.close({ contractId: OTHER_CONTRACT });
    const again = await createFixture(node, { store: first.store, contractIds: [OTHER_CONTRACT] });
    assert.equal((await again.watcher.turn()).outcome, "at_tip");
    const { epoch, contractIds, oldestLedger } = (await again.store.watcherState())!;
    assert.deepEqual([epoch, contractIds, oldestLedger], [1, OTHER_CONTRACT, 10]);
    const gaps = await again.store.gaps();
    assert.deepEqual(gaps.map(({ epoch, fromLedger, toLedger }) => [epoch, fromLedger, toLedger]), [[0, 5_020, 5_030]]);
    assert.equal((await readAll(again.history)).length, 21);
  });

  test("a contract id less reads nothing again", async () => {
    const node = createSimulatedNode();
    node.close({});
    const first = await createFixture(node, { contractIds: [OTHER_CONTRACT, CONTRACT] });
    await first.watcher.turn();
    const asked = node.requests.length;
    const again = await createFixture(node, { store: first.store });
    await again.watcher.turn();
    assert.deepEqual(node.requests.slice(asked).map(({ startLedger }) => startLedger), [undefined]);
    assert.equal((await again.store.watcherState())!.contractIds, CONTRACT);
  });

  test("events that cannot be decoded are kept raw, told and passed over, and decoded after an upgrade", async () => {
    const node = createSimulatedNode();
    node.close({}, { decodable: false }, {});
    const old = await createFixture(node);
    await old.watcher.turn();
    assert.deepEqual(await readAll(old.history), [node.emitted[0]!.txHash, node.emitted[2]!.txHash]);
    assert.equal((await old.history.status()).undecodedEvents, 1);
    assert.deepEqual(old.problems.map(({ kind }) => kind), ["undecoded"]);

    const decode = (event: { value: string }) =>
      event.value === "?" ? { type: "escrow.swept", amount: "5" } : decodeSimulated(event);
    const upgraded = await createFixture(node, { store: old.store, decode });
    await upgraded.watcher.turn();
    assert.deepEqual(await readAll(upgraded.history), hashesOf(node.emitted));
    const [, swept] = (await upgraded.history.page({ limit: 10 })).events;
    assert.deepEqual([swept!.type, swept!.amount], ["escrow.swept", "5"]);
    assert.equal((await upgraded.history.status()).undecodedEvents, 0);
    assert.deepEqual(upgraded.problems.map(({ kind }) => kind), ["decoded"]);
  });
});

describe("events kept raw", () => {
  test("are all tried again once after a start, over turns, and those still unknown stay raw", async () => {
    const node = createSimulatedNode();
    for (let ledger = 0; ledger < 120; ledger++) node.close(...Array(10).fill({ decodable: false }));
    const old = await createFixture(node);
    for (let turns = 0; (await old.watcher.turn()).outcome !== "at_tip"; turns++) assert.ok(turns < 10);
    let asked = 0;
    const upgraded = await createFixture(node, {
      store: old.store,
      decode: () => asked++ % 2 === 0 ? { type: "escrow.swept" } : undefined,
    });
    await upgraded.watcher.turn();
    assert.equal(asked, 1_000);
    await upgraded.watcher.turn();
    await upgraded.watcher.turn();
    assert.equal(asked, 1_200);
    assert.equal((await readAll(upgraded.history)).length, 600);
    assert.equal((await upgraded.history.status()).undecodedEvents, 100);
  });
});

describe("the watcher outlives what fails", () => {
  test("a node that is down is told once, and once when it is back", async () => {
    const node = createSimulatedNode();
    node.close({});
    const { watcher, problems, history } = await createFixture(node);
    node.beforeCall = () => {
      throw new GatewayError("upstream_error", "the RPC node could not be reached");
    };
    for (let turns = 0; turns < 5; turns++) assert.equal((await watcher.turn()).outcome, "failed");
    node.beforeCall = () => {};
    await watcher.turn();
    assert.deepEqual(problems.map(({ kind }) => kind), ["node_failed", "recovered"]);
    assert.deepEqual(await readAll(history), hashesOf(node.emitted));
  });

  test("an unhealthy node's JSON-RPC error is a failure of the node, not a reason to skip ledgers", async () => {
    const node = createSimulatedNode();
    node.close({});
    const { watcher, problems, store } = await createFixture(node);
    node.beforeCall = () => {
      throw new RpcError("getEvents", -32600, "could not read the ledger");
    };
    assert.equal((await watcher.turn()).outcome, "failed");
    assert.deepEqual(problems.map(({ kind, message }) => [kind, message]), [[
      "node_failed",
      "could not read the ledger",
    ]]);
    assert.equal(await store.watcherState(), undefined);
  });

  test("a full store acknowledges nothing: the same events are committed later, once", async () => {
    const node = createSimulatedNode();
    for (let ledger = 0; ledger < 30; ledger++) node.close(...events(10));
    let full = false;
    let commits = 0;
    const { watcher, problems, history } = await createFixture(node, {
      beforeCommit: () => {
        commits += 1;
        full = commits === 2 || commits === 3;
        if (full) throw new StoreError("full", "sqlite:gateway.db: the disk is full");
      },
    });
    assert.equal((await watcher.turn()).outcome, "failed");
    // The 100th event ends the ledger of its slice, but only the page's cursor could say so.
    assert.equal((await readAll(history)).length, 90);
    assert.equal((await watcher.turn()).outcome, "failed");
    assert.equal((await watcher.turn()).outcome, "at_tip");
    assert.deepEqual(await readAll(history), hashesOf(node.emitted));
    assert.deepEqual(problems.map(({ kind }) => kind), ["store_failed", "recovered"]);
  });

  test("a process that dies after any commit goes on without losing, repeating or renaming an event", async () => {
    const node = createSimulatedNode();
    for (let ledger = 0; ledger < 12; ledger++) node.close(...events(7));
    const whole = await createFixture(node, { pageEvents: 10, sliceEvents: 3 });
    for (let turns = 0; (await whole.watcher.turn()).outcome !== "at_tip"; turns++) assert.ok(turns < 10);
    const expected = (await whole.history.page({ limit: 1_000 })).events;
    assert.equal(expected.length, 84);

    let fixture = await createFixture(node, { pageEvents: 10, sliceEvents: 3 });
    for (let deaths = 0, outcome = ""; outcome !== "at_tip"; deaths++) {
      assert.ok(deaths < 100);
      const left = deaths % 3 + 1;
      let commits = 0;
      const beforeCommit = (_slice: EventSlice) => {
        if (++commits > left) throw new Error("killed");
      };
      fixture = await createFixture(node, { store: fixture.bareStore, pageEvents: 10, sliceEvents: 3, beforeCommit });
      outcome = (await fixture.watcher.turn()).outcome;
    }
    assert.deepEqual((await fixture.history.page({ limit: 1_000 })).events, expected);
  });

  const nonsense: [string, Parameters<typeof createFixture>[0]["bend"]][] = [
    ["a cursor that is none", (answer) => ({ ...answer, cursor: "later" })],
    ["a cursor beyond its latest ledger", (answer) => ({ ...answer, cursor: rpcId(answer.latestLedger + 1, 1, 1, 0) })],
    ["a cursor before what was read", (answer) => ({ ...answer, events: [], cursor: rpcId(1_000, 1, 1, 0) })],
    ["events after its cursor", (answer) => ({ ...answer, cursor: rpcId(1_003, 1, 1, 0) })],
    ["an id that is not of the event's ledger", (answer) => ({
      ...answer,
      events: answer.events.map((event) => ({ ...event, id: rpcId(event.ledger + 1, 1, 1, 0) })),
    })],
    ["an id that is none", (answer) => ({
      ...answer,
      events: answer.events.map((event) => ({ ...event, id: "latest" })),
    })],
    ["a close time that is none", (answer) => ({
      ...answer,
      events: answer.events.map((event) => ({ ...event, ledgerClosedAt: "soon" })),
    })],
  ];
  for (const [what, bend] of nonsense) {
    test(`an answer with ${what} fails the turn and commits nothing`, async () => {
      const node = createSimulatedNode();
      node.close({});
      node.closeEmpty(1);
      const { watcher, slices, problems, history } = await createFixture(node);
      await watcher.turn();
      const commits = slices.length;
      node.close({});
      node.close({});
      node.bend = bend;
      assert.equal((await watcher.turn()).outcome, "failed");
      assert.equal(slices.length, commits);
      assert.deepEqual(problems.map(({ kind }) => kind), ["node_failed"]);
      node.bend = (answer) => answer;
      await watcher.turn();
      assert.deepEqual(await readAll(history), hashesOf(node.emitted));
    });
  }

  test("a cursor that does not move on although there is more fails the turn instead of spinning", async () => {
    const node = createSimulatedNode();
    node.close({});
    const { watcher, problems } = await createFixture(node);
    await watcher.turn();
    const cursor = rpcId(node.latest, 0xfffff, 0xfff, 0xffffffff);
    node.close({});
    node.bend = (answer) => ({ ...answer, events: [], cursor });
    assert.equal((await watcher.turn()).outcome, "failed");
    assert.deepEqual(problems.map(({ kind }) => kind), ["node_failed"]);
  });
});

describe("the watcher's loop", () => {
  test("looks again after pollMs at the tip, at once while behind", async () => {
    const node = createSimulatedNode();
    for (let ledger = 0; ledger < 50; ledger++) node.close({});
    const { watcher, clock, history } = await createFixture(node, { pageEvents: 1 });
    await clock.untilPause(() => watcher.start());
    assert.deepEqual(await readAll(history), hashesOf(node.emitted));
    assert.deepEqual(clock.pauses, [1_000]);
    node.close({});
    await clock.untilPause(() => clock.advance(1_000));
    assert.deepEqual(await readAll(history), hashesOf(node.emitted));
    assert.deepEqual(clock.pauses, [1_000, 1_000]);
    await watcher.stop();
  });

  test("wake looks at once", async () => {
    const node = createSimulatedNode();
    const { watcher, clock, history } = await createFixture(node);
    await clock.untilPause(() => watcher.start());
    node.close({});
    await clock.untilPause(() => watcher.wake());
    assert.deepEqual(await readAll(history), hashesOf(node.emitted));
    await watcher.stop();
  });

  test("wake during a turn brings another turn right after it", async () => {
    const node = createSimulatedNode();
    const { watcher, clock, history } = await createFixture(node);
    let woke = false;
    node.bend = (answer) => {
      if (!woke) {
        woke = true;
        node.close({});
        watcher.wake();
      }
      return answer;
    };
    await clock.untilPause(() => watcher.start());
    assert.deepEqual(await readAll(history), hashesOf(node.emitted));
    assert.equal(clock.pauses.length, 1);
    await watcher.stop();
  });

  test("a node that stays down is asked less and less often, and wake does not hurry that", async () => {
    const node = createSimulatedNode();
    const { watcher, clock } = await createFixture(node);
    node.beforeCall = () => {
      throw new GatewayError("upstream_error", "the RPC node could not be reached");
    };
    await clock.untilPause(() => watcher.start());
    for (let failures = 1; failures < 8; failures++) {
      watcher.wake();
      await settled();
      assert.equal(clock.pauses.length, failures);
      await clock.untilPause(() => clock.advance(clock.pauses.at(-1)!));
    }
    assert.deepEqual(clock.pauses, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    node.beforeCall = () => {};
    await clock.untilPause(() => clock.advance(30_000));
    assert.equal(clock.pauses.at(-1), 1_000);
    await watcher.stop();
  });

  test("the pause after failures is bounded and never shorter than pollMs", () => {
    assert.equal(pauseAfter(1, 1_000), 1_000);
    assert.equal(pauseAfter(10_000, 50), 30_000);
    assert.equal(pauseAfter(1, 60_000), 60_000);
  });

  test("stop ends a call under way and resolves when nothing runs any more", async () => {
    const node = createSimulatedNode();
    node.close({});
    const { watcher, problems, slices } = await createFixture(node);
    const called = Promise.withResolvers<void>();
    node.beforeCall = (_method, signal) => {
      called.resolve();
      return new Promise((_, reject) => signal!.addEventListener("abort", () => reject(new Error("abandoned"))));
    };
    watcher.start();
    await called.promise;
    await watcher.stop();
    assert.deepEqual(problems, []);
    assert.deepEqual(slices, []);
    assert.deepEqual(await watcher.turn(), { outcome: "stopped", events: 0 });
  });

  test("stop during a commit leaves what was committed, and the rest for the next start", async () => {
    const node = createSimulatedNode();
    for (let ledger = 0; ledger < 40; ledger++) node.close(...events(10));
    const fixture = await createFixture(node, {
      beforeCommit: () => {
        if (fixture.slices.length === 1) void fixture.watcher.stop();
      },
    });
    assert.equal((await fixture.watcher.turn()).outcome, "stopped");
    assert.equal(fixture.slices.length, 2);
    const next = await createFixture(node, { store: fixture.store });
    await next.watcher.turn();
    assert.deepEqual(await readAll(next.history), hashesOf(node.emitted));
  });

  test("two calls of turn are one turn", async () => {
    const node = createSimulatedNode();
    node.close({});
    const { watcher, slices } = await createFixture(node);
    const [one, two] = await Promise.all([watcher.turn(), watcher.turn()]);
    assert.equal(one, two);
    assert.equal(slices.length, 1);
  });
});
