// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Store, StoreError } from "../../lib/store/store.ts";
import { MAX_REPLAYED, takeReplay } from "../../lib/webhooks/allowances.ts";
import { bentStore } from "../store/bent_store.ts";
import { append, eventAt, insert, memoryStore, NEW_SECRET, subscriptionOf, subscriptionsOn } from "./parts.ts";

async function stage(bend = (store: Store) => store) {
  const store = await memoryStore();
  const onChange = { fails: false };
  const key = { isThere: () => Promise.resolve(true) };
  const away = new StoreError("unavailable", "the store is away");
  const subscriptions = subscriptionsOn(bend(store), {
    isKeyThere: () => key.isThere(),
    // As a worker answers that can't read the subscription just then.
    onChange: () => onChange.fails ? Promise.reject(away) : Promise.resolve(),
  });
  return { store, subscriptions, onChange, key };
}

test("a rotated secret is returned, also when the worker can't load it at once", async () => {
  const { store, subscriptions, onChange } = await stage();
  await insert(store, subscriptionOf("wh_1"));
  onChange.fails = true;
  const told = await subscriptions.rotateSecret("key1", "wh_1").catch((error) => error);
  assert.equal((await store.subscriptions.get("wh_1"))!.secret, NEW_SECRET, "it signs from here on");
  assert.equal(told.plainSecret, NEW_SECRET, String(told));
});

test("a new webhook is returned, also when the worker can't load it at once", async () => {
  const { store, subscriptions, onChange } = await stage();
  onChange.fails = true;
  const told = await subscriptions.create("key1", { url: "https://a.example/" }).catch((error) => error);
  assert.equal((await store.subscriptions.list({ limit: 10 })).length, 1, "it is there");
  assert.equal(told.plainSecret, NEW_SECRET, String(told));
});

test("a key that is deleted while a webhook of it is made leaves none behind", async () => {
  const { store, subscriptions, key } = await stage();
  key.isThere = () => Promise.resolve(false);
  await assert.rejects(subscriptions.create("key1", { url: "https://a.example/" }), { code: "unauthorized" });
  assert.deepEqual(await store.subscriptions.list({ limit: 10 }), []);
});

test("a webhook stays when it is unknown whether its key was deleted", async () => {
  const { store, subscriptions, key } = await stage();
  key.isThere = () => Promise.reject(new StoreError("unavailable", "the store is away"));
  const { id } = await subscriptions.create("key1", { url: "https://a.example/" });
  assert.equal((await store.subscriptions.list({ limit: 10 }))[0]?.id, id);
});

test("a replay of a webhook that is deleted just then is not found, and takes nothing of the day's allowance", async () => {
  const { store, subscriptions } = await stage((store) =>
    bentStore(store, {
      deliveries: {
        async insertReplay(replay) {
          await store.subscriptions.delete(replay.subscriptionId);
          return await store.deliveries.insertReplay(replay);
        },
      },
    })
  );
  await insert(store, subscriptionOf("wh_1"));
  await append(store, [eventAt(101)], 200);
  await takeReplay(store, "key1", MAX_REPLAYED - 1);
  await assert.rejects(subscriptions.replay("key1", "wh_1", { fromLedger: 101, dryRun: false }), { code: "not_found" });
  await takeReplay(store, "key1", 1);
});

/** How each of the webhooks' replays went, asked for at once. */
async function replayAtOnce(on: Awaited<ReturnType<typeof stage>>, ids: string[]) {
  const asked = ids.map((id) => on.subscriptions.replay("key1", id, { fromLedger: 101, dryRun: false }));
  return (await Promise.allSettled(asked)).map((one) => one.status === "fulfilled" ? "begun" : one.reason.code);
}

test("replays begun at once take no more of a day's allowance than one after the other", async () => {
  const on = await stage();
  const ids = Array.from({ length: 5 }, (_, n) => `wh_${n}`);
  await insert(on.store, ...ids.map((id) => subscriptionOf(id)));
  await append(on.store, [eventAt(101)], 200);
  await takeReplay(on.store, "key1", MAX_REPLAYED - 1);
  const went = await replayAtOnce(on, ids);
  assert.deepEqual(went.toSorted(), ["begun", ...Array(4).fill("rate_limited")]);
});

test("a replay that is refused because another is under way takes nothing of the day's allowance", async () => {
  const on = await stage();
  await insert(on.store, subscriptionOf("wh_1"), subscriptionOf("wh_2"), subscriptionOf("wh_3"));
  await append(on.store, [eventAt(101)], 200);
  await takeReplay(on.store, "key1", MAX_REPLAYED - 2);
  assert.deepEqual(await replayAtOnce(on, ["wh_1"]), ["begun"]);
  assert.deepEqual(await replayAtOnce(on, ["wh_1"]), ["invalid_request"]);
  assert.deepEqual(await replayAtOnce(on, ["wh_2"]), ["begun"]);
  assert.deepEqual(await replayAtOnce(on, ["wh_3"]), ["rate_limited"]);
});

test("a test goes to the webhook as it is after the count: not when it was deleted meanwhile", async () => {
  const { store, subscriptions } = await stage((store) =>
    bentStore(store, {
      sharedState: {
        async change(...of) {
          const answer = await store.sharedState.change(...of);
          await store.subscriptions.delete("wh_1");
          return answer;
        },
      },
    })
  );
  await insert(store, subscriptionOf("wh_1"));
  await assert.rejects(subscriptions.test("key1", "wh_1"), { code: "not_found" });
});
