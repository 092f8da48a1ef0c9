// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GatewayError } from "../../lib/errors.ts";
import { StoreError } from "../../lib/store/store.ts";
import { createFixture, empty, hashesOf, readAll, restart, simulate } from "./parts.ts";
import { NodeRefusal, rpcId } from "./simulated_node.ts";

describe("the watcher with failures", () => {
  test("reports a node that is down once, and once when the node is back", async () => {
    const { network, node } = simulate();
    network.close({});
    const { turn, kinds, history } = await createFixture(network, { nodes: [node] });
    node.beforeCall = () => {
      throw new Response("down", { status: 500 });
    };
    for (let turns = 0; turns < 5; turns++) assert.equal((await turn()).outcome, "failed");
    node.beforeCall = () => {};
    await turn();
    assert.deepEqual(kinds(), ["node_failed", "recovered"]);
    assert.deepEqual(await readAll(history), hashesOf(network.emitted));
  });

  test("reports once that the payments cannot be derived, and goes on with the log", async () => {
    const { network, node } = simulate();
    network.close({});
    let failure: Error | undefined = new TypeError("no such state");
    const payments = {
      follow: () => Promise.resolve(),
      read: () => Promise.resolve(),
      owedEvents: () => failure === undefined ? Promise.resolve([]) : Promise.reject(failure),
      stop: () => {},
    };
    const { turn, problems, history } = await createFixture(network, { nodes: [node], payments });
    for (let turns = 0; turns < 3; turns++) {
      await turn();
      network.close({});
    }
    failure = undefined;
    await turn();
    assert.deepEqual(problems.map(({ kind, message }) => [kind, message]), [
      ["internal", "no such state"],
      ["recovered", "the watcher follows the network's events again"],
    ]);
    assert.deepEqual(await readAll(history), hashesOf(network.emitted));
    failure = new GatewayError("upstream_error", "no node answers");
    assert.equal((await turn()).outcome, "idle");
  });

  test("treats a refusal without a ledger range as a failure of the node, and skips no ledger", async () => {
    const { network, node } = simulate();
    network.close({});
    const { turn, problems, gaps, history } = await createFixture(network, { nodes: [node] });
    node.beforeCall = (method) => {
      if (method === "getEvents") throw new NodeRefusal(-32600, "could not read the ledger");
    };
    assert.equal((await turn()).outcome, "failed");
    assert.deepEqual(problems.map(({ kind, message }) => [kind, message]), [[
      "node_failed",
      "the RPC node answers getEvents with an error: could not read the ledger",
    ]]);
    node.beforeCall = () => {};
    await turn();
    assert.deepEqual(await gaps(), []);
    assert.deepEqual(await readAll(history), hashesOf(network.emitted));
  });

  for (const problem of ["context deadline exceeded", "database disk image is malformed"]) {
    test(`reads events from another node while the first node's database fails: ${problem}`, async () => {
      const { network, node } = simulate();
      network.close(...empty(3));
      // With stellar-rpc's message and code.
      node.beforeCall = (method) => {
        if (method === "getEvents") throw new NodeRefusal(-32600, `${problem}\ndb read failed for requested parameter`);
      };
      const { turn, history, clock } = await createFixture(network, { nodes: [node, network.node()] });
      for (let minutes = 0; minutes < 10; minutes++) {
        await turn();
        clock.pass(60_000);
      }
      assert.deepEqual(await readAll(history), hashesOf(network.emitted));
    });
  }

  test("commits events once after a full store has space again", async () => {
    const { network, node } = simulate();
    for (let ledger = 0; ledger < 30; ledger++) network.close(...empty(10));
    let commits = 0;
    const { turn, kinds, history } = await createFixture(network, {
      nodes: [node],
      beforeAppend: () => {
        commits += 1;
        if (commits === 3 || commits === 4) throw new StoreError("full", "sqlite:gateway.db: the disk is full");
      },
    });
    assert.equal((await turn()).outcome, "failed");
    assert.equal((await readAll(history)).length, 100);
    assert.equal((await turn()).outcome, "failed");
    assert.equal((await turn()).outcome, "idle");
    assert.deepEqual(await readAll(history), hashesOf(network.emitted));
    assert.deepEqual(kinds(), ["store_failed", "recovered"]);
  });

  test("loses, repeats or renames no event when its process dies after any commit", async () => {
    const { network, node } = simulate();
    for (let ledger = 0; ledger < 12; ledger++) network.close(...empty(7));
    const sizes = { pageEvents: 10, stepEvents: 3 };
    let fixture = await createFixture(network, { nodes: [node], ...sizes });
    for (let deaths = 0, outcome = ""; outcome !== "idle"; deaths++) {
      assert.ok(deaths < 200);
      const left = deaths % 5 + 2;
      let commits = 0;
      const beforeAppend = () => {
        if (++commits % 9 > left) throw new Error("killed");
      };
      fixture = await restart(fixture, { ...sizes, beforeAppend });
      outcome = (await fixture.turn()).outcome;
      fixture.clock.pass(1_500);
      if (outcome === "failed") outcome = (await fixture.turn()).outcome;
    }
    const { events } = await fixture.history.page({ limit: 1_000 });
    assert.deepEqual(hashesOf(events), hashesOf(network.emitted));
    assert.equal(new Set(events.map(({ id }) => id)).size, 84);
  });

  const nonsense: [string, (answer: Record<string, unknown>) => Record<string, unknown>][] = [
    ["an invalid cursor", (answer) => ({ ...answer, cursor: "later" })],
    ["a cursor beyond its latest ledger", (answer) => ({
      ...answer,
      cursor: rpcId(Number(answer.latestLedger) + 1, 1, 1, 0),
    })],
    ["a cursor before the read ledgers", (answer) => ({ ...answer, events: [], cursor: rpcId(1_000, 1, 1, 0) })],
    ["events after its cursor", (answer) => ({ ...answer, cursor: rpcId(1_003, 1, 1, 0) })],
    ["an id of another ledger than the event's", (answer) => ({
      ...answer,
      events: (answer.events as { ledger: number }[]).map((event) => ({
        ...event,
        id: rpcId(event.ledger + 1, 1, 1, 0),
      })),
    })],
    ["an invalid id", (answer) => ({
      ...answer,
      events: (answer.events as object[]).map((event) => ({ ...event, id: "latest" })),
    })],
    ["an invalid close time", (answer) => ({
      ...answer,
      events: (answer.events as object[]).map((event) => ({ ...event, ledgerClosedAt: "soon" })),
    })],
  ];
  for (const [what, bend] of nonsense) {
    test(`ends the turn as failed without a commit for an answer with ${what}`, async () => {
      const { network, node } = simulate();
      network.close({});
      network.closeEmpty(1);
      const { turn, steps, kinds, history } = await createFixture(network, { nodes: [node] });
      await turn();
      const commits = steps.length;
      network.close({});
      network.close({});
      node.bend = (method, answer) => method === "getEvents" ? bend(answer) : answer;
      assert.equal((await turn()).outcome, "failed");
      assert.equal(steps.length, commits);
      assert.deepEqual(kinds(), ["node_failed"]);
      node.bend = (_method, answer) => answer;
      await turn();
      assert.deepEqual(await readAll(history), hashesOf(network.emitted));
    });
  }

  test("ends the turn as failed when a node's cursor does not advance although more events exist", async () => {
    const { network, node } = simulate();
    network.close({});
    const { turn, kinds } = await createFixture(network, { nodes: [node] });
    await turn();
    const cursor = rpcId(network.latest, 0xfffff, 0xfff, 0xffffffff);
    network.close({});
    node.bend = (method, answer) => method === "getEvents" ? { ...answer, events: [], cursor } : answer;
    assert.equal((await turn()).outcome, "failed");
    assert.deepEqual(kinds(), ["node_failed"]);
  });
});
