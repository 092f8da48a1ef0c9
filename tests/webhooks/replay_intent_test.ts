// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createReplayIntents } from "../../lib/http/intents/webhooks.ts";
import { openStore } from "../../lib/store/open.ts";
import { bentStore } from "../store/bent_store.ts";
import { settle } from "../store/webhook_samples.ts";
import { createTestClock } from "../test_clock.ts";
import { intentGateways } from "./intent_gateways.ts";
import { append, eventAt, insert, START_MS, subscriptionOf } from "./parts.ts";

const ASKER = { keyId: subscriptionOf("wh_1").keyId, idempotencyKey: "after-the-outage" };
const WANTED = { fromLedger: 101, dryRun: false };

async function stage() {
  const clock = createTestClock(START_MS);
  const store = await openStore("memory:", { now: clock.now });
  await insert(store, subscriptionOf("wh_1"));
  await append(store, [eventAt(101), eventAt(102)], 200);
  const intents = intentGateways(store, clock);
  /** A gateway; it dies once it has begun the replay. */
  const gateway = (options?: { dies: boolean }) => createReplayIntents(intents(options));
  await assert.rejects(gateway({ dies: true })("wh_1", WANTED, ASKER), /killed/);
  clock.advance(31_000);
  return { store, gateway };
}

const replayOf = async (store: Awaited<ReturnType<typeof openStore>>) =>
  (await store.deliveries.consumer("wh_1"))!.replay;

test("a replay that a gateway started before a kill is returned to a client that retries", async () => {
  const { store, gateway } = await stage();
  const begun = await replayOf(store);
  const told = await gateway()("wh_1", WANTED, ASKER);
  assert.deepEqual(told, { id: begun!.id, deliveries: 2, atLeast: false });
  assert.deepEqual(await replayOf(store), begun);
});

test("where it has ended by then it is begun under another id, which no worker takes for the one that ended", async () => {
  const { store, gateway } = await stage();
  const { id, cursor } = (await replayOf(store))!;
  await settle(store, { subscriptionId: "wh_1", replay: { id, cursor, done: true } });
  assert.equal(await replayOf(store), null);
  const told = await gateway()("wh_1", WANTED, ASKER);
  assert.notEqual(told.id, id);
  assert.equal((await replayOf(store))!.id, told.id);
  assert.deepEqual(await gateway()("wh_1", WANTED, ASKER), told);
});

test("a gateway that was suspended during the start of a replay does not start it again", async () => {
  const clock = createTestClock(START_MS);
  const bare = await openStore("memory:", { now: clock.now });
  await insert(bare, subscriptionOf("wh_1"));
  await append(bare, [eventAt(101), eventAt(102)], 200);
  let meanwhile: (() => Promise<void>) | undefined;
  const store = bentStore(bare, {
    deliveries: {
      async insertReplay(...of) {
        const happens = meanwhile;
        meanwhile = undefined;
        await happens?.();
        return await bare.deliveries.insertReplay(...of);
      },
    },
  });
  const wait = (ms: number) => Promise.resolve(clock.advance(ms));
  const intents = intentGateways(store, { ...clock, wait });
  const replayOf = async () => (await bare.deliveries.consumer("wh_1"))!.replay;

  let ofOther: unknown;
  meanwhile = async () => {
    clock.advance(31_000);
    ofOther = await createReplayIntents(intents())("wh_1", WANTED, ASKER);
    const { id, cursor } = (await replayOf())!;
    await settle(bare, { subscriptionId: "wh_1", replay: { id, cursor, done: true } });
  };
  const told = await createReplayIntents(intents())("wh_1", WANTED, ASKER);
  assert.deepEqual(told, ofOther);
  assert.equal(await replayOf(), null, "it was begun a second time");
});
