// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { WATCHER_LEASE } from "../../lib/store/store.ts";
import { createFixture, hashesOf, readAll, simulate } from "./parts.ts";

/** Lets the loop and the fake clock run until `isSo`. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let rounds = 0; !await isSo(); rounds++) {
    assert.ok(rounds < 5_000, "it does not come to be so");
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

describe("the watcher's loop", () => {
  test("polls until it is stopped, and sends no call after that", async () => {
    const { network, node } = simulate();
    network.close({});
    const { watcher, history } = await createFixture(network, { nodes: [node], pollMs: 5_000 });
    watcher.start();
    await until(async () => (await readAll(history)).length === 1);
    network.close({});
    await until(async () => (await readAll(history)).length === 2);
    await watcher.stop();
    const calls = node.calls.length;
    network.close({});
    watcher.wake();
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(node.calls.length, calls);
    assert.deepEqual(await readAll(history), hashesOf(network.emitted.slice(0, 2)));
  });

  test("polls no faster than its interval when the wall clock moves ahead or back (T14)", async () => {
    const { network, node, clock } = simulate();
    const { watcher } = await createFixture(network, { nodes: [node], pollMs: 5_000 });
    watcher.start();
    await until(() => node.calls.length > 5);
    for (const stepMs of [-600_000, 3_600_000, -40 * 86_400_000]) {
      clock.step(stepMs);
      const [calls, fromMs] = [node.calls.length, clock.monotonicMs()];
      await until(() => node.calls.length >= calls + 20);
      const elapsedMs = clock.monotonicMs() - fromMs;
      assert.ok(
        node.calls.length - calls <= elapsedMs / 5_000 * 2 + 10,
        `${node.calls.length - calls} in ${elapsedMs} ms`,
      );
      assert.ok(elapsedMs < 20 * 10_000, "and not slower");
    }
    await watcher.stop();
  });

  test("slows its retries of a failing node down to half a minute, also when requests wake it", async () => {
    const { network, node, clock } = simulate();
    const { watcher } = await createFixture(network, { nodes: [node] });
    node.beforeCall = () => {
      throw new Response("down", { status: 500 });
    };
    watcher.start();
    await until(() => {
      watcher.wake();
      return clock.monotonicMs() > 300_000;
    });
    assert.ok(node.calls.length <= 2 * 20, `${node.calls.length} calls`);
    await watcher.stop();
  });

  test("is replaced by turns on platforms without a loop, and each turn ends after its time", async () => {
    const { network, node, clock } = simulate();
    for (let ledger = 0; ledger < 100; ledger++) network.close({});
    const { watcher, history } = await createFixture(network, { nodes: [node], pageEvents: 1 });
    const fromMs = clock.monotonicMs();
    while ((await watcher.pollFor(10_000)).outcome !== "idle");
    assert.ok(clock.monotonicMs() - fromMs <= 20_000);
    assert.deepEqual(await readAll(history), hashesOf(network.emitted));
  });
});

describe("a moved wall clock changes no time that the watcher measures (T14)", () => {
  for (const [way, stepMs] of [["ahead", 3_600_000], ["back", -3_600_000]] as const) {
    test(`a turn takes its full time: an hour ${way}`, async () => {
      const { network, node, clock } = simulate();
      network.close({});
      const { watcher } = await createFixture(network, { nodes: [node] });
      // The node returns another ledger each time, so that the watcher asks again until the turn ends.
      let asked = 0;
      node.bend = (method, answer) => {
        if (method !== "getEvents") return answer;
        if (asked++ === 0) clock.step(stepMs);
        return { ...answer, latestLedger: 1_000_000 - asked };
      };
      const fromMs = clock.monotonicMs();
      await watcher.pollFor(10_000);
      const elapsedMs = clock.monotonicMs() - fromMs;
      assert.ok(asked > 0 && elapsedMs > 5_000 && elapsedMs <= 11_000, `${elapsedMs} ms`);
    });

    test(`the watcher reports a lagging node after 20 seconds: an hour ${way}`, async () => {
      const { network, node, clock } = simulate();
      network.closeEmpty(10);
      const { turn, watcher, kinds } = await createFixture(network, { nodes: [node] });
      await turn();
      await turn();
      node.lag = 5;
      await watcher.pollFor(0);
      clock.step(stepMs);
      clock.pass(15_000);
      await watcher.pollFor(0);
      const reported = () => kinds().filter((kind) => kind === "node_lagging").length;
      assert.equal(reported(), 0, "not sooner");
      clock.pass(6_000);
      await watcher.pollFor(0);
      assert.equal(reported(), 1, "and not later");
    });
  }
});

describe("two watchers on one store", () => {
  test("only the leader reads and commits; the follower learns of commits, and takes over when the leader stops", async () => {
    const { network, node } = simulate();
    const first = await createFixture(network, { nodes: [node] });
    await first.turn();
    let commitsSeen = 0;
    const other = network.node();
    const second = await createFixture(network, {
      nodes: [other],
      store: first.bareStore,
      onCommit: () => commitsSeen++,
    });
    assert.equal((await second.turn()).isFollower, true);
    network.close({}, {});
    await first.turn();
    assert.equal((await second.turn()).isFollower, true);
    assert.equal(commitsSeen > 0, true);
    assert.ok(!other.calls.some(({ method }) => method === "getEvents"));
    assert.ok(second.head.sequence >= network.latest - 1);
    await first.watcher.stop();
    network.close({});
    assert.equal((await second.turn()).outcome, "idle");
    assert.deepEqual(await readAll(second.history), hashesOf(network.emitted));
  });

  test("a watcher whose lease was taken commits nothing more, and waits", async () => {
    const { network, node } = simulate();
    const first = await createFixture(network, { nodes: [node] });
    await first.turn();
    const { leases } = first.bareStore;
    // As after a lease that expired: another gateway has acquired it.
    await first.bareStore.holdForServing();
    const taken = (await leases.acquire({ name: WATCHER_LEASE, holder: "other", durationMs: 30_000 }))!;
    const commits = first.steps.length;
    network.close({});
    assert.ok(["standby", "idle"].includes((await first.turn()).outcome));
    assert.equal(first.steps.length === commits || (await leases.renew([taken], 1_000)).length === 0, true);
  });
});
