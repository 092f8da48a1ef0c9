// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture, empty, hashesOf, readAll, restart, simulate, untilAtTip } from "./parts.ts";
import { NodeRefusal, type SimulatedNode } from "./simulated_node.ts";

/** How a provider's node refuses the method by which a reset is told. */
const REFUSALS: Record<string, (node: SimulatedNode) => void> = {
  "does not know getLedgers": (node) => node.lacks.add("getLedgers"),
  "answers getLedgers with an error of its own": (node) => {
    node.beforeCall = (method) => {
      if (method === "getLedgers") throw new NodeRefusal(-32000, "not in your plan");
    };
  },
  "answers 403 to getLedgers": (node) => {
    node.beforeCall = (method) => {
      if (method === "getLedgers") throw new Response("not in your plan", { status: 403 });
    };
  },
};

for (const [how, refuse] of Object.entries(REFUSALS)) {
  for (const isFromStart of [true, false]) {
    const since = isFromStart ? "from the start" : "from the restart on";
    test(`a reset while the gateway was off is seen where the first of two nodes ${how}, ${since}`, async () => {
      const { network, node } = simulate({ first: 1_000 });
      const nodes = [node, network.node()];
      for (const _ledger of empty(5)) network.close({});
      if (isFromStart) refuse(node);
      const before = await createFixture(network, { nodes });
      for (let turns = 0; turns < 4; turns++) {
        network.clock.pass(60_000);
        await untilAtTip(before);
      }
      assert.ok((await before.state()).anchor !== undefined);
      network.reset(1_000);
      for (const _ledger of empty(10)) network.close({});
      refuse(node);
      const after = await restart(before);
      for (let turns = 0; turns < 30; turns++) {
        network.clock.pass(5_000);
        await after.turn();
      }
      assert.equal((await after.state()).epoch, 1);
      assert.deepEqual(await readAll(after.history), hashesOf(network.emitted));
    });
  }
}
