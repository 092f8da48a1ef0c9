// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreError } from "../../lib/store/store.ts";
import { createFixture, hashesOf, OTHER_CONTRACT, readAll, restart, simulate, untilAtTip } from "./parts.ts";
import { CONTRACT } from "./simulated_node.ts";

/** Fails one commit: the first one that contains this event. Nothing is written. */
function failingOnce() {
  const fault = { txHash: "", failed: 0 };
  const beforeAppend = ({ events }: { events: { txHash: string }[] }) => {
    if (fault.failed > 0 || !events.some(({ txHash }) => txHash === fault.txHash)) return;
    fault.failed += 1;
    throw new StoreError("full", "the disk is full");
  };
  return { fault, beforeAppend };
}

test("the watcher fills a new contract's gap with every event although a commit fails in the middle of a ledger", async () => {
  const { network, node } = simulate({ first: 1_000 });
  const contractId = OTHER_CONTRACT;
  network.close({ contractId: CONTRACT }, ...Array.from({ length: 6 }, () => ({ contractId })));
  network.close({});
  const before = await createFixture(network, { nodes: [node], pageEvents: 2 });
  await untilAtTip(before);
  const { fault, beforeAppend } = failingOnce();
  fault.txHash = network.emitted[3]!.txHash;
  const after = await restart(before, { contractIds: [CONTRACT, OTHER_CONTRACT], pageEvents: 2, beforeAppend });
  for (let polls = 0; polls < 20; polls++) {
    await after.watcher.pollFor(0);
    network.clock.pass(2_000);
  }
  assert.equal(fault.failed, 1);
  assert.deepEqual((await readAll(after.history)).toSorted(), hashesOf(network.emitted).toSorted());
});

test("a rescan adds every omitted event although a commit fails in the middle of a ledger", async () => {
  const { network, node } = simulate({ first: 1_000 });
  network.close(...Array.from({ length: 6 }, () => ({})));
  for (const { txHash } of network.emitted) node.omits.add(txHash);
  network.close({});
  const { fault, beforeAppend } = failingOnce();
  const fixture = await createFixture(network, { nodes: [node], pageEvents: 2, beforeAppend });
  await untilAtTip(fixture);
  node.omits.clear();
  fault.txHash = network.emitted[2]!.txHash;
  for (let polls = 0; polls < 30; polls++) {
    network.clock.pass(31_000);
    network.close({});
    await fixture.watcher.pollFor(0);
  }
  assert.equal(fault.failed, 1);
  assert.deepEqual((await readAll(fixture.history)).toSorted(), hashesOf(network.emitted).toSorted());
});
