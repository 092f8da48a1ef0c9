// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture, hashesOf, OTHER_CONTRACT, readAll, restart, simulate, untilAtTip } from "./parts.ts";
import { CONTRACT } from "./simulated_node.ts";

for (const ledgerMs of [0, 120, 1_000, 5_000]) {
  test(`the watcher detects a reset to a higher ledger while the gateway was off within 3 s: ledgers of ${ledgerMs} ms`, async () => {
    const { network, node } = simulate({ first: 1_000, ledgerMs });
    for (let ledger = 0; ledger < 20; ledger++) network.close({});
    const before = await createFixture(network, { nodes: [node] });
    await before.watcher.pollFor(0);
    await before.watcher.pollFor(0);
    network.reset(1_000);
    for (let ledger = 0; ledger < 60; ledger++) network.close({});
    const after = await restart(before);
    const beganMs = after.clock.monotonicMs();
    while ((await after.state()).epoch === 0 && after.clock.monotonicMs() - beganMs <= 3_000) {
      await after.watcher.pollFor(0);
      after.clock.pass(500);
    }
    assert.equal((await after.state()).epoch, 1);
    await untilAtTip(after);
    assert.deepEqual(await readAll(after.history), hashesOf(network.emitted));
  });
}

test("a contract that was not watched for some ledgers just after the first start has these ledgers as a gap", async () => {
  const { network, node } = simulate({ first: 1_000 });
  network.close({});
  const first = await createFixture(network, { nodes: [node] });
  await first.watcher.pollFor(0);
  const away = await restart(first, { contractIds: [OTHER_CONTRACT] });
  await away.watcher.pollFor(0);
  for (let ledger = 0; ledger < 4; ledger++) network.close({});
  await untilAtTip(away);
  const missed = [network.latest - 3, network.latest];
  // No node holds these ledgers when the contract is watched again.
  node.retention = 1;
  network.close({});
  const back = await restart(away, { contractIds: [CONTRACT] });
  await back.watcher.pollFor(0);
  const gap = (await back.state()).gaps.find(({ contractIds }) => contractIds.includes(CONTRACT));
  assert.deepEqual([gap?.reason, gap?.fromLedger, gap?.toLedger], ["contract", ...missed]);
});
