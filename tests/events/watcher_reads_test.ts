// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers";
import { createFixture, empty, hashesOf, OTHER_CONTRACT, readAll, restart, simulate, untilAtTip } from "./parts.ts";
import { NodeRefusal } from "./simulated_node.ts";

describe("the watcher reads the ledgers that the node holds", () => {
  test("the first turn backfills from the node's oldest ledger to its newest", async () => {
    const { network, node } = simulate({ first: 500, retention: 10 });
    network.close({});
    network.closeEmpty(5);
    network.close({}, {});
    network.closeEmpty(4);
    const { turn, history, state } = await createFixture(network, { nodes: [node] });
    assert.deepEqual(await turn(), { outcome: "idle", events: 2 });
    assert.deepEqual(await readAll(history), hashesOf(network.emitted).slice(1));
    const { scannedLedger, contracts, gaps } = await state();
    assert.equal(scannedLedger, network.latest);
    assert.deepEqual(Object.values(contracts), [{ fromLedger: node.oldest, toLedger: null }]);
    assert.deepEqual(gaps, []);
  });

  test("ledgers pruned between the first call and the first page are no gap", async () => {
    const { network, node } = simulate({ retention: 20 });
    network.closeEmpty(50);
    const oldest = node.oldest;
    let closes = 1;
    node.beforeCall = (method) => {
      if (method === "getEvents" && closes-- > 0) network.close({});
    };
    const fixture = await createFixture(network, { nodes: [node] });
    const { gaps, state } = fixture;
    await untilAtTip(fixture);
    assert.deepEqual(await gaps(), []);
    assert.ok(Object.values((await state()).contracts)[0]!.fromLedger > oldest);
  });

  test("the watcher appends an event at once, and counts its ledger as scanned", async () => {
    const { network, node } = simulate();
    const fixture = await createFixture(network, { nodes: [node] });
    await fixture.turn();
    const scanned = (await fixture.state()).scannedLedger;
    network.close({});
    assert.equal((await fixture.watcher.pollFor(0)).events, 1);
    assert.deepEqual(await readAll(fixture.history), hashesOf(network.emitted));
    assert.equal((await fixture.state()).scannedLedger, scanned + 1);
    network.clock.pass(1_100);
    assert.equal((await fixture.watcher.pollFor(0)).events, 0);
    assert.equal((await fixture.state()).scannedLedger, network.latest);
  });

  test("commits at most 100 events at a time, in ascending order", async () => {
    const { network, node } = simulate();
    for (let ledger = 0; ledger < 90; ledger++) network.close(...empty(5));
    const { turn, steps, history } = await createFixture(network, { nodes: [node] });
    assert.deepEqual(await turn(), { outcome: "idle", events: 450 });
    const sizes = steps.map((step) => step.events.length).filter((size) => size > 0);
    assert.deepEqual(sizes.slice(0, 5), [100, 100, 100, 100, 50]);
    assert.deepEqual(await readAll(history), hashesOf(network.emitted));
  });

  test("a page that ends inside a ledger leaves that ledger unscanned, and the next page continues at the cursor", async () => {
    const { network, node } = simulate();
    network.close(...empty(3));
    const half = network.close(...empty(10));
    network.closeEmpty(3);
    const fixture = await createFixture(network, { nodes: [node], pageEvents: 8 });
    // A confirmed head, so that the position may move.
    await fixture.rpc.getHealth();
    network.clock.pass(1_200);
    await fixture.rpc.getHealth();
    let pages = 0;
    node.beforeCall = (method) => {
      if (method === "getEvents" && pages++ > 0) throw new NodeRefusal(-32603, "internal error");
    };
    assert.equal((await fixture.turn()).outcome, "failed");
    assert.equal((await fixture.state()).scannedLedger, half - 1);
    assert.deepEqual(await readAll(fixture.history), hashesOf(network.emitted).slice(0, 8));
    node.beforeCall = () => {};
    assert.deepEqual(await fixture.turn(), { outcome: "idle", events: 5 });
    assert.deepEqual(await readAll(fixture.history), hashesOf(network.emitted));
  });

  test("continues over empty pages until the next event", async () => {
    const { network, node } = simulate({ first: 1, scanLimit: 100 });
    network.closeEmpty(250);
    network.close({});
    const { turn, history } = await createFixture(network, { nodes: [node] });
    assert.deepEqual(await turn(), { outcome: "idle", events: 1 });
    assert.deepEqual(await readAll(history), hashesOf(network.emitted));
  });

  test("requests smaller pages from a node with a lower limit", async () => {
    const { network, node } = simulate({ maxLimit: 100 });
    for (let ledger = 0; ledger < 15; ledger++) network.close(...empty(10));
    const { turn, history } = await createFixture(network, { nodes: [node] });
    assert.deepEqual(await turn(), { outcome: "idle", events: 150 });
    assert.deepEqual(await readAll(history), hashesOf(network.emitted));
  });

  test("halves the page size for answers that are too large, and increases it again later (T11)", async () => {
    const { network, node } = simulate();
    const bytes = 400_000;
    for (let ledger = 0; ledger < 10; ledger++) network.close(...Array.from({ length: 6 }, () => ({ bytes })));
    const { turn, history } = await createFixture(network, { nodes: [node] });
    for (let turns = 0; (await turn()).outcome !== "idle"; turns++) assert.ok(turns < 10);
    assert.deepEqual(await readAll(history), hashesOf(network.emitted));
    const limits = node.calls.filter(({ method }) => method === "getEvents").map(({ params }) =>
      params.pagination!.limit
    );
    assert.ok(Math.min(...limits) < 100 && limits[0] === 1_000, limits.join());
    for (let ledger = 0; ledger < 60; ledger++) {
      network.close({});
      await turn();
    }
    assert.ok(node.calls.findLast(({ method }) => method === "getEvents")!.params.pagination!.limit > 100);
  });

  test("ignores events of other contracts, other types and failed calls that a node returns", async () => {
    const { network, node } = simulate();
    network.close({}, { inSuccessfulContractCall: false }, { inSuccessfulContractCall: true });
    const foreign = network.close({});
    network.close({});
    node.bend = (method, answer) =>
      method !== "getEvents" ? answer : {
        ...answer,
        events: (answer.events as { ledger: number }[]).map((event) =>
          event.ledger === foreign
            ? { ...event, type: "diagnostic" }
            : event.ledger > foreign
            ? { ...event, contractId: OTHER_CONTRACT }
            : event
        ),
      };
    const { turn, history } = await createFixture(network, { nodes: [node] });
    await turn();
    const page = await history.page({ limit: 10 });
    assert.deepEqual(hashesOf(page.events), hashesOf(network.emitted).slice(0, 2));
  });

  test("writes close times as ISO 8601 UTC with seconds", async () => {
    const { network, node } = simulate();
    network.close({ ledgerClosedAt: "2026-01-01T01:00:00.250+01:00" }, { ledgerClosedAt: "2026-01-01T00:00:00Z" });
    const { turn, history } = await createFixture(network, { nodes: [node] });
    await turn();
    const { events } = await history.page({ limit: 10 });
    assert.deepEqual(events.map((event) => event.ledgerClosedAt), ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"]);
  });

  test("an event's knownAt is the network's time, also when this machine's clock is 40 days ahead", async () => {
    const { network, node, clock } = simulate();
    const fixture = await createFixture(network, { nodes: [node] });
    await fixture.turn();
    clock.step(40 * 86_400_000);
    network.close({});
    await fixture.turn();
    const [event] = await fixture.store.events.read({ filter: {}, order: "asc", limit: 1 });
    assert.ok(Math.abs(event!.knownAt - network.closeTime) <= 10, `${event!.knownAt} ${network.closeTime}`);
  });

  test("an idle poll costs one call and writes nothing", async () => {
    const { network, node } = simulate();
    network.close({});
    const { turn, steps } = await createFixture(network, { nodes: [node] });
    for (let turns = 0; turns < 4; turns++) await turn();
    const [commits, calls] = [steps.length, node.calls.length];
    for (let turns = 0; turns < 5; turns++) assert.deepEqual(await turn(), { outcome: "idle", events: 0 });
    assert.deepEqual([steps.length - commits, node.calls.length - calls], [0, 5]);
  });

  test("an idle gateway makes about one call per poll, and one rescan per half minute", async () => {
    const { network, node } = simulate();
    network.closeEmpty(50);
    const { watcher, clock } = await createFixture(network, { nodes: [node] });
    for (let turns = 0; turns < 4; turns++) await watcher.pollFor(5_000);
    const before = node.calls.length;
    const polls = 600;
    for (let poll = 0; poll < polls; poll++) {
      if (poll % 2 === 0) network.close();
      else clock.pass(5_000);
      await watcher.pollFor(0);
    }
    const minutes = polls * 5 / 60;
    const calls = node.calls.length - before;
    // Plus, every ten minutes, calls for the checkpoint that detects a reset: one check and two reads.
    assert.ok(calls <= polls + 2 * minutes + 0.3 * minutes + 3, `${calls} calls in ${polls} polls`);
    assert.ok(calls > polls, "the watcher rescans ledgers");
  });

  test("yields to other work between two commits", async () => {
    const { network, node } = simulate();
    for (let ledger = 0; ledger < 50; ledger++) network.close(...empty(10));
    const { watcher, steps } = await createFixture(network, { nodes: [node] });
    const commitsSeen = new Set<number>();
    let over = false;
    const look = () => {
      commitsSeen.add(steps.length);
      if (!over) setImmediate(look);
    };
    look();
    await watcher.pollFor(0);
    over = true;
    assert.ok(commitsSeen.size >= 5, [...commitsSeen].join());
  });

  test("hands each event on once, after its commit", async () => {
    const { network, node } = simulate();
    network.close({}, {});
    const handedOn: string[][] = [];
    const fixture = await createFixture(network, {
      nodes: [node],
      onEvents: (events) => handedOn.push(hashesOf(events)),
      beforeAppend: ({ events }) => assert.ok(events.length === 0 || handedOn.length <= 1),
    });
    await fixture.turn();
    await fixture.turn();
    assert.deepEqual(handedOn, [hashesOf(network.emitted)]);
  });

  test("the gateway decodes raw events after an upgrade, and appends them at the end of the log (T2)", async () => {
    const { network, node } = simulate();
    for (let ledger = 0; ledger < 150; ledger++) network.close({ decodable: ledger % 2 === 0 }, {});
    const first = await createFixture(network, { nodes: [node] });
    await first.turn();
    assert.equal((await first.history.status()).undecodedEvents, 75);
    const { cursor } = await first.history.page({ limit: 1_000 });
    assert.deepEqual(first.kinds(), ["undecoded", "undecoded", "undecoded"]);
    const upgraded = await restart(first, { decode: () => ({ type: "escrow.funded" }) });
    await upgraded.turn();
    assert.ok(upgraded.kinds().includes("decoded"));
    const late = await upgraded.history.page({ cursor, limit: 1_000 });
    const undecodable = network.emitted.filter(({ decodable }) => !decodable);
    assert.deepEqual(hashesOf(late.events), hashesOf(undecodable));
    assert.equal((await upgraded.history.status()).undecodedEvents, 0);
  });
});
