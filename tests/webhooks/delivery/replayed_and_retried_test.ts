// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../../lib/store/store.ts";
import { eventAt, owedTo, type Posted } from "../parts.ts";
import { answersAfter, workerStage } from "./worker_stage.ts";

/** Starts a replay of one event. */
async function resend({ store, worker }: Awaited<ReturnType<typeof workerStage>>, sequence: number): Promise<void> {
  const [event] = await store.events.read({ filter: {}, after: sequence - 1, order: "asc", limit: 1 });
  await begin(store, sequence, event!.ledger);
  await worker.changed("wh_1");
}

const begin = (store: Store, sequence: number, height: number) =>
  store.deliveries.insertReplay({
    ...{ id: `rp_${sequence}`, subscriptionId: "wh_1", fromHeight: height, toHeight: height },
    ...{ cursor: sequence - 1, endSequence: sequence, deliveries: 1, atLeast: false, createdAtMs: 0 },
  });

const kinds = (posted: Posted[], ledger: number) =>
  posted.filter(({ eventId }) => eventId === eventAt(ledger).id)
    .map(({ replayId, attempt }) => replayId === null ? attempt : "replay");

test("an event is not sent twice when its retry becomes due while a replay delivers it", async () => {
  await using made = await workerStage((post, clock) =>
    post.replayId === null ? "retry" : answersAfter(2_000)(post, clock)
  );
  await made.owe(1, "wh_1");
  await made.pass(4_000);
  await resend(made, 1);
  await made.pass(20_000);
  assert.deepEqual(kinds(made.script.posted, 101), [1, "replay"]);
  assert.equal((await owedTo(made.store, "wh_1")).retrying, 0);
});

test("a replay of an event waits for the retry in flight, and a failed replay post is retried", async () => {
  await using made = await workerStage((post, clock) => {
    if (post.eventId !== eventAt(103).id) return "delivered";
    return post.replayId !== null || post.attempt === 1 ? "retry" : answersAfter(8_000)(post, clock);
  });
  await made.owe(3, "wh_1");
  await made.pass(2_000);
  await made.owe(2);
  await made.pass(3_500);
  await resend(made, 3);
  await made.pass(30_000);
  assert.deepEqual(kinds(made.script.posted, 103), [1, 2, "replay", 2]);
  assert.equal((await owedTo(made.store, "wh_1")).retrying, 0);
});

test("an event that a replay delivered is not sent twice when its retry is due before the replay's commit", async () => {
  let answer = () => {};
  await using made = await workerStage(({ eventId, replayId }) => {
    if (eventId !== eventAt(103).id) return "delivered";
    return replayId === null ? "retry" : new Promise((resolve) => answer = () => resolve("delivered"));
  }, { gatherMs: 400 });
  await made.owe(3, "wh_1");
  await made.pass(1_000);
  const dueAtMs = (await made.store.deliveries.consumer("wh_1"))!.progress.nextDueAtMs!;
  await resend(made, 3);
  await made.pass(dueAtMs - made.clock.now() - 20);
  answer();
  await made.pass(20_000);
  assert.deepEqual(kinds(made.script.posted, 103), [1, "replay"]);
  assert.equal((await owedTo(made.store, "wh_1")).retrying, 0);
});
