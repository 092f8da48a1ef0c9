// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import { createFixture, hashesOf, readAll, simulate, untilAtTip } from "./parts.ts";

for (const count of [1, 2]) {
  test(`gateways that each live for one turn detect a reset, with nodes: ${count}`, async () => {
    const { network, clock } = simulate({ first: 5_000 });
    const nodes = Array.from({ length: count }, () => network.node());
    const store = await openStore("memory:", { now: clock.now, isShared: true });
    const isolate = () => createFixture(network, { nodes, store });
    for (let ledger = 0; ledger < 15; ledger++) network.close({});
    const first = await isolate();
    for (let turns = 0; turns < 4; turns++) await untilAtTip(first);
    network.reset(10);
    let last = first;
    for (let minute = 0; minute < 3; minute++) {
      for (let ledger = 0; ledger < 3; ledger++) network.close({});
      last = await isolate();
      await last.watcher.pollFor(25_000);
      await last.watcher.stop();
      clock.pass(45_000);
    }
    assert.equal((await last.state()).epoch, 1);
    assert.deepEqual(await readAll(last.history), hashesOf(network.emitted));
  });
}

test("gateways that each live for one turn detect a reset although the first node still shows the former epoch", async () => {
  const { network, clock } = simulate({ first: 5_000 });
  const nodes = [network.node(), network.node()];
  const store = await openStore("memory:", { now: clock.now, isShared: true });
  const isolate = () => createFixture(network, { nodes, store });
  for (let ledger = 0; ledger < 15; ledger++) network.close({});
  const first = await isolate();
  for (let turns = 0; turns < 4; turns++) await untilAtTip(first);
  await first.watcher.stop();
  network.reset(10);
  nodes[0]!.showsFormer = true;
  let last = first;
  for (let minute = 0; minute < 9; minute++) {
    for (let ledger = 0; ledger < 3; ledger++) network.close({});
    last = await isolate();
    await last.watcher.pollFor(25_000);
    await last.watcher.stop();
    clock.pass(25_000);
  }
  assert.equal((await last.state()).epoch, 1);
  assert.deepEqual(await readAll(last.history), hashesOf(network.emitted));
});
