import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers";
import { GatewayError } from "../../lib/errors.ts";
import { createFixture, readAll } from "./parts.ts";
import { CONTRACT, createSimulatedNode, type EventWish } from "./simulated_node.ts";

const OTHER_CONTRACT = "CB4DPMGOA374JIB2ZVD4AHW5GJKQUYNOFGRYNOJ75EFH2KCJSMHOWIRA";
const events = (count: number): EventWish[] => Array.from({ length: count }, () => ({}));
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
