// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createRetention } from "../../lib/store/retention.ts";
import { createFixture, hashesOf, readAll, restart, simulate, untilAtTip } from "./parts.ts";

test("a rescan restores no event that the retention job has deleted", async () => {
  const { network, node } = simulate({ first: 1_000 });
  network.close({});
  const before = await createFixture(network, { nodes: [node] });
  await untilAtTip(before);
  await before.watcher.stop();

  // No gateway runs for longer than the retention time.
  for (let ledger = 0; ledger < 5; ledger++) network.close({});
  network.clock.pass(2 * 86_400_000);
  for (let ledger = 0; ledger < 5; ledger++) network.close({});
  const fixture = await restart(before, { keptDays: 1 });
  await untilAtTip(fixture);
  const { clock, bareStore: store } = fixture;
  const forget = createRetention({ store, holder: "h", now: clock.now, historyDays: 1, attemptDays: 0 });
  await forget(AbortSignal.timeout(5_000));
  const kept = hashesOf(network.emitted).slice(6);
  assert.deepEqual(await readAll(fixture.history), kept);

  for (let ledger = 0; ledger < 60; ledger++) {
    network.close();
    await untilAtTip(fixture);
  }
  assert.ok((await fixture.state()).settledLedger > 1_010);
  assert.deepEqual(await readAll(fixture.history), kept);
});
