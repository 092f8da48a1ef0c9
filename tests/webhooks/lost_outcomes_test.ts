// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Store, StoreError } from "../../lib/store/store.ts";
import { bentStore } from "../store/bent_store.ts";
import { append, eventAt, insert, memoryStore, NEW_SECRET, subscriptionOf, subscriptionsOn } from "./parts.ts";

const lost = () => new StoreError("unavailable", "the connection was cut");

/** Does it, and loses the answer. */
const losing =
  <A extends unknown[]>(method: (...args: A) => Promise<unknown>) => async (...args: A): Promise<never> => {
    await method(...args);
    throw lost();
  };

async function stage(bend: (store: Store) => Store) {
  const store = await memoryStore();
  await insert(store, subscriptionOf("wh_1"));
  await append(store, [eventAt(101), eventAt(102)], 200);
  return { store, subscriptions: subscriptionsOn(bend(store)) };
}

test("a rotation whose commit's answer is lost is reported: else no one knows the only secret after a day", async () => {
  const { store, subscriptions } = await stage((store) =>
    bentStore(store, { subscriptions: { setSecrets: losing(store.subscriptions.setSecrets) } })
  );
  const told = await subscriptions.rotateSecret("key1", "wh_1").catch((error) => error);
  assert.equal((await store.subscriptions.get("wh_1"))!.secret, NEW_SECRET, "it signs from here on");
  assert.equal(told.plainSecret, NEW_SECRET, String(told));
});

const REPLAY = { fromLedger: 101, dryRun: false };

test("a replay whose commit's answer is lost is returned", async () => {
  const { store, subscriptions } = await stage((store) =>
    bentStore(store, { deliveries: { insertReplay: losing(store.deliveries.insertReplay) } })
  );
  const told = await subscriptions.replay("key1", "wh_1", REPLAY).catch((error) => error);
  const begun = (await store.deliveries.consumer("wh_1"))!.replay!;
  assert.equal(told.id, begun.id, String(told));
});

test("a replay that cannot be counted does not start: after an error the client starts another", async () => {
  const { store, subscriptions } = await stage((store) =>
    bentStore(store, { sharedState: { change: () => Promise.reject(lost()) } })
  );
  await assert.rejects(subscriptions.replay("key1", "wh_1", REPLAY), StoreError);
  assert.equal((await store.deliveries.consumer("wh_1"))!.replay, null);
});

test("a webhook whose commit's answer is lost is returned, with its secret", async () => {
  const { store, subscriptions } = await stage((store) =>
    bentStore(store, { subscriptions: { insert: losing(store.subscriptions.insert) } })
  );
  const told = await subscriptions.create("key2", { url: "https://a.example/" }).catch((error) => error);
  const [made] = await store.subscriptions.list({ keyId: "key2", limit: 10 });
  assert.equal(told.id, made!.id, String(told));
});
