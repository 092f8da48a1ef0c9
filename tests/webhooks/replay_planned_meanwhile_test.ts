// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { planReplay } from "../../lib/webhooks/replays.ts";
import { append, eventAt, memoryStore, subscriptionOf } from "./parts.ts";

test("a replay that is planned just as the watcher comes to a new webhook's first ledger has what was read then", async () => {
  const store = await memoryStore();
  await append(store, [eventAt(101), eventAt(102)], 102);
  const events = Object.create(store.events, {
    watcherState: {
      async value() {
        // Whatever else is asked at the same time is answered first.
        await store.events.bounds();
        await append(store, [eventAt(103)], 110);
        return await store.events.watcherState();
      },
    },
  });
  // It hears by itself what is beyond ledger 110.
  const subscription = subscriptionOf("wh_1", { startHeight: 111 });
  const { deliveries, endSequence } = await planReplay({ events }, subscription, { fromLedger: 101 });
  assert.deepEqual({ deliveries, endSequence }, { deliveries: 3, endSequence: 3 });
});

test("a replay that is planned in the middle of a ledger, of which a part was known before the webhook, has that part", async () => {
  const store = await memoryStore();
  // A ledger of more events than fit into one commit: the watcher has not scanned it yet.
  await append(store, [eventAt(101), eventAt(103), eventAt(103, 2)], 101);
  const subscription = subscriptionOf("wh_1", { startHeight: 103 });
  const { toHeight, endSequence, deliveries } = await planReplay(store, subscription, { fromLedger: 101 });
  assert.deepEqual({ toHeight, endSequence, deliveries }, { toHeight: 103, endSequence: null, deliveries: 3 });
  const few = await planReplay(store, subscription, { fromLedger: 101, toLedger: 102 });
  assert.deepEqual([few.toHeight, few.deliveries], [102, 1]);
});
