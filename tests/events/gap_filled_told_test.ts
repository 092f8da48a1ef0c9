// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture, OTHER_CONTRACT, restart, simulate, untilAtTip } from "./parts.ts";
import { CONTRACT } from "./simulated_node.ts";

const cases: [happened: object[], words: RegExp][] = [
  [[{}], /^20 events of gaps were found; gaps left: 0$/],
  [[], /^gaps were filled, and held no events; gaps left: 0$/],
];
for (const [happened, words] of cases) {
  const events = happened.length === 0 ? "no events" : "events";
  test(`the watcher reports a filled gap that contained ${events}`, async () => {
    const { network, node } = simulate({ retention: 10 });
    network.close({});
    const fixture = await createFixture(network, { nodes: [node] });
    await untilAtTip(fixture);
    for (let ledger = 0; ledger < 30; ledger++) network.close(...happened);
    await untilAtTip(fixture);
    assert.equal((await fixture.gaps()).length, 1);
    // The operator has replaced the node with one that holds more ledgers.
    node.retention = 1_000;
    fixture.clock.pass(3_600_000);
    network.close({});
    for (let turns = 0; turns < 4; turns++) await untilAtTip(fixture);
    assert.deepEqual(await fixture.gaps(), []);
    assert.deepEqual(fixture.kinds(), ["gap", "repaired"]);
    assert.match(fixture.problems.at(-1)!.message, words);
  });
}

test("the watcher does not report the backfill of a new contract when the ledgers held no events", async () => {
  const { network, node } = simulate();
  network.close({});
  const first = await createFixture(network, { nodes: [node] });
  await untilAtTip(first);
  const again = await restart(first, { contractIds: [OTHER_CONTRACT, CONTRACT] });
  for (let turns = 0; turns < 4; turns++) await untilAtTip(again);
  assert.deepEqual(await again.gaps(), []);
  assert.deepEqual(again.kinds(), ["contracts_changed"]);
});
