// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import { createFixture, hashesOf, readAll, simulate } from "./parts.ts";

/** Two gateways on one store, each with its own node. The first gateway leads. */
async function stage() {
  const { network, node, clock } = simulate();
  const store = await openStore("memory:", { now: clock.now, isShared: true });
  const [leader, other] = [
    await createFixture(network, { nodes: [node], store }),
    await createFixture(network, { nodes: [network.node()], store }),
  ];
  /** Closes a ledger with an event in it every five seconds. */
  async function pass(minutes: number, closed: () => unknown = () => {}): Promise<void> {
    for (let ledgers = 0; ledgers < 12 * minutes; ledgers++) {
      network.close({});
      await closed();
      // The ledger already took its five seconds.
      await clock.wait(1);
    }
  }
  leader.watcher.start();
  await pass(1);
  other.watcher.start();
  await pass(1);
  assert.equal(other.steps.length, 0);
  return {
    ...{ network, node, leader, other, pass },
    async [Symbol.asyncDispose]() {
      await Promise.all([leader.watcher.stop(), other.watcher.stop()]);
      await store.close();
    },
  };
}

test("a leader whose node stands still passes the leadership to another gateway within twelve minutes", async () => {
  await using on = await stage();
  await on.pass(12, () => on.node.lag += 1);
  assert.deepEqual(await readAll(on.other.history), hashesOf(on.network.emitted));
});

test("a leader whose node fails passes the leadership to another gateway, also when requests wake the leader often", async () => {
  await using on = await stage();
  on.node.beforeCall = () => {
    throw new Response("down", { status: 500 });
  };
  await on.pass(12, () => on.leader.watcher.pollFor(0));
  assert.deepEqual(await readAll(on.other.history), hashesOf(on.network.emitted));
});

test("a single gateway continues when its node continues, and reports no problem", async () => {
  await using on = await stage();
  await on.other.watcher.stop();
  await on.pass(25, () => on.node.lag += 1);
  on.node.lag = 0;
  await on.pass(1);
  assert.deepEqual(await readAll(on.leader.history), hashesOf(on.network.emitted));
  assert.deepEqual(on.leader.kinds(), []);
});
