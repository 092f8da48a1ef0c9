// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture, hashesOf, OTHER_CONTRACT, readAll, restart, simulate, untilAtTip } from "./parts.ts";
import { CONTRACT } from "./simulated_node.ts";

test("ledgers that only a failing node holds at the first start are a gap, which the watcher fills when the node answers", async () => {
  const { network, node, clock } = simulate({ first: 5_000, retention: 20 });
  const archive = network.node();
  for (let ledger = 0; ledger < 60; ledger++) network.close({});
  let calls = 0;
  archive.beforeCall = () => {
    // The archive node returns its oldest ledger, and then fails for a while.
    if (++calls > 1) throw new Response("slow down", { status: 429 });
  };
  const fixture = await createFixture(network, { nodes: [node, archive] });
  await untilAtTip(fixture);
  assert.deepEqual((await fixture.gaps()).map(([from]) => from), [5_000]);

  archive.beforeCall = () => {};
  clock.pass(60_000);
  network.close({});
  await untilAtTip(fixture);
  assert.deepEqual(await fixture.gaps(), []);
  assert.deepEqual((await readAll(fixture.history)).sort(), hashesOf(network.emitted));
});

test("ledgers that no node holds at the first start are no gap", async () => {
  const { network, node } = simulate({ first: 5_000, retention: 20 });
  const other = network.node({ retention: 30 });
  for (let ledger = 0; ledger < 60; ledger++) network.close({});
  let calls = 0;
  node.beforeCall = (method) => {
    // The node prunes ledgers between its answers.
    if (method === "getEvents" && ++calls === 1) network.closeEmpty(12);
  };
  const fixture = await createFixture(network, { nodes: [node, other] });
  await untilAtTip(fixture);
  assert.deepEqual(await fixture.gaps(), []);
  assert.ok(!fixture.kinds().includes("gap"));
});

for (const how of ["does not answer", "lags"]) {
  test(`the watcher waits for a node that ${how} for a moment, at the first start and for a new contract`, async () => {
    const { network, node, clock } = simulate({ first: 5_000, retention: 20 });
    const archive = network.node();
    for (let ledger = 0; ledger < 60; ledger++) network.close({}, { contractId: OTHER_CONTRACT });
    let calls = 0;
    const ail = () => {
      calls = 0;
      archive.lag = how === "lags" ? 3 : 0;
    };
    archive.beforeCall = () => {
      if (++calls === 3) archive.lag = 0;
      if (calls < 3 && how !== "lags") throw new Response("slow down", { status: 429 });
    };
    ail();
    const first = await createFixture(network, { nodes: [node, archive] });
    for (let turns = 0; turns < 4; turns++) await untilAtTip(first);
    const ofFirst = network.emitted.filter(({ contractId }) => contractId === CONTRACT);
    assert.deepEqual(await readAll(first.history), hashesOf(ofFirst));

    ail();
    const again = await restart(first, { contractIds: [CONTRACT, OTHER_CONTRACT] });
    for (let turns = 0; turns < 4; turns++) {
      await untilAtTip(again);
      clock.pass(60_000);
    }
    assert.deepEqual((await readAll(again.history)).sort(), hashesOf(network.emitted));
  });
}
