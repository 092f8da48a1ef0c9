// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture, hashesOf, readAll, simulate, untilAtTip } from "./parts.ts";

test("a rescan reads ledgers that one node has pruned from another node", async () => {
  const { network, node } = simulate();
  const short = network.node({ retention: 5 });
  network.close({});
  const late = network.close({});
  node.omits.add(network.emitted.at(-1)!.txHash);
  const fixture = await createFixture(network, { nodes: [node, short] });
  await untilAtTip(fixture);
  assert.equal((await readAll(fixture.history)).length, 1);
  node.omits.clear();
  // Before the rescan the other node has pruned the ledger.
  for (let ledger = 0; ledger < 30; ledger++) {
    network.close();
    await untilAtTip(fixture);
  }
  assert.ok(short.oldest > late && (await fixture.state()).settledLedger > late);
  assert.deepEqual((await readAll(fixture.history)).toSorted(), hashesOf(network.emitted).toSorted());
});
