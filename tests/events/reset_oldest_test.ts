// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture, hashesOf, readAll, restart, simulate, untilAtTip } from "./parts.ts";

/** A gateway on two nodes, the other of which keeps few ledgers, that was off while the network was reset and for long after. */
async function awaken({ isArchiveFirst, isFormer = false }: { isArchiveFirst: boolean; isFormer?: boolean }) {
  const { network, node } = simulate({ first: 5_000, retention: 20 });
  const archive = network.node();
  for (let ledger = 0; ledger < 15; ledger++) network.close({});
  const before = await createFixture(network, { nodes: isArchiveFirst ? [archive, node] : [node, archive] });
  for (let turns = 0; turns < 4; turns++) await untilAtTip(before);
  await before.watcher.stop();
  network.reset(10);
  archive.showsFormer = isFormer;
  for (let ledger = 0; ledger < 60; ledger++) network.close({});
  const fixture = await restart(before);
  for (let ledger = 0; ledger < 10; ledger++) {
    network.close({});
    await fixture.watcher.pollFor(0);
  }
  await untilAtTip(fixture);
  assert.equal((await fixture.state()).epoch, 1);
  return { network, fixture };
}

for (const isArchiveFirst of [true, false]) {
  const place = isArchiveFirst ? "first" : "second";
  test(`after a reset the watcher reads as far back as any node holds, with most at: ${place}`, async () => {
    const { network, fixture } = await awaken({ isArchiveFirst });
    assert.deepEqual(await readAll(fixture.history), hashesOf(network.emitted));
  });
}

test("and no further back than the new one reaches where another node still shows the former one", async () => {
  const { network, fixture } = await awaken({ isArchiveFirst: false, isFormer: true });
  const hashes = await readAll(fixture.history);
  assert.deepEqual(hashes.slice(15), hashesOf(network.emitted).slice(-(hashes.length - 15)));
  assert.deepEqual((await fixture.state()).gaps.filter(({ epoch }) => epoch === 1), []);
});
