// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, eventAt, owedTo, type Posted } from "../parts.ts";
import { workerStage } from "./worker_stage.ts";

for (const before of [0, 1]) {
  test(`a replay of what is being posted is sent after that has failed, and delivers it, with ${before} kept before`, async () => {
    let fail = () => {};
    const answer = ({ eventId, replayId }: Posted): Answer => {
      if (before > 0 && eventId === eventAt(101).id) return "rejected";
      if (eventId !== eventAt(104).id || replayId !== null) return "delivered";
      return new Promise((resolve) => fail = () => resolve("rejected"));
    };
    const made = await workerStage(answer);
    made.worker.start();
    await made.owe(3, "wh_1");
    await made.pass(1_000);
    await made.owe(1);
    await made.pass(100);
    const place = { fromHeight: 104, toHeight: 104, cursor: 3, endSequence: 4 };
    const said = { deliveries: 1, atLeast: false, createdAtMs: 0 };
    await made.store.deliveries.insertReplay({ id: "rp_4", subscriptionId: "wh_1", ...place, ...said });
    await made.worker.changed("wh_1");
    await made.pass(3_000);
    assert.equal(made.postedTo("wh_1").length, 4, "one post at a time is made of an event");
    fail();
    await made.pass(3_000);
    assert.equal(made.postedTo("wh_1").at(-1)!.replayId, "rp_4");
    assert.equal((await owedTo(made.store, "wh_1")).rejected, before);
    await made.worker.stop({ drainMs: 0 });
  });
}
