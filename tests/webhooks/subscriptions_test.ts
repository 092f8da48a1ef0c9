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
    // Fails like a worker that cannot read the webhook at this moment.
    onChange: () => onChange.fails ? Promise.reject(away) : Promise.resolve(),
  });
  return { store, subscriptions, onChange, key };
}

test("a rotation returns the new secret also when the worker cannot load it at once", async () => {
  const { store, subscriptions, onChange } = await stage();
  await insert(store, subscriptionOf("wh_1"));
  onChange.fails = true;
  const returned = await subscriptions.rotateSecret("key1", "wh_1").catch((error) => error);
  assert.equal((await store.subscriptions.get("wh_1"))!.secret, NEW_SECRET, "it signs from here on");
  assert.equal(returned.plainSecret, NEW_SECRET, String(returned));
});

test("the gateway returns a new webhook also when the worker cannot load it at once", async () => {
  const { store, subscriptions, onChange } = await stage();
  onChange.fails = true;
  const returned = await subscriptions.create("key1", { url: "https://a.example/" }).catch((error) => error);
  assert.equal((await store.subscriptions.list({ limit: 10 })).length, 1, "it is there");
  assert.equal(returned.plainSecret, NEW_SECRET, String(returned));
});

test("a key that is deleted during the creation of a webhook leaves no webhook", async () => {
  const { store, subscriptions, key } = await stage();
  key.isThere = () => Promise.resolve(false);
  await assert.rejects(subscriptions.create("key1", { url: "https://a.example/" }), { code: "unauthorized" });
  assert.deepEqual(await store.subscriptions.list({ limit: 10 }), []);
});

test("a new webhook stays when the store cannot report whether its key exists", async () => {
  const { store, subscriptions, key } = await stage();
  key.isThere = () => Promise.reject(new StoreError("unavailable", "the store is away"));
  const { id } = await subscriptions.create("key1", { url: "https://a.example/" });
  assert.equal((await store.subscriptions.list({ limit: 10 }))[0]?.id, id);
});

test("a replay of a webhook that is deleted meanwhile is not_found, and uses nothing of the day's allowance", async () => {
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

/** Starts a replay of each webhook concurrently, and returns their results. */
async function replayAtOnce(on: Awaited<ReturnType<typeof stage>>, ids: string[]) {
  const asked = ids.map((id) => on.subscriptions.replay("key1", id, { fromLedger: 101, dryRun: false }));
  return (await Promise.allSettled(asked)).map((one) => one.status === "fulfilled" ? "begun" : one.reason.code);
}

test("concurrent replays do not exceed the day's allowance", async () => {
  const on = await stage();
  const ids = Array.from({ length: 5 }, (_, n) => `wh_${n}`);
  await insert(on.store, ...ids.map((id) => subscriptionOf(id)));
  await append(on.store, [eventAt(101)], 200);
  await takeReplay(on.store, "key1", MAX_REPLAYED - 1);
  const went = await replayAtOnce(on, ids);
  assert.deepEqual(went.toSorted(), ["begun", ...Array(4).fill("rate_limited")]);
});

test("a replay that is refused because another one runs uses nothing of the day's allowance", async () => {
  const on = await stage();
  await insert(on.store, subscriptionOf("wh_1"), subscriptionOf("wh_2"), subscriptionOf("wh_3"));
  await append(on.store, [eventAt(101)], 200);
  await takeReplay(on.store, "key1", MAX_REPLAYED - 2);
  assert.deepEqual(await replayAtOnce(on, ["wh_1"]), ["begun"]);
  assert.deepEqual(await replayAtOnce(on, ["wh_1"]), ["invalid_request"]);
  assert.deepEqual(await replayAtOnce(on, ["wh_2"]), ["begun"]);
  assert.deepEqual(await replayAtOnce(on, ["wh_3"]), ["rate_limited"]);
});

test("a test event of a webhook that is deleted meanwhile is not_found", async () => {
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
