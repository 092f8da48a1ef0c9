// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { heightOf } from "../../../lib/store/event.ts";
import type { Store } from "../../../lib/store/store.ts";
import { append, eventAt, insert, subscriptionOf } from "../parts.ts";
import { workerStage } from "./worker_stage.ts";

/** Lets something happen between the next answer of `version` and what is asked after it. */
function interruptible() {
  let meanwhile: (() => Promise<void>) | undefined;
  return {
    store(store: Store): Store {
      const value = async () => {
        const version = await store.subscriptions.version();
        const happens = meanwhile;
        meanwhile = undefined;
        await happens?.();
        return version;
      };
      return Object.create(store, {
        subscriptions: { value: Object.create(store.subscriptions, { version: { value } }) },
      });
    },
    next(happens: () => Promise<void>) {
      meanwhile = happens;
    },
  };
}

test("a webhook misses nothing of a network that goes back while a worker looks who listens", async () => {
  const version = interruptible();
  const made = await workerStage(() => "delivered", { store: version.store });
  await insert(made.store, subscriptionOf("wh_1", { startHeight: heightOf(0, 201) }));
  made.worker.start();
  await made.pass(1_100);

  version.next(async () => {
    await made.store.subscriptions.hearFrom(heightOf(0, 101));
    await append(made.store, [eventAt(101)], 101);
  });
  await made.pass(5_000);
  assert.deepEqual(made.postedTo("wh_1").map(({ eventId }) => eventId), [eventAt(101).id]);
  await made.worker.stop({ drainMs: 0 });
});
