// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import { createFixture, hashesOf, readAll, simulate } from "./parts.ts";

/** A network, and gateways that each live for one turn, a minute apart. */
async function isolates() {
  const { network, node, clock } = simulate();
  const other = network.node();
  const store = await openStore("memory:", { now: clock.now, isShared: true });
  return {
    network,
    node,
    clock,
    async turn() {
      for (let ledger = 0; ledger < 12; ledger++) network.close({});
      const fixture = await createFixture(network, { nodes: [node, other], store });
      const beganAtMs = clock.monotonicMs();
      const { outcome } = await fixture.watcher.pollFor(25_000);
      await fixture.watcher.stop();
      return { ...fixture, outcome, tookMs: clock.monotonicMs() - beganAtMs };
    },
  };
}

test("gateways that each live for one turn switch from a first node that stands still to the second", async () => {
  const { network, node, turn } = await isolates();
  await turn();
  const stoodStillAt = network.latest;
  Object.defineProperty(node, "lag", { get: () => network.latest - stoodStillAt });
  for (let minute = 0; minute < 3; minute++) {
    const { history, outcome } = await turn();
    assert.equal(outcome, "idle");
    assert.deepEqual(await readAll(history), hashesOf(network.emitted));
  }
});

test("a node that lags one ledger delays a turn by at most the time until the next ledger", async () => {
  const { network, node, clock, turn } = await isolates();
  node.lag = 1;
  for (let minute = 0; minute < 3; minute++) {
    void clock.wait(62_000).then(() => network.close({}));
    const { outcome, tookMs } = await turn();
    assert.ok(outcome === "idle" && tookMs <= 10_000, `${outcome} after ${tookMs} ms`);
  }
});
