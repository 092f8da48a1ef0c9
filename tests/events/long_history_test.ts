// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createFixture, type Fixture, hashesOf, restart, simulate, untilAtTip } from "./parts.ts";
import { CONTRACT, type SimulatedNetwork } from "./simulated_node.ts";

/** The number of ledgers of one scan. */
const IN_ORDER = 200_000;

/** A node that holds all ledgers, with one event near the start, one in the middle, and one near the end. */
function longHistory() {
  const { network, node, clock } = simulate({ first: 1, scanLimit: 10_000 });
  network.close();
  const old = network.close({});
  network.closeEmpty(250_000);
  const middle = network.close({});
  network.closeEmpty(IN_ORDER - 1_000);
  const recent = network.close({});
  return { network, node, clock, ledgers: { old, middle, recent } };
}

const loggedLedgers = async ({ history }: Fixture) =>
  (await history.page({ limit: 100 })).events.map(({ ledger }) => ledger);
const askedFirst = ({ node }: Fixture) => node.calls.find(({ method }) => method === "getEvents")!.params.startLedger;

/** Polls once. */
const poll = ({ watcher }: Fixture) => watcher.pollFor(0);

async function untilScanned(fixture: Fixture, { latest }: SimulatedNetwork): Promise<void> {
  for (let polls = 0; (await fixture.bareStore.events.watcherState())?.scannedLedger !== latest; polls++) {
    assert.ok(polls < 40, "the scan does not end");
    await poll(fixture);
  }
}

describe("a first start on a node with a long history", () => {
  test("reads the newest ledgers first, then the others behind them while new events come", async () => {
    const { network, node, ledgers: { old, middle, recent } } = longHistory();
    const fixture = await createFixture(network, { nodes: [node] });
    await untilScanned(fixture, network);
    assert.equal(askedFirst(fixture), network.latest - IN_ORDER + 1);
    assert.ok(node.calls.filter(({ method }) => method === "getEvents").length < 30);
    assert.deepEqual(
      await loggedLedgers(fixture),
      [middle, recent].filter((ledger) => ledger > network.latest - IN_ORDER),
    );
    const { gaps } = await fixture.history.status();
    const toLedger = network.latest - IN_ORDER;
    assert.deepEqual(gaps.map(({ detectedAt: _, ...gap }) => gap), [
      { epoch: 0, fromLedger: 1, toLedger, contractIds: [CONTRACT], reason: "start" },
    ]);
    assert.equal((await fixture.history.page({ limit: 1 })).oldestLedger, toLedger + 1);
    assert.deepEqual(fixture.problems.map(({ kind, message }) => [kind, message]), [[
      "gap",
      `the history begins with the newest ledgers; the watcher reads ledgers 1 to ${toLedger} behind them, the newest first`,
    ]]);
    const live = network.close({});
    await poll(fixture);
    const before = await loggedLedgers(fixture);
    assert.equal(before.at(-1), live);
    assert.ok(!before.includes(old));
    await untilAtTip(fixture);
    assert.deepEqual(await loggedLedgers(fixture), [...before, old]);
    assert.deepEqual(await fixture.gaps(), []);
    assert.deepEqual((await fixture.history.status()).held, [{ epoch: 0, fromLedger: 1, toLedger: network.latest }]);
  });

  test("continues after a restart with the remaining ledgers, and logs each event once", async () => {
    const { network, node } = longHistory();
    network.closeEmpty(IN_ORDER);
    const first = await createFixture(network, { nodes: [node] });
    await untilScanned(first, network);
    for (let polls = 0; polls < 5; polls++) await poll(first);
    const [[fromLedger], [, toLedger]] = [(await first.gaps())[0]!, (await first.gaps()).at(-1)!];
    assert.equal(fromLedger, 1);
    assert.equal(toLedger, network.latest - IN_ORDER);
    const again = await restart(first);
    await untilAtTip(again);
    const { events } = await again.history.page({ limit: 100 });
    assert.deepEqual(hashesOf(network.emitted).sort(), events.map(({ txHash }) => txHash).sort());
    assert.deepEqual(await again.gaps(), []);
  });

  test("lets a request wait only for the newest ledgers", async () => {
    const { network, node } = longHistory();
    const fixture = await createFixture(network, { nodes: [node] });
    await untilScanned(fixture, network);
    const live = network.close({});
    const { outcome } = await fixture.watcher.pollFor(10_000, { newestOnly: true });
    assert.equal(outcome, "more");
    assert.equal((await loggedLedgers(fixture)).at(-1), live);
    assert.notDeepEqual(await fixture.gaps(), []);
  });

  test("reads no ledger before the first ledger in the settings", async () => {
    const { network, node, ledgers: { middle, recent } } = longHistory();
    const fixture = await createFixture(network, { nodes: [node], firstLedger: middle });
    await untilAtTip(fixture);
    assert.deepEqual(new Set(await loggedLedgers(fixture)), new Set([middle, recent]));
    const asked = node.calls.flatMap(({ params }) => params.startLedger ?? []);
    assert.ok(asked.every((ledger) => ledger >= middle), asked.join());
    assert.deepEqual((await fixture.history.status()).held, [{
      epoch: 0,
      fromLedger: middle,
      toLedger: network.latest,
    }]);
  });

  test("begins at the newest ledger when the network has not reached the first ledger in the settings", async () => {
    const { network, node } = simulate();
    network.close({});
    const fixture = await createFixture(network, { nodes: [node], firstLedger: 4_000_000_000 });
    await untilAtTip(fixture);
    const live = network.close({});
    await untilAtTip(fixture);
    assert.equal((await loggedLedgers(fixture)).at(-1), live);
  });

  test("reads an ordinary node's ledgers in ascending order", async () => {
    const { network, node } = simulate({ retention: 120_960, scanLimit: 10_000 });
    const first = network.close({});
    network.closeEmpty(120_000);
    const second = network.close({});
    const fixture = await createFixture(network, { nodes: [node] });
    await untilAtTip(fixture);
    assert.deepEqual(await loggedLedgers(fixture), [first, second]);
    assert.deepEqual(fixture.kinds(), []);
  });
});
