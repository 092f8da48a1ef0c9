// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture, hashesOf, readAll, restart, simulate, untilAtTip } from "./parts.ts";

/** A gateway that was off during a reset and long after, on an archive node and a node that holds few ledgers. */
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
  test(`after a reset the watcher reads every ledger that any node holds, with the archive node in place: ${place}`, async () => {
    const { network, fixture } = await awaken({ isArchiveFirst });
    assert.deepEqual(await readAll(fixture.history), hashesOf(network.emitted));
  });
}

test("after a reset the watcher reads no ledger of the former epoch from a node that still shows it", async () => {
  const { network, fixture } = await awaken({ isArchiveFirst: false, isFormer: true });
  const hashes = await readAll(fixture.history);
  assert.deepEqual(hashes.slice(15), hashesOf(network.emitted).slice(-(hashes.length - 15)));
  assert.deepEqual((await fixture.state()).gaps.filter(({ epoch }) => epoch === 1), []);
});
