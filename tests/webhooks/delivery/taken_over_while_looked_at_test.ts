// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../../lib/store/store.ts";
import { partitionLease, partitionOf } from "../../../lib/store/webhook.ts";
import { eventAt, insert, subscriptionOf } from "../parts.ts";
import { workerStage } from "./worker_stage.ts";

test("what another gateway delivered before it gave a webhook away is not sent again for an older look at it", async () => {
  /** Another gateway has all partitions, until it goes. */
  let isTaken = true;
  let answer = () => {};
  const held = new Promise<void>((resolve) => answer = resolve);

  function bent(store: Store): Store {
    const leases = Object.create(store.leases, {
      acquire: {
        async value(request: Parameters<Store["leases"]["acquire"]>[0]) {
          if (isTaken) return undefined;
          return await store.leases.acquire(request);
        },
      },
    });
    const deliveries = Object.create(store.deliveries, {
      reader: {
        async value(id: string) {
          const found = await store.deliveries.reader(id);
          await held;
          return found;
        },
      },
    });
    return Object.create(store, {
      leases: { value: leases },
      deliveries: { value: deliveries },
    });
  }

  const made = await workerStage(() => "delivered", { store: bent });
  made.worker.start();
  // In a second it asks for partitions again.
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
  assert.deepEqual(made.postedTo("wh_1").map(({ eventId }) => eventId), [eventAt(104).id]);
  await made.worker.stop({ drainMs: 0 });
});
