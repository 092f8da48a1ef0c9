// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createHistory } from "../../lib/events/history.ts";
import type { Store } from "../../lib/store/store.ts";
import { appendMany, sampleEvent, scanned } from "../store/samples.ts";
import { createStage, idsOf, kinds, refusedWith } from "./streams_stage.ts";
import { bending } from "../webhooks/parts.ts";

/** Deletes events once, after the reader has read the log's bounds and before it reads events. */
function forgetsMeanwhile(store: Store, upTo: number): Store {
  let isDone = false;
  return bending("events", "read", async (read, query) => {
    if (!isDone) await store.events.forget({ upTo, undelivered: [] });
    isDone = true;
    return await read(query);
  })(store);
}

describe("events that retention deletes during a read", () => {
  test("are not skipped silently: the gateway refuses the page's cursor", async () => {
    await using stage = await createStage();
    await appendMany(stage.store, 1, 10);
    await scanned(stage.store, 1_010);
    const { cursor } = await stage.history.page({ limit: 2 });
    const history = createHistory({ store: forgetsMeanwhile(stage.store, 5), head: { sequence: 0 } as never });
    const page = history.page({ cursor, limit: 3 });
    await assert.rejects(page, refusedWith("invalid_request", /older than the oldest stored event/));
  });

  test("are not counted in the oldestLedger of a page from a ledger", async () => {
    await using stage = await createStage();
    await appendMany(stage.store, 1, 10);
    await scanned(stage.store, 1_010);
    const history = createHistory({ store: forgetsMeanwhile(stage.store, 5), head: { sequence: 0 } as never });
    const { events, oldestLedger } = await history.page({ fromLedger: 1_003, limit: 1 });
    assert.deepEqual([events[0]!.ledger, oldestLedger], [1_006, 1_007]);
  });

  test("are reported by a stream as a gap", async () => {
    await using stage = await createStage((store) => forgetsMeanwhile(store, 5));
    await appendMany(stage.store, 1, 10);
    await scanned(stage.store, 1_010);
    const frames = (await (await stage.open()).next())!;
    assert.deepEqual(kinds(frames).slice(0, 2), ["gap", "event"]);
    assert.deepEqual(idsOf(frames), [6, 7, 8, 9, 10].map((n) => sampleEvent(n).id));
  });

  test("are also reported as a gap by a stream that has caught up", async () => {
    await using stage = await createStage();
    const stream = await stage.open();
    assert.deepEqual(kinds((await stream.next())!), ["caught_up"]);
    for (const [from, to, forgotten] of [[1, 5, 3], [6, 8, 8]] as const) {
      await appendMany(stage.store, from, to);
      await scanned(stage.store, 1_000 + to);
      await stage.store.events.forget({ upTo: forgotten, undelivered: [] });
      stage.streams.wake();
      const arriving = stream.next();
      await stage.pass(1_000);
      const frames = (await arriving)!;
      assert.equal(frames[0]!.kind, "gap");
      const kept = [4, 5].filter((n) => n >= from);
      assert.deepEqual(idsOf(frames), kept.map((n) => sampleEvent(n).id));
    }
    await stage.happen(9);
    const arriving = stream.next();
    await stage.pass(1_000);
    assert.deepEqual(idsOf((await arriving)!), [sampleEvent(9).id]);
  });
});
