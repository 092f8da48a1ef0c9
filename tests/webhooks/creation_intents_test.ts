// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "../../lib/errors.ts";
import { createWebhookIntents } from "../../lib/http/intents/webhooks.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { bentStore } from "../store/bent_store.ts";
import { settle } from "../store/webhook_samples.ts";
import { createTestClock } from "../test_clock.ts";
import { append, bending, eventAt, insert, START_MS, subscriptionOf, subscriptionsOn } from "./parts.ts";

const CALLER = { keyId: subscriptionOf("wh_1").keyId, idempotencyKey: "order-7" };
const WANTED = { url: "https://a.example/" };
const REPLAYED = { fromLedger: 101, dryRun: false };

/** A store with a webhook and two events. A gateway with `cannotResolve` resolves no name. */
async function stage() {
  const clock = createTestClock(START_MS);
  const store = await openStore("memory:", { now: clock.now });
  await insert(store, subscriptionOf("wh_1"));
  await append(store, [eventAt(101), eventAt(102)], 200);
  let texts = 0;
  const newText = () => String(++texts).padStart(22, "0");
  const unresolved = () => Promise.reject(new GatewayError("invalid_request", "a.example cannot be resolved"));
  const reported = { full: 0 };
  const gateway = ({ on = store, cannotResolve = false } = {}) =>
    createWebhookIntents({
      intents: on.intents,
      networkSeconds: () => clock.now() / 1_000,
      newVersion: newText,
      onFull: () => void reported.full++,
      webhooks: subscriptionsOn(on, {
        ...(cannotResolve ? { targets: { check: unresolved } as never } : {}),
        createSecret: () => `whsec_${btoa(newText())}`,
        randomText: newText,
        clock,
      }),
    });
  return { store, gateway, reported };
}

const replayOf = async (store: Store) => (await store.deliveries.consumer("wh_1"))!.replay;

test("a repeated request returns the first webhook, also when a later gateway would refuse the target", async () => {
  const { store, gateway } = await stage();
  const made = await gateway().create(WANTED, CALLER);
  assert.deepEqual(await gateway({ cannotResolve: true }).create(WANTED, CALLER), made);
  await assert.rejects(gateway().create({ url: "https://b.example/" }, CALLER), { code: "invalid_request" });
  await store.subscriptions.delete(made.id);
  await assert.rejects(gateway().create(WANTED, CALLER), { code: "not_found" });
  assert.equal((await store.subscriptions.list({ limit: 9 })).length, 1);
});

test("two gateways that create a webhook for one intent at the same time return the same webhook", async () => {
  for (const cannotResolve of [false, true]) {
    const { store, gateway } = await stage();
    let first: unknown;
    const happens = async () => void (first = await gateway().create(WANTED, CALLER));
    // The second gateway has seen no intent when the first one makes its webhook.
    let isFirst = true;
    const get: Store["intents"]["get"] = async (name) => {
      const seen = await store.intents.get(name);
      if (isFirst) {
        isFirst = false;
        await happens();
      }
      return seen;
    };
    const second = gateway({ on: bentStore(store, { intents: { get } }), cannotResolve });
    assert.deepEqual(await second.create(WANTED, CALLER), first);
    assert.equal((await store.subscriptions.list({ limit: 9 })).length, 2);
  }
});

test("a repeated request starts no second replay, and returns the first one even after its end", async () => {
  const { store, gateway } = await stage();
  const begun = await gateway().replay("wh_1", REPLAYED, CALLER);
  const { id, cursor } = (await replayOf(store))!;
  assert.deepEqual(begun, { id, deliveries: 2, atLeast: false });
  assert.deepEqual(await gateway().replay("wh_1", REPLAYED, CALLER), begun);
  await settle(store, { subscriptionId: "wh_1", replay: { id, cursor, done: true } });
  assert.deepEqual(await gateway().replay("wh_1", REPLAYED, CALLER), begun);
  assert.equal(await replayOf(store), null);
});

test("a repeated request for a replay of 0 deliveries returns 0, also after new events in its ledgers", async () => {
  const { store, gateway } = await stage();
  const nothing = { fromLedger: 150, toLedger: 160, dryRun: false };
  const begun = await gateway().replay("wh_1", nothing, CALLER);
  assert.equal(begun.deliveries, 0);
  await append(store, [eventAt(155)], 200);
  assert.deepEqual(await gateway().replay("wh_1", nothing, CALLER), begun);
});

test("a gateway that was suspended while it started a replay neither starts a second one nor counts its events twice", async () => {
  const { store, gateway } = await stage();
  let first: unknown;
  const suspended = bending("deliveries", "insertReplay", async (insertReplay, ...step) => {
    first = await gateway().replay("wh_1", REPLAYED, CALLER);
    const { id, cursor } = (await replayOf(store))!;
    await settle(store, { subscriptionId: "wh_1", replay: { id, cursor, done: true } });
    return await insertReplay(...step);
  });
  assert.deepEqual(await gateway({ on: suspended(store) }).replay("wh_1", REPLAYED, CALLER), first);
  assert.equal(await replayOf(store), null, "it was begun a second time");
  const uses = await store.sharedState.read<{ count: number }[]>(`replayed/${CALLER.keyId}`);
  assert.equal(uses!.reduce((sum, { count }) => sum + count, 0), 2, "a replay that did not start does not count");
});

test("the gateway answers 429 to a webhook beyond the store's limit, and reports the full store", async () => {
  const { store, gateway, reported } = await stage();
  const insert = () => Promise.resolve("full" as const);
  const on = bentStore(store, { subscriptions: { insert } });
  await assert.rejects(gateway({ on }).create(WANTED, CALLER), { status: 429 });
  assert.equal(reported.full, 1);
});
