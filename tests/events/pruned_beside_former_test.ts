// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture, readAll, restart, simulate, untilAtTip } from "./parts.ts";

test("the history goes on where a node has pruned what comes next and another still shows the network before a reset", async () => {
  const { network, node, clock } = simulate({ first: 1_000, retention: 20 });
  const former = network.node();
  for (let ledger = 0; ledger < 200; ledger++) network.close();
  const before = await createFixture(network, { nodes: [node, former] });
  for (let turns = 0; turns < 4; turns++) await untilAtTip(before);
  network.reset(1_000);
  former.showsFormer = true;
  for (let ledger = 0; ledger < 40; ledger++) {
    network.close({});
    await before.watcher.turn(0);
  }
  await untilAtTip(before);
  assert.equal((await before.state()).epoch, 1);
  await before.watcher.stop();

  for (let ledger = 0; ledger < 60; ledger++) network.close({});
  const fixture = await restart(before);
  for (let polls = 0; polls < 60; polls++) {
    await fixture.watcher.turn(0);
    clock.pass(2_000);
  }
  assert.equal((await fixture.state()).scannedLedger, network.latest);
  const missing = (await fixture.gaps()).reduce((sum, [from = 0, to = 0]) => sum + to - from + 1, 0);
  assert.equal((await readAll(fixture.history)).length, network.emitted.length - missing);
});
