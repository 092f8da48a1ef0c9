// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { SCHEDULE } from "../../lib/store/webhook.ts";
import { MAX_ATTEMPTS } from "../../lib/webhooks/delivery/schedule.ts";
import { beginReplay, planReplay } from "../../lib/webhooks/replays.ts";
import { workerStage } from "./delivery/worker_stage.ts";
import { eventAt, type Posted, START_MS } from "./parts.ts";

test("a replay to one that keeps the order ends, also at an event that its endpoint can never take", async () => {
  let attempt = 1;
  const made = await workerStage((post: Posted) => {
    attempt = post.attempt;
    if (post.eventId !== eventAt(101).id) return "delivered";
    return post.kind === "delivery" && attempt >= MAX_ATTEMPTS ? "dead" : "retry";
  }, { ordered: true, retryMs: () => SCHEDULE[attempt - 1]! * 1_000 });
  made.worker.start();
  await made.owe(1, "wh_1");
  const look = async () => (await made.store.deliveries.reader("wh_1"))!;
  async function passUntil(isOver: () => Promise<boolean>): Promise<void> {
    for (let hour = 0; hour < 80 && !await isOver(); hour++) await made.pass(3_600_000, 60_000);
  }
  await passUntil(async () => (await look()).progress.dead > 0);
  assert.equal((await look()).progress.dead, 1);
  // Nothing is new: it is the only one by which its endpoint can be asked whether it is back.
  const plan = await planReplay(made.store, (await look()).subscription, { fromLedger: 101 });
  await beginReplay(made.store, "wh_1", plan, { id: "rp_1", nowMs: START_MS });
  await made.worker.changed("wh_1");
  await passUntil(async () => (await look()).replay === null);
  assert.equal((await look()).replay, null, "the replay goes on");
  await made.worker.stop({ drainMs: 0 });
});
