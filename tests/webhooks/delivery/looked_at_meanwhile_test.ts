// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../../lib/store/store.ts";
import type { Replay } from "../../../lib/store/webhook.ts";
import { eventAt, insert, subscriptionOf } from "../parts.ts";
import { answersAfter, workerStage } from "./worker_stage.ts";

/** Lets an answer of the store, read already, be held back. */
function holdable(method: "reader" | "readers") {
  let held: Promise<void> | undefined;
  let letGo = () => {};
  return {
    store(store: Store): Store {
      // deno-lint-ignore no-explicit-any -- either method, with its own arguments
      const whole = store.deliveries as any;
      const value = async (...args: unknown[]) => {
        const answer = await whole[method](...args);
        const until = held;
        held = undefined;
        await until;
        return answer;
      };
      return Object.create(store, { deliveries: { value: Object.create(whole, { [method]: { value } }) } });
    },
    /** The next one. */
    hold() {
      held = new Promise((resolve) => letGo = resolve);
    },
    letGo: () => letGo(),
  };
}

test("a webhook that is deleted while an older look at it is unanswered is not posted to again", async () => {
  const reader = holdable("reader");
  const made = await workerStage(() => "delivered", { store: reader.store });
  made.worker.start();
  await made.owe(1, "wh_1");
  await made.pass(100);

  reader.hold();
  const changed = made.worker.changed("wh_1");
  await made.pass(100);
  await made.store.subscriptions.delete("wh_1");
  const deleted = made.worker.changed("wh_1");
  await made.pass(2_000);
  reader.letGo();
  await Promise.all([changed, deleted]);
  await made.pass(2_000);

  await made.owe(3);
  await made.pass(5_000);
  assert.deepEqual(made.postedTo("wh_1").map(({ eventId }) => eventId), [eventAt(101).id]);
  await made.worker.stop({ drainMs: 0 });
});

test("what is replayed to a webhook that is made while all are looked at is sent once", async () => {
  const readers = holdable("readers");
  const made = await workerStage((post) => post.replayId === null ? "delivered" : slow(), { store: readers.store });
  const slow = answersAfter(() => made.clock, 1_000);
  made.worker.start();
  await made.owe(2, "wh_1");
  await made.pass(100);

  // Another gateway makes one, so that all are looked at.
  readers.hold();
  await insert(made.store, subscriptionOf("wh_2"));
  made.worker.wake();
  await made.pass(1_100);
  await insert(made.store, subscriptionOf("wh_3"));
  const places = { fromHeight: 101, toHeight: 102, cursor: 0, endSequence: 2 };
  const replay: Replay = {
    id: "rp_1",
    subscriptionId: "wh_3",
    ...places,
    deliveries: 2,
    atLeast: false,
    createdAtMs: 0,
  };
  await made.store.deliveries.insertReplay(replay);
  const changed = made.worker.changed("wh_3");
  await made.pass(100);
  readers.letGo();
  await changed;
  await made.pass(10_000);
  assert.deepEqual(made.postedTo("wh_3").map(({ eventId }) => eventId), [eventAt(101).id, eventAt(102).id]);
  await made.worker.stop({ drainMs: 0 });
});

test("a webhook that is deleted while all are looked at is not posted to from then on", async () => {
  const readers = holdable("readers");
  const made = await workerStage(() => "delivered", { store: readers.store });
  made.worker.start();
  await made.owe(2, "wh_1");
  await made.pass(100);

  readers.hold();
  await insert(made.store, subscriptionOf("wh_2"));
  made.worker.wake();
  await made.pass(1_100);
  await made.owe(3);
  await made.store.subscriptions.delete("wh_1");
  const changed = made.worker.changed("wh_1");
  readers.letGo();
  await changed;
  await made.pass(10_000);
  assert.equal(made.postedTo("wh_1").length, 2);
  await made.worker.stop({ drainMs: 0 });
});
