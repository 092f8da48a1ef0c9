// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createStage } from "./streams_stage.ts";

test("a stream from before the oldest event begins with a gap, also when retention has deleted every event", async () => {
  await using stage = await createStage();
  for (const n of [1, 2, 3]) await stage.happen(n);
  await stage.store.events.forget({ upTo: 3, undelivered: [] });
  const { scannedLedger, oldest } = await (async () => {
    const page = await stage.history.page({ limit: 10 });
    return { scannedLedger: (await stage.store.events.watcherState())!.scannedLedger, oldest: page.oldestLedger };
  })();
  const stream = await stage.open({ fromLedger: 1 });
  const [first] = (await stream.next())!;
  assert.equal(first?.kind, "gap", `the oldest ledger is ${oldest}, the scanned ledger is ${scannedLedger}`);
});
