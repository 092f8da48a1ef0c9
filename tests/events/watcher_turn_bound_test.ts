// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import { WATCHER_LEASE } from "../../lib/store/store.ts";
import { createFixture, hashesOf, readAll, simulate, untilAtTip } from "./parts.ts";
import { CONTRACT } from "./simulated_node.ts";

test("a turn with a long backlog ends in time, and the next turn continues", async () => {
  const { network, node, clock } = simulate();
  const store = await openStore("memory:", { now: clock.now, isShared: true });
  for (let ledger = 0; ledger < 40; ledger++) network.close({});
  const fixture = await createFixture(network, {
    nodes: [node],
    store,
    pageEvents: 1,
    // A slow node and a slow database.
    beforeAppend: () => clock.pass(3_000),
  });
  const beganAtMs = clock.monotonicMs();
  // A turn without time does not shorten the next turn.
  await fixture.watcher.pollFor(0);
  assert.ok(clock.monotonicMs() - beganAtMs <= 7_000);
  const turnedAtMs = clock.monotonicMs();
  const { outcome } = await fixture.watcher.pollFor(25_000);
  const tookMs = clock.monotonicMs() - turnedAtMs;
  assert.ok(tookMs >= 25_000 && tookMs <= 32_000, `it took ${tookMs} ms`);
  assert.equal(outcome, "more");
  await untilAtTip(fixture);
  assert.deepEqual(await readAll(fixture.history), hashesOf(network.emitted));
});

test("a turn ends in time with 100 gaps that no node can fill and a node that does not answer", async () => {
  const { network, node, clock } = simulate({ retention: 20 });
  const [other, dead] = [network.node({ retention: 30 }), network.node()];
  const store = await openStore("memory:", { now: clock.now, isShared: true });
  for (let ledger = 0; ledger < 300; ledger++) network.close({});
  const isolate = () => createFixture(network, { nodes: [node, other, dead], store });
  const first = await isolate();
  dead.retention = 20;
  await untilAtTip(first);
  await first.watcher.stop();
  const state = await first.state();
  const gaps = Array.from({ length: 100 }, (_, nth) => ({
    epoch: 0,
    fromLedger: 1_000 + 2 * nth,
    toLedger: 1_000 + 2 * nth,
    contractIds: [CONTRACT],
    detectedAt: "2026-01-01T00:00:00Z",
    reason: "pruned" as const,
  }));
  const contracts = { [CONTRACT]: { fromLedger: 900, toLedger: null } };
  const lease = await store.leases.acquire({ name: WATCHER_LEASE, holder: "test", durationMs: 1_000 });
  await store.events.append({ lease: lease!, events: [], state: { ...state, contracts, gaps } });
  await store.leases.release([lease!]);

  for (const one of [node, other]) one.beforeCall = () => clock.pass(50);
  dead.beforeCall = (method) => {
    if (method !== "getEvents") return;
    clock.pass(5_000);
    throw new Response("slow", { status: 504 });
  };
  const last = await isolate();
  const beganAtMs = clock.monotonicMs();
  const { outcome } = await last.watcher.pollFor(25_000);
  const tookMs = clock.monotonicMs() - beganAtMs;
  assert.ok(tookMs <= 25_000, `it took ${tookMs} ms`);
  assert.equal(outcome, "idle");
  assert.equal((await last.gaps()).length, 100);
});
