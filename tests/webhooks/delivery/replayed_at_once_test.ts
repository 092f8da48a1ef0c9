// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, eventAt, failingStore, owedTo, type Posted } from "../parts.ts";
import { courierStage } from "./courier_stage.ts";

for (const [before, rejected] of [[0, 0], [1, 1]] as const) {
  test(`what fails is not kept when a replay delivers it right after, with ${before} kept before`, async () => {
    const waiting = new Map<string | null, () => void>();
    const answer = ({ eventId, replayId }: Posted): Answer => {
      if (before > 0 && eventId === eventAt(101).id) return "rejected";
      if (eventId !== eventAt(104).id) return "delivered";
      return new Promise((resolve) =>
        waiting.set(replayId, () => resolve(replayId === null ? "rejected" : "delivered"))
      );
    };
    const made = await courierStage(answer);
    made.courier.start();
    await made.owe(3, "wh_1");
    await made.pass(1_000);
    await made.owe(1);
    await made.pass(100);
    const place = { fromHeight: 104, toHeight: 104, cursor: 3, endSequence: 4 };
    const said = { deliveries: 1, atLeast: false, createdAtMs: 0 };
    await made.store.deliveries.insertReplay({ id: "rp_4", subscriptionId: "wh_1", ...place, ...said });
    await made.courier.changed("wh_1");
    await made.pass(100);
    waiting.get(null)!();
    waiting.get("rp_4")!();
    await made.pass(1_000);
    assert.equal((await owedTo(made.store, "wh_1")).rejected, rejected);
    await made.courier.stop({ drainMs: 0 });
  });
}

test("the first failure is not kept when a replay delivers it right after, also where the store fails in between", async () => {
  const waiting = new Map<string | null, () => void>();
  let fails = false;
  const made = await courierStage(
    ({ replayId }) =>
      new Promise((resolve) => waiting.set(replayId, () => resolve(replayId === null ? "rejected" : "delivered"))),
    { store: (store) => failingStore(store, "deliveries", "reader", () => fails) },
  );
  made.courier.start();
  await made.owe(1, "wh_1");
  await made.pass(100);
  const place = { fromHeight: 101, toHeight: 101, cursor: 0, endSequence: 1 };
  const said = { deliveries: 1, atLeast: false, createdAtMs: 0 };
  await made.store.deliveries.insertReplay({ id: "rp_1", subscriptionId: "wh_1", ...place, ...said });
  await made.courier.changed("wh_1");
  await made.pass(100);
  fails = true;
  waiting.get(null)!();
  await made.pass(100);
  assert.equal((await owedTo(made.store, "wh_1")).rejected, 1);
  waiting.get("rp_1")!();
  await made.pass(100);
  fails = false;
  await made.pass(10_000);
  assert.equal((await owedTo(made.store, "wh_1")).rejected, 0);
  await made.courier.stop({ drainMs: 0 });
});
