// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { SCHEDULE } from "../../lib/retry_schedule.ts";
import { partitionLease, partitionOf } from "../../lib/store/webhook.ts";
import { MAX_ATTEMPTS } from "../../lib/webhooks/delivery/schedule.ts";
import { bentStore } from "../store/bent_store.ts";
import { answersAfter, workerStage } from "./delivery/worker_stage.ts";
import { type Answer, append, bending, eventAt, owedTo, type Posted, START_MS, subscriptionOf } from "./parts.ts";

test("a replay waits for new events without keeping the process busy", async () => {
  const made = await workerStage(answersAfter(500));
  await made.owe(5, "wh_1");
  await made.pass(20_000, 50);
  await made.worker.stop({ drainMs: 0 });
  await made.replay("rp_1");
  await made.owe(5);
  // One post at a time until its endpoint has answered: four events wait meanwhile.
  const next = made.newWorker("next");
  next.start();
  await made.pass(20_000, 50);
  const replayed = made.script.posted.filter(({ replayId }) => replayId !== null).length;
  assert.deepEqual([made.script.posted.length, replayed], [15, 5]);
  assert.equal((await made.store.deliveries.consumer("wh_1"))!.replay, null);
  await next.stop({ drainMs: 0 });
});

test("a replay to an ordered webhook ends, also at an event that its endpoint never accepts", async () => {
  let attempt = 1;
  await using made = await workerStage((post: Posted) => {
    attempt = post.attempt;
    if (post.eventId !== eventAt(101).id) return "delivered";
    return post.kind === "delivery" && attempt >= MAX_ATTEMPTS ? "dead" : "retry";
  }, { ordered: true, retryMs: () => SCHEDULE[attempt - 1]! * 1_000 });
  await made.owe(1, "wh_1");
  const look = async () => (await made.store.deliveries.consumer("wh_1"))!;
  async function passUntil(isOver: () => Promise<boolean>): Promise<void> {
    for (let hour = 0; hour < 80 && !await isOver(); hour++) await made.pass(3_600_000, 60_000);
  }
  await passUntil(async () => (await look()).progress.dead > 0);
  assert.equal((await look()).progress.dead, 1);
  // Without new events, only the replayed event can probe the endpoint.
  await made.replay("rp_1");
  await passUntil(async () => (await look()).replay === null);
  assert.equal((await look()).replay, null, "the replay goes on");
});

test("the worker sends a replay that starts right after the end of another one", async () => {
  let ended: (() => Promise<void>) | undefined;
  await using made = await workerStage(() => "delivered", {
    store: bending("deliveries", "settle", async (settle, step) => {
      await settle(step);
      if (!step.settlements.some(({ replay }) => replay?.done)) return;
      const begin = ended;
      ended = undefined;
      await begin?.();
    }),
  });
  await made.owe(5, "wh_1");
  await made.pass(500);
  // A client starts the second replay at the end of the first; the log grows meanwhile.
  ended = async () => {
    await made.replay("rp_2");
    await made.owe(1);
    // The commit stands; its answer is on its way.
    await made.clock.wait(10);
  };
  await made.replay("rp_1");
  await made.pass(60_000, 50);
  const sent = (id: string) => made.script.posted.filter(({ replayId }) => replayId === id).length;
  assert.deepEqual([sent("rp_1"), sent("rp_2")], [5, 5]);
  assert.equal((await made.store.deliveries.consumer("wh_1"))!.replay, null);
});

test("a replay whose last commit was fenced ends after the worker has its lease again", async () => {
  const refused: unknown[] = [];
  await using made = await workerStage(() => "delivered", {
    starts: false,
    store: (store) =>
      bentStore(store, {
        deliveries: {
          async settle(step) {
            if (step.settlements.some(({ replay }) => replay?.done) && refused.length === 0) {
              // Another process takes the expired lease for a moment.
              const name = partitionLease(partitionOf("wh_1"));
              const taken = await store.leases.acquire({ name, holder: "another", durationMs: 10_000 });
              assert.ok(taken);
              await store.leases.release([taken]);
            }
            await store.deliveries.settle(step).catch((cause) => {
              refused.push(cause.kind);
              throw cause;
            });
          },
        },
      }),
  });
  // The store's lock holder acquires every lease, also one of another holder.
  await made.store.holdForServing();
  made.worker.start();
  await made.owe(5, "wh_1");
  await made.pass(3_000);
  await made.replay("rp_1");
  await made.pass(60_000, 20);
  assert.deepEqual(refused, ["fenced"]);
  assert.equal((await made.store.deliveries.consumer("wh_1"))!.replay, null, "the replay has ended");
});

test("a replay ends also when the worker learns its end during another commit", async () => {
  await using made = await workerStage(() => "delivered", {
    starts: false,
    // A database that is some milliseconds away.
    store: (store) =>
      bentStore(store, {
        events: {
          async read(query) {
            await made.clock.wait(40);
            return await store.events.read(query);
          },
        },
        deliveries: {
          async settle(step) {
            await made.clock.wait(80);
            await store.deliveries.settle(step);
          },
        },
      }),
  });
  made.worker.start();
  await made.owe(5, "wh_0");
  await made.pass(3_000);
  // Created while the watcher lags: the replay waits for the ledgers before its start.
  await made.store.subscriptions.insert(subscriptionOf("wh_1", { startHeight: 107 }), 100);
  await made.worker.changed("wh_1");
  await made.replay("rp_1");
  assert.equal((await made.store.deliveries.consumer("wh_1"))!.replay!.endSequence, null);
  await made.pass(5_400);
  // Ledger 106, the replay's last, has no event; 107 is the webhook's first own ledger.
  await append(made.store, [eventAt(107)], 107, START_MS + 10_000);
  made.worker.wake();
  await made.pass(60_000, 20);
  assert.equal(made.postedTo("wh_1").length, 6);
  assert.equal((await made.store.deliveries.consumer("wh_1"))!.replay, null, "the replay has ended");
});

for (const before of [0, 1]) {
  test(`a replay of an event in flight is posted after its delivery was rejected, with ${before} earlier rejections stored`, async () => {
    let fail = () => {};
    const answer = ({ eventId, replayId }: Posted): Answer => {
      if (before > 0 && eventId === eventAt(101).id) return "rejected";
      if (eventId !== eventAt(104).id || replayId !== null) return "delivered";
      return new Promise((resolve) => fail = () => resolve("rejected"));
    };
    await using made = await workerStage(answer);
    await made.owe(3, "wh_1");
    await made.pass(1_000);
    await made.owe(1);
    await made.pass(100);
    const place = { fromHeight: 104, toHeight: 104, cursor: 3, endSequence: 4 };
    const said = { deliveries: 1, atLeast: false, createdAtMs: 0 };
    await made.store.deliveries.insertReplay({ id: "rp_4", subscriptionId: "wh_1", ...place, ...said });
    await made.worker.changed("wh_1");
    await made.pass(3_000);
    assert.equal(made.postedTo("wh_1").length, 4, "an event has one post at a time");
    fail();
    await made.pass(3_000);
    assert.equal(made.postedTo("wh_1").at(-1)!.replayId, "rp_4");
    assert.equal((await owedTo(made.store, "wh_1")).rejected, before);
  });
}
