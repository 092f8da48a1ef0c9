// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Store, StoreError } from "../../lib/store/store.ts";
import { bentStore } from "../store/bent_store.ts";
import { append, eventAt, insert, memoryStore, NEW_SECRET, subscriptionOf, subscriptionsOn } from "./parts.ts";

const lost = () => new StoreError("unavailable", "the connection was cut");

/** Calls the method, and loses its answer. */
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

test("a rotation returns its new secret also when the answer to its commit is lost", async () => {
  const { store, subscriptions } = await stage((store) =>
    bentStore(store, { subscriptions: { setSecrets: losing(store.subscriptions.setSecrets) } })
  );
  const returned = await subscriptions.rotateSecret("key1", "wh_1").catch((error) => error);
  assert.equal((await store.subscriptions.get("wh_1"))!.secret, NEW_SECRET, "it signs from here on");
  assert.equal(returned.plainSecret, NEW_SECRET, String(returned));
});

const REPLAY = { fromLedger: 101, dryRun: false };

test("the gateway returns a replay also when the answer to its commit is lost", async () => {
  const { store, subscriptions } = await stage((store) =>
    bentStore(store, { deliveries: { insertReplay: losing(store.deliveries.insertReplay) } })
  );
  const returned = await subscriptions.replay("key1", "wh_1", REPLAY).catch((error) => error);
  const begun = (await store.deliveries.consumer("wh_1"))!.replay!;
  assert.equal(returned.id, begun.id, String(returned));
});

test("a replay does not start when the store fails to count its events", async () => {
  const { store, subscriptions } = await stage((store) =>
    bentStore(store, { sharedState: { change: () => Promise.reject(lost()) } })
  );
  await assert.rejects(subscriptions.replay("key1", "wh_1", REPLAY), StoreError);
  assert.equal((await store.deliveries.consumer("wh_1"))!.replay, null);
});

test("the gateway returns a new webhook also when the answer to its commit is lost", async () => {
  const { store, subscriptions } = await stage((store) =>
    bentStore(store, { subscriptions: { insert: losing(store.subscriptions.insert) } })
  );
  const returned = await subscriptions.create("key2", { url: "https://a.example/" }).catch((error) => error);
  const [made] = await store.subscriptions.list({ keyId: "key2", limit: 10 });
  assert.equal(returned.id, made!.id, String(returned));
});
