// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture, readAll, restart, simulate, untilAtTip } from "./parts.ts";

for (const stoodStillAfter of [10, 45]) {
  const when = `${stoodStillAfter} ledgers after the gateway stopped`;
  test(`a node that stands still, ${when}, keeps nobody at the ledgers that it alone holds`, async () => {
    const { network, node } = simulate({ first: 1_000, retention: 20 });
    const other = network.node();
    for (let ledger = 0; ledger < 15; ledger++) network.close({});
    const before = await createFixture(network, { nodes: [node, other] });
    for (let turns = 0; turns < 4; turns++) await untilAtTip(before);
    await before.watcher.stop();

    for (let ledger = 0; ledger < 60; ledger++) network.close({});
    const stoodStillAt = network.latest - 60 + stoodStillAfter;
    Object.defineProperty(other, "lag", { get: () => network.latest - stoodStillAt });
    const fixture = await restart(before);
    for (let ledger = 0; ledger < 30; ledger++) {
      network.close({});
      await fixture.watcher.turn(0);
    }
    await untilAtTip(fixture);
    assert.equal((await fixture.state()).scannedLedger, network.latest);
    // What it holds is read, and what nobody does is told.
    const missing = (await fixture.gaps()).reduce((sum, [from = 0, to = 0]) => sum + to - from + 1, 0);
    assert.equal((await readAll(fixture.history)).length, network.emitted.length - missing);
    const [gap] = await fixture.gaps();
    assert.ok(gap === undefined || gap[0] === stoodStillAt + 1);
  });
}
