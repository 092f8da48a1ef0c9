// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture, restart, simulate } from "./parts.ts";
import { NodeRefusal } from "./simulated_node.ts";

test("the watcher detects a reset soon after the first start although the first node has pruned the oldest ledger", async () => {
  const { network, node } = simulate({ first: 1_000_000, retention: 5 });
  const other = network.node({ retention: 6 });
  for (let closed = 0; closed < 5; closed++) network.close({});
  const before = await createFixture(network, { nodes: [node, other] });
  await before.turn();
  assert.equal((await before.state()).checkpoints.length > 0, true, "a checkpoint was stored in the first seconds");

  network.reset(980_000);
  network.close({});
  const after = await restart(before);
  for (let turns = 0; (await after.turn()).outcome !== "idle"; turns++) {
    assert.ok(turns < 10, "the watcher does not reach the end");
    network.clock.pass(2_500);
  }
  assert.equal((await after.state()).epoch, 1);
});

test("the watcher takes a checkpoint of a network whose head fell below the first ledger before there was one", async () => {
  const { network, node } = simulate({ first: 1_000_000 });
  node.beforeCall = (method) => {
    if (method === "getLedgers") throw new NodeRefusal(-32603, "the node is unhealthy");
  };
  const fixture = await createFixture(network, { nodes: [node] });
  await fixture.turn();
  assert.equal((await fixture.state()).checkpoints.length, 0);

  network.reset(980_000);
  node.beforeCall = () => {};
  for (let turns = 0; turns < 8; turns++) {
    network.clock.pass(31_000);
    await fixture.turn();
  }
  assert.equal((await fixture.state()).checkpoints.length > 0, true);
});
