// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { beginReplay, planReplay } from "../../lib/webhooks/replays.ts";
import { answersAfter, workerStage } from "./delivery/worker_stage.ts";
import { START_MS } from "./parts.ts";

test("a replay waits for what is new without keeping the process busy", async () => {
  const made = await workerStage((): Promise<"delivered"> => slow());
  const slow = answersAfter(() => made.clock, 500);
  made.worker.start();
  await made.owe(5, "wh_1");
  await made.pass(20_000, 50);
  await made.worker.stop({ drainMs: 0 });
  const { subscription } = (await made.store.deliveries.reader("wh_1"))!;
  const plan = await planReplay(made.store, subscription, { fromLedger: 101 });
  await beginReplay(made.store, "wh_1", plan, { id: "rp_1", nowMs: START_MS });
  await made.owe(5);
  // One post at a time until its endpoint has answered: four events wait meanwhile.
  const next = made.newWorker("next");
  next.start();
  await made.pass(20_000, 50);
  const replayed = made.script.posted.filter(({ replayId }) => replayId !== null).length;
  assert.deepEqual([made.script.posted.length, replayed], [15, 5]);
  assert.equal((await made.store.deliveries.reader("wh_1"))!.replay, null);
  await next.stop({ drainMs: 0 });
});
