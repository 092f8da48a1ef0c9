// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture, hashesOf, OTHER_CONTRACT, readAll, restart, simulate, untilAtTip } from "./parts.ts";
import { CONTRACT } from "./simulated_node.ts";

/** A gateway that follows a network after its reset, beside a second node that still shows the former one's ledgers of the same numbers. */
async function followBesideFormer(contractId: string) {
  const { network } = simulate({ first: 1_000 });
  const nodes = [network.node(), network.node()];
  for (let ledger = 0; ledger < 15; ledger++) network.close({}, { contractId });
  const fixture = await createFixture(network, { nodes });
  for (let turns = 0; turns < 4; turns++) await untilAtTip(fixture);
  network.reset(1_000);
  nodes[1]!.showsFormer = true;
  for (let ledger = 0; ledger < 40; ledger++) {
    network.close({});
    await fixture.watcher.turn(0);
  }
  await untilAtTip(fixture);
  assert.equal((await fixture.state()).epoch, 1);
  return { network, fixture };
}

test("a second look at a node that shows the network before a reset finds nothing", async () => {
  const { network, fixture } = await followBesideFormer(CONTRACT);
  for (let ledger = 0; ledger < 60; ledger++) {
    network.close({});
    await fixture.watcher.turn(0);
  }
  await untilAtTip(fixture);
  assert.deepEqual(await readAll(fixture.history), hashesOf(network.emitted));
  assert.ok((await fixture.state()).checkedLedger > 1_015, "the other node was looked at instead");
});

test("nor does it fill a gap with what happened before the reset", async () => {
  const { network, fixture } = await followBesideFormer(OTHER_CONTRACT);
  const again = await restart(fixture, { contractIds: [CONTRACT, OTHER_CONTRACT] });
  for (let ledger = 0; ledger < 5; ledger++) {
    network.close({});
    await again.watcher.turn(0);
  }
  await untilAtTip(again);
  const watched = network.emitted.filter(({ contractId }) => contractId === CONTRACT);
  assert.deepEqual(await readAll(again.history), hashesOf(watched));
  assert.deepEqual(await again.gaps(), []);
});

test("a node that tells no hashes fills gaps after a reset where it shows ledgers of now", async () => {
  const { network } = simulate({ first: 1_000 });
  const nodes = [network.node({ retention: 20 }), network.node()];
  nodes[1]!.beforeCall = (method) => {
    if (method === "getLedgers") throw new Response("not in your plan", { status: 403 });
  };
  for (let ledger = 0; ledger < 15; ledger++) network.close({});
  const fixture = await createFixture(network, { nodes });
  for (let turns = 0; turns < 4; turns++) await untilAtTip(fixture);
  network.reset(1_000);
  for (let ledger = 0; ledger < 40; ledger++) {
    network.close({ contractId: OTHER_CONTRACT });
    await fixture.watcher.turn(0);
  }
  await untilAtTip(fixture);
  const { epoch, formerAnchor } = await fixture.state();
  assert.ok(epoch === 1 && formerAnchor !== undefined);

  const again = await restart(fixture, { contractIds: [CONTRACT, OTHER_CONTRACT] });
  for (let turns = 0; turns < 4; turns++) await untilAtTip(again);
  assert.deepEqual(await again.gaps(), []);
  assert.deepEqual((await readAll(again.history)).sort(), hashesOf(network.emitted));
});
