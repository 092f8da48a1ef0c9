// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import { createFixture, simulate, untilAtTip } from "./parts.ts";

for (const refreshes of [false, true]) {
  test(`the watcher starts a new epoch after a reset while a node is down; requests refresh the head each second: ${refreshes}`, async () => {
    const { network, node, clock } = simulate({ first: 5_000 });
    const store = await openStore("memory:", { now: clock.now, isShared: true });
    const other = network.node();
    network.close({});
    const fixture = await createFixture(network, { nodes: [node, other], store });
    for (let turns = 0; turns < 4; turns++) await untilAtTip(fixture);
    network.reset(10);
    other.beforeCall = () => {
      throw new Response("not now", { status: 503 });
    };
    for (let second = 1; second <= 600; second++) {
      if (second % 5 === 0) network.close({});
      // As requests do: they refresh the head and ask for the latest ledger.
      if (refreshes) await fixture.watcher.refresh();
      if (second % 5 === 1) await fixture.rpc.getLatestLedger().catch(() => {});
      if (second % 60 === 0) await fixture.watcher.pollFor(25_000);
      if (second % 5 !== 0) clock.pass(1_000);
    }
    const state = await fixture.state();
    assert.equal(state.epoch, 1);
    assert.equal(fixture.head.sequence, network.latest);
  });
}
