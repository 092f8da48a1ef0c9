import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture, hashesOf, readAll, simulate, untilAtTip } from "./parts.ts";

test("what only a node holds that is silent at the first start is a gap, and is read when it answers", async () => {
  const { network, node, clock } = simulate({ first: 5_000, retention: 20 });
  const archive = network.node();
  for (let ledger = 0; ledger < 60; ledger++) network.close({});
  let calls = 0;
  archive.beforeCall = () => {
    // It says how far back it reaches, and no more for a while.
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

test("what no node holds any more at the first start is no gap", async () => {
  const { network, node } = simulate({ first: 5_000, retention: 20 });
  const other = network.node({ retention: 30 });
  for (let ledger = 0; ledger < 60; ledger++) network.close({});
  let calls = 0;
  node.beforeCall = (method) => {
    // The window moves on between its answers.
    if (method === "getEvents" && ++calls === 1) network.closeEmpty(12);
  };
  const fixture = await createFixture(network, { nodes: [node, other] });
  await untilAtTip(fixture);
  assert.deepEqual(await fixture.gaps(), []);
  assert.ok(!fixture.kinds().includes("gap"));
});
