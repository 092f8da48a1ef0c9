// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { follow, hashesOf, readAll, restart, simulate, untilAtTip } from "./parts.ts";
import type { SimulatedNode } from "./simulated_node.ts";

function failAt(node: SimulatedNode, isOne: (method: string) => boolean): void {
  node.beforeCall = (method) => {
    if (isOne(method)) throw new Response("not now", { status: 503 });
  };
}

test("the watcher logs each event once after a reset to a higher ledger while the node failed", async () => {
  const { network, node } = simulate({ first: 1_000 });
  const { fixture } = await follow({ network, node }, 5);
  failAt(node, () => true);
  network.reset(1_000);
  for (let ledger = 0; ledger < 10; ledger++) {
    network.close({});
    assert.equal((await fixture.watcher.pollFor(0)).outcome, "failed");
  }
  failAt(node, () => false);
  await untilAtTip(fixture);
  assert.equal((await fixture.state()).epoch, 1);
  assert.deepEqual(await readAll(fixture.history), hashesOf(network.emitted));
});

test("the watcher waits 20 s once for a node that never returns a hash, and then follows it", async () => {
  const { network, node } = simulate({ first: 1_000 });
  const { fixture: first } = await follow({ network, node }, 5);
  failAt(node, (method) => method === "getLedgers");
  const again = await restart(first);
  const turns = async (count: number) => {
    const outcomes: string[] = [];
    for (let turn = 0; turn < count; turn++) {
      network.close({});
      outcomes.push((await again.watcher.pollFor(0)).outcome);
    }
    return outcomes;
  };
  assert.deepEqual(await turns(6), [...Array(4).fill("failed"), "more", "idle"]);
  const followed = await turns(150);
  assert.deepEqual(followed.filter((outcome) => outcome !== "idle" && outcome !== "more"), []);
  failAt(node, (method) => method === "getLedgers" || method === "getEvents");
  await turns(1);
  failAt(node, (method) => method === "getLedgers");
  assert.ok((await turns(5)).every((outcome) => outcome === "idle" || outcome === "more"));
  assert.deepEqual(again.kinds(), ["node_failed", "recovered", "node_failed", "recovered"]);
});
