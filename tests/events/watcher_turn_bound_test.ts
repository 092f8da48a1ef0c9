import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import { createFixture, hashesOf, readAll, simulate, untilAtTip } from "./parts.ts";

test("a turn that has much to catch up with is over when its time is, and the next one goes on", async () => {
  const { network, node, clock } = simulate();
  const store = await openStore("memory:", { now: clock.now, isShared: true });
  for (let ledger = 0; ledger < 40; ledger++) network.close({});
  const fixture = await createFixture(network, {
    nodes: [node],
    store,
    pageEvents: 1,
    // A node and a database that are far away.
    beforeAppend: () => clock.pass(3_000),
  });
  const beganAtMs = clock.monotonicMs();
  // One that is over at once leaves the next one its own bound.
  await fixture.watcher.turn(0);
  assert.ok(clock.monotonicMs() - beganAtMs <= 7_000);
  const turnedAtMs = clock.monotonicMs();
  const { outcome } = await fixture.watcher.turn(25_000);
  const tookMs = clock.monotonicMs() - turnedAtMs;
  assert.ok(tookMs >= 25_000 && tookMs <= 32_000, `it took ${tookMs} ms`);
  assert.equal(outcome, "behind");
  await untilAtTip(fixture);
  assert.deepEqual(await readAll(fixture.history), hashesOf(network.emitted));
});
