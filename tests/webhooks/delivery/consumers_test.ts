// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../../lib/store/store.ts";
import { partitionLease, partitionOf } from "../../../lib/store/webhook.ts";
import { bentStore } from "../../store/bent_store.ts";
import { append, bending, eventAt, idsAt, insert, subscriptionOf } from "../parts.ts";
import { answersAfter, workerStage } from "./worker_stage.ts";

/** Delays an answer that the store has already read. */
function holdable(method: Extract<keyof Store["deliveries"], "consumer" | "consumers">) {
  let isNext = false;
  let letGo = (): void => assert.fail(`no ${method} was read`);
  return {
    store(store: Store): Store {
      // deno-lint-ignore no-explicit-any -- either method, with its own arguments
      const whole = store.deliveries as any;
      const value = async (...args: unknown[]) => {
        const answer = await whole[method](...args);
        if (isNext) await new Promise<void>((resolve) => [isNext, letGo] = [false, resolve]);
        return answer;
      };
      return Object.create(store, { deliveries: { value: Object.create(whole, { [method]: { value } }) } });
    },
    hold: () => void (isNext = true),
    letGo: () => letGo(),
  };
}

test("a deleted webhook gets no more posts, also when an older read of the webhook ends after the deletion", async () => {
  const consumer = holdable("consumer");
  await using made = await workerStage(() => "delivered", { store: consumer.store });
  await made.owe(1, "wh_1");
  await made.pass(100);

  consumer.hold();
  const changed = made.worker.changed("wh_1");
  await made.pass(100);
  await made.store.subscriptions.delete("wh_1");
  const deleted = made.worker.changed("wh_1");
  await made.pass(2_000);
  consumer.letGo();
  await Promise.all([changed, deleted]);
  await made.pass(2_000);

  await made.owe(3);
  await made.pass(5_000);
  assert.deepEqual(made.idsTo("wh_1"), idsAt(101));
});

/** A worker with deliveries to wh_1 that loads all webhooks, because another gateway created wh_2. */
async function lookingAtAll(answer: Parameters<typeof workerStage>[0]) {
  const consumers = holdable("consumers");
  const made = await workerStage(answer, { store: consumers.store });
  await made.owe(2, "wh_1");
  await made.pass(100);
  consumers.hold();
  await insert(made.store, subscriptionOf("wh_2"));
  made.worker.wake();
  await made.pass(1_100);
  return { made, consumers };
}

test("the worker sends a replay once when its webhook is created during a load of all webhooks", async () => {
  const { made, consumers } = await lookingAtAll((post, clock) =>
    post.replayId === null ? "delivered" : answersAfter(1_000)(post, clock)
  );
  await insert(made.store, subscriptionOf("wh_3"));
  const places = { fromHeight: 101, toHeight: 102, cursor: 0, endSequence: 2 };
  const said = { deliveries: 2, atLeast: false, createdAtMs: 0 };
  await made.store.deliveries.insertReplay({ id: "rp_1", subscriptionId: "wh_3", ...places, ...said });
  const changed = made.worker.changed("wh_3");
  await made.pass(100);
  consumers.letGo();
  await changed;
  await made.pass(10_000);
  assert.deepEqual(made.idsTo("wh_3"), idsAt(101, 102));
  await made.worker.stop({ drainMs: 0 });
});

test("a webhook that is deleted during a load of all webhooks gets no more posts", async () => {
  const { made, consumers } = await lookingAtAll(() => "delivered");
  await made.owe(3);
  await made.store.subscriptions.delete("wh_1");
  const changed = made.worker.changed("wh_1");
  consumers.letGo();
  await changed;
  await made.pass(10_000);
  assert.equal(made.postedTo("wh_1").length, 2);
  await made.worker.stop({ drainMs: 0 });
});

test("a worker with an old read of a webhook does not repeat deliveries that another gateway has made since", async () => {
  /** Another gateway has all partitions until it releases them. */
  let isTaken = true;
  let answer = () => {};
  const held = new Promise<void>((resolve) => answer = resolve);

  await using made = await workerStage(() => "delivered", {
    store: (store) =>
      bentStore(store, {
        leases: { acquire: (request) => isTaken ? Promise.resolve(undefined) : store.leases.acquire(request) },
        deliveries: {
          async consumer(id) {
            const found = await store.deliveries.consumer(id);
            await held;
            return found;
          },
        },
      }),
  });
  // The worker requests partitions once a second.
  await made.pass(2_100);
  await insert(made.store, subscriptionOf("wh_1"));
  await made.owe(3);
  const changed = made.worker.changed("wh_1");
  await made.pass(100);

  const name = partitionLease(partitionOf("wh_1"));
  const lease = (await made.store.leases.acquire({ name, holder: "another", durationMs: 10_000 }))!;
  await made.store.deliveries.settle({
    leases: [lease],
    settlements: [{ subscriptionId: "wh_1", cursor: 3, attempts: [] }],
  });
  await made.store.leases.release([lease]);
  isTaken = false;
  await made.pass(2_000);
  answer();
  await changed;
  await made.owe(1);
  await made.pass(2_000);
  assert.deepEqual(made.idsTo("wh_1"), idsAt(104));
});

test("a webhook that is created while the log grows gets no event older than the webhook", async () => {
  await using made = await workerStage(() => "delivered");
  await made.owe(1, "wh_0");
  await made.pass(100);
  // Before the worker reads the log again.
  await append(made.store, [eventAt(102), eventAt(103)], 103);
  await insert(made.store, subscriptionOf("wh_1"));
  await made.worker.changed("wh_1");
  await made.pass(2_000);
  await append(made.store, [eventAt(104)], 104);
  await made.pass(2_000);
  assert.deepEqual(made.idsTo("wh_1"), idsAt(104));
});

/** Callers of `passed` wait while the gate is closed. */
function createGate() {
  let { promise, resolve } = Promise.withResolvers<void>();
  resolve();
  return {
    passed: () => promise,
    close() {
      ({ promise, resolve } = Promise.withResolvers<void>());
    },
    open: () => resolve(),
  };
}

test("a webhook that is deleted while the worker is suspended gets no more posts", async () => {
  const [keys, versions] = [createGate(), createGate()];
  await using made = await workerStage(() => "delivered", {
    async isKeyEnabled() {
      await keys.passed();
      return true;
    },
    store: bending("subscriptions", "version", async (version) => {
      await versions.passed();
      return await version();
    }),
  });
  await made.owe(1, "wh_1");
  await made.pass(3_000);
  assert.equal(made.postedTo("wh_1").length, 1);
  // The worker is suspended just before the next post; meanwhile another gateway deletes the webhook.
  keys.close();
  await made.owe(1);
  await made.pass(100);
  assert.ok(await made.store.subscriptions.delete("wh_1"));
  versions.close();
  made.clock.advance(80_000);
  keys.open();
  // The worker renews its leases, which nobody took, before it reads the list of webhooks.
  await made.pass(3_000);
  versions.open();
  await made.pass(3_000);
  assert.equal(made.postedTo("wh_1").length, 1);
});
