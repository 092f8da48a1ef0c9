// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture, type Fixture, hashesOf, readAll, restart, simulate, untilAtTip } from "./parts.ts";

/** A network that was reset, of which the first node tells no hashes, and the second still shows the former one. */
function simulateFormerBeside() {
  const { network, node } = simulate({ first: 1_000 });
  const second = network.node();
  network.closeEmpty(50);
  network.reset(1_000);
  for (let ledger = 0; ledger < 10; ledger++) network.close({});
  return { network, node, second };
}

async function turns(fixture: Fixture, count: number) {
  for (let turn = 0; turn < count; turn++) {
    fixture.network.close({});
    await fixture.turn();
  }
}

test("no hash of the network before is learnt of a second node that still shows it", async () => {
  const { network, node, second } = simulateFormerBeside();
  node.lacks.add("getLedgers");
  second.showsFormer = true;
  const before = await createFixture(network, { nodes: [node] });
  await untilAtTip(before);
  const fixture = await restart(before, { nodes: [node, second] });
  await turns(fixture, 20);
  const { anchor, nextAnchor } = await fixture.state();
  assert.deepEqual([anchor, nextAnchor], [undefined, undefined]);
});

test("nor is such a node's word for it that the network was reset, where the first one does not tell", async () => {
  const { network, node, second } = simulateFormerBeside();
  const before = await createFixture(network, { nodes: [node, second] });
  for (let turn = 0; turn < 4; turn++) await untilAtTip(before);
  assert.ok((await before.state()).anchor !== undefined);
  node.lacks.add("getLedgers");
  second.showsFormer = true;
  const after = await restart(before);
  await turns(after, 20);
  assert.equal((await after.state()).epoch, 0);
  assert.deepEqual(await readAll(after.history), hashesOf(network.emitted));
});

/** A gateway that has followed a reset on two nodes and knows a ledger of before and after, which the former network holds too. */
async function followOverReset() {
  const { network, node } = simulate({ first: 1_000 });
  const second = network.node();
  network.closeEmpty(50);
  const before = await createFixture(network, { nodes: [node, second] });
  for (let turn = 0; turn < 4; turn++) await untilAtTip(before);
  network.closeEmpty(100);
  network.reset(1_000);
  for (let ledger = 0; ledger < 10; ledger++) network.close({});
  await turns(before, 20);
  const { epoch, anchor, formerAnchor } = await before.state();
  assert.deepEqual([epoch, formerAnchor!.ledger, anchor !== undefined], [1, 1_050, true]);
  return { network, node, second, before };
}

test("nor is it the first one's, which still shows it, where the second one does not tell", async () => {
  const { network, node, second, before } = await followOverReset();
  node.showsFormer = true;
  second.lacks.add("getLedgers");
  const after = await restart(before);
  await turns(after, 40);
  assert.equal((await after.state()).epoch, 1);
  assert.deepEqual(await readAll(after.history), hashesOf(network.emitted));
});

test("a network that was brought back and closes ledgers is another one than that which was read", async () => {
  const { node, second, before } = await followOverReset();
  const { latestLedgerCloseTime } = await before.state();
  for (const one of [node, second]) {
    one.showsFormer = true;
    one.bend = (_method, answer) => ({ ...answer, latestLedgerCloseTime: latestLedgerCloseTime + 5 });
  }
  const after = await restart(before);
  for (let turn = 0; turn < 20 && (await after.state()).epoch === 1; turn++) {
    after.clock.pass(2_000);
    await after.turn();
  }
  assert.equal((await after.state()).epoch, 2);
});

test("a second node that fails is not asked, and waited for, again and again", async () => {
  const { network, node, second } = simulateFormerBeside();
  node.lacks.add("getLedgers");
  second.beforeCall = () => {
    throw new Response("not now", { status: 503 });
  };
  const fixture = await createFixture(network, { nodes: [node, second] });
  await turns(fixture, 60);
  second.calls.length = 0;
  await turns(fixture, 300);
  assert.deepEqual(second.calls.filter(({ method }) => method === "getLedgers"), []);
});
