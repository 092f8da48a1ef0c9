import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GatewayError } from "../../lib/errors.ts";
import { pauseAfter } from "../../lib/events/watcher.ts";
import { createFixture, readAll } from "./parts.ts";
import { createSimulatedNode, type EventWish } from "./simulated_node.ts";

/** Resolves when all that can go on without time passing has gone on. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));
const events = (count: number): EventWish[] => Array.from({ length: count }, () => ({}));
const hashesOf = (emitted: { txHash: string }[]) => emitted.map(({ txHash }) => txHash);

describe("the watcher's loop", () => {
  test("looks again after pollMs at the tip, at once while behind", async () => {
    const node = createSimulatedNode();
    for (let ledger = 0; ledger < 50; ledger++) node.close({});
    const { watcher, clock, history } = await createFixture(node, { pageEvents: 1 });
    await clock.untilPause(() => watcher.start());
    assert.deepEqual(await readAll(history), hashesOf(node.emitted));
    assert.deepEqual(clock.pauses, [1_000]);
    node.close({});
    await clock.untilPause(() => clock.advance(1_000));
    assert.deepEqual(await readAll(history), hashesOf(node.emitted));
    assert.deepEqual(clock.pauses, [1_000, 1_000]);
    await watcher.stop();
  });

  test("wake looks at once", async () => {
    const node = createSimulatedNode();
    const { watcher, clock, history } = await createFixture(node);
    await clock.untilPause(() => watcher.start());
    node.close({});
    await clock.untilPause(() => watcher.wake());
    assert.deepEqual(await readAll(history), hashesOf(node.emitted));
    await watcher.stop();
  });

  test("wake during a turn brings another turn right after it", async () => {
    const node = createSimulatedNode();
    const { watcher, clock, history } = await createFixture(node);
    let woke = false;
    node.bend = (answer) => {
      if (!woke) {
        woke = true;
        node.close({});
        watcher.wake();
      }
      return answer;
    };
    await clock.untilPause(() => watcher.start());
    assert.deepEqual(await readAll(history), hashesOf(node.emitted));
    assert.equal(clock.pauses.length, 1);
    await watcher.stop();
  });

  test("a node that stays down is asked less and less often, and wake does not hurry that", async () => {
    const node = createSimulatedNode();
    const { watcher, clock } = await createFixture(node);
    node.beforeCall = () => {
      throw new GatewayError("upstream_error", "the RPC node could not be reached");
    };
    await clock.untilPause(() => watcher.start());
    for (let failures = 1; failures < 8; failures++) {
      watcher.wake();
      await settled();
      assert.equal(clock.pauses.length, failures);
      await clock.untilPause(() => clock.advance(clock.pauses.at(-1)!));
    }
    assert.deepEqual(clock.pauses, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    node.beforeCall = () => {};
    await clock.untilPause(() => clock.advance(30_000));
    assert.equal(clock.pauses.at(-1), 1_000);
    await watcher.stop();
  });

  test("the pause after failures is bounded and never shorter than pollMs", () => {
    assert.equal(pauseAfter(1, 1_000), 1_000);
    assert.equal(pauseAfter(10_000, 50), 30_000);
    assert.equal(pauseAfter(1, 60_000), 60_000);
  });

  test("stop ends a call under way and resolves when nothing runs any more", async () => {
    const node = createSimulatedNode();
    node.close({});
    const { watcher, problems, slices } = await createFixture(node);
    const called = Promise.withResolvers<void>();
    node.beforeCall = (_method, signal) => {
      called.resolve();
      return new Promise((_, reject) => signal!.addEventListener("abort", () => reject(new Error("abandoned"))));
    };
    watcher.start();
    await called.promise;
    await watcher.stop();
    assert.deepEqual(problems, []);
    assert.deepEqual(slices, []);
    assert.deepEqual(await watcher.turn(), { outcome: "stopped", events: 0 });
  });

  test("stop during a commit leaves what was committed, and the rest for the next start", async () => {
    const node = createSimulatedNode();
    for (let ledger = 0; ledger < 40; ledger++) node.close(...events(10));
    const fixture = await createFixture(node, {
      beforeCommit: () => {
        if (fixture.slices.length === 1) void fixture.watcher.stop();
      },
    });
    assert.equal((await fixture.watcher.turn()).outcome, "stopped");
    assert.equal(fixture.slices.length, 2);
    const next = await createFixture(node, { store: fixture.store });
    await next.watcher.turn();
    assert.deepEqual(await readAll(next.history), hashesOf(node.emitted));
  });

  test("two calls of turn are one turn", async () => {
    const node = createSimulatedNode();
    node.close({});
    const { watcher, slices } = await createFixture(node);
    const [one, two] = await Promise.all([watcher.turn(), watcher.turn()]);
    assert.equal(one, two);
    assert.equal(slices.length, 1);
  });
});
