// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture, hashesOf, readAll, restart, simulate, untilAtTip } from "./parts.ts";

/** A gateway on two nodes that has followed some ledgers for long enough to know a ledger's hash. */
async function followOnTwo() {
  const { network } = simulate({ first: 5_000 });
  const nodes = [network.node(), network.node()];
  for (let ledger = 0; ledger < 15; ledger++) network.close({});
  const fixture = await createFixture(network, { nodes });
  for (let turns = 0; turns < 4; turns++) await untilAtTip(fixture);
  assert.ok((await fixture.state()).anchor !== undefined);
  return { network, fixture, first: nodes[0]!, second: nodes[1]! };
}

test("a reset network is followed though the second node still shows the former one", async () => {
  const { network, fixture, second } = await followOnTwo();
  network.reset(10);
  second.showsFormer = true;
  for (let ledger = 0; ledger < 10; ledger++) {
    network.close({});
    await fixture.watcher.turn(0);
  }
  await untilAtTip(fixture);
  assert.equal((await fixture.state()).epoch, 1);
  assert.deepEqual(await readAll(fixture.history), hashesOf(network.emitted));
});

test("a network that was reset while the gateway was off, and is higher by then, is not the one of the second node", async () => {
  const { network, fixture: first, second } = await followOnTwo();
  await first.watcher.stop();
  network.reset(5_000);
  for (let ledger = 0; ledger < 30; ledger++) network.close({});
  second.showsFormer = true;
  const again = await restart(first);
  await untilAtTip(again);
  assert.equal((await again.state()).epoch, 1);
  assert.deepEqual(await readAll(again.history), hashesOf(network.emitted));
});

test("a ledger's hash is learnt of one node where the second one is down, or shows the former network", async () => {
  for (const isDown of [true, false]) {
    const { network } = simulate({ first: 1_000 });
    const [node, second] = [network.node(), network.node()];
    second.beforeCall = () => {
      if (isDown) throw new Response("not now", { status: 503 });
    };
    second.showsFormer = true;
    network.closeEmpty(5);
    network.reset(1_000);
    for (let ledger = 0; ledger < 10; ledger++) network.close({});
    const fixture = await createFixture(network, { nodes: [node, second] });
    for (let turns = 0; turns < 5; turns++) {
      await untilAtTip(fixture);
      network.close();
    }
    assert.ok((await fixture.state()).anchor !== undefined);
  }
});

test("a node that speaks of another hash is not believed while the second one shows as much as before", async () => {
  const { network, fixture: first, second } = await followOnTwo();
  first.node.bend = (method, answer) => {
    if (method !== "getLedgers") return answer;
    const ledgers = (answer.ledgers as Record<string, unknown>[]).map((one) => ({ ...one, hash: "e".repeat(64) }));
    return { ...answer, ledgers };
  };
  second.lag = 2;
  const again = await restart(first);
  for (let ledger = 0; ledger < 10; ledger++) {
    network.close({});
    await again.watcher.turn(0);
  }
  assert.equal((await again.state()).epoch, 0);
  assert.deepEqual(await readAll(again.history), hashesOf(network.emitted));
});

test("a reset network is followed though the first node still shows the former one, which stands still", async () => {
  const { network, fixture, first } = await followOnTwo();
  network.reset(10);
  first.showsFormer = true;
  for (let ledger = 0; ledger < 120; ledger++) {
    network.close({});
    await fixture.watcher.turn(0);
  }
  await untilAtTip(fixture);
  assert.equal((await fixture.state()).epoch, 1);
  assert.deepEqual(await readAll(fixture.history), hashesOf(network.emitted));
});
