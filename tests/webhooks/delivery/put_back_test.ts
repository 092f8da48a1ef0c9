// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventAt, type Posted } from "../parts.ts";
import { hangs, workerStage } from "./worker_stage.ts";

const eventIds = (...ledgers: number[]) => ledgers.map((ledger) => eventAt(ledger).id);

const hanging = eventIds(104, 105);
/** What fails on this side once, and is put back. */
const STORIES: [what: string, failing: string[]][] = [
  ["one delivery is put back beside a later one that is under way", eventIds(104)],
  ["two deliveries are put back", eventIds(104, 105)],
];

for (const [what, failing] of STORIES) {
  test(`when ${what}, the order stays, and none is lost at a restart`, async () => {
    let isRestarted = false;
    const failed = new Set<string>();
    const made = await workerStage(({ eventId }: Posted) => {
      if (failing.includes(eventId) && !failed.has(eventId)) {
        failed.add(eventId);
        throw new Error("something is wrong on this side");
      }
      return hanging.includes(eventId) && !isRestarted ? hangs() : "delivered";
    }, { limits: { slowMs: 60_000 } });
    made.worker.start();
    // Once these are delivered, the next three are posted together.
    await made.owe(3, "wh_1");
    await made.pass(100);
    await made.owe(3, "wh_1");
    await made.pass(100);
    // What it comes to is written down, and the cursor with it. After a break they are posted again.
    await made.owe(1, "wh_1");
    await made.pass(6_000);
    await made.worker.stop({ drainMs: 0 });
    const posted = made.postedTo("wh_1").map(({ eventId }) => eventId);
    assert.deepEqual(posted.slice(3), [...eventIds(104, 105, 106), ...failing, ...eventIds(107)]);

    isRestarted = true;
    const next = made.newWorker("next");
    next.start();
    await made.pass(20_000, 50);
    const attempts = await made.store.deliveries.attempts("wh_1", { limit: 100 });
    const delivered = [...new Set(attempts.map(({ eventId }) => eventId))];
    assert.deepEqual(delivered.toSorted(), eventIds(101, 102, 103, 104, 105, 106, 107));
    await next.stop({ drainMs: 0 });
  });
}
