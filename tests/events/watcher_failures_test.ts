import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { RpcError } from "../../lib/stellar/rpc/json_rpc.ts";
import { type EventSlice, StoreError } from "../../lib/store/store.ts";
import { GatewayError } from "../../lib/errors.ts";
import { createFixture, readAll } from "./parts.ts";
import { createSimulatedNode, type EventWish, rpcId } from "./simulated_node.ts";

const events = (count: number): EventWish[] => Array.from({ length: count }, () => ({}));
const hashesOf = (emitted: { txHash: string }[]) => emitted.map(({ txHash }) => txHash);

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
