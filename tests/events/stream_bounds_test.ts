// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createHistory } from "../../lib/events/history.ts";
import { STREAM_LIMITS } from "../../lib/events/streams.ts";
import { openStore } from "../../lib/store/open.ts";
import { append, appendMany, sampleEvent, scanned } from "../store/samples.ts";
import { createStage, idsOf, kinds, refusedWith, takeEvents } from "./streams_stage.ts";

describe("a stream with gaps", () => {
  const gap = { epoch: 0, fromLedger: 1_005, toLedger: 1_007, contractIds: ["C"], detectedAt: "2026-11-01T00:00:00Z" };
  const missing = { ...gap, reason: "pruned" as const };

  test("sends known gaps before caught_up and new gaps when they open, and does not repeat a gap that shrank", async () => {
    await using stage = await createStage();
    await append(stage.store, sampleEvent(1));
    await stage.notice({ gaps: [missing] });
    const stream = await stage.open();
    assert.deepEqual(kinds((await stream.next())!), ["event", "gap", "caught_up"]);
    const next = stream.next();
    await stage.notice({
      gaps: [{ ...missing, fromLedger: 1_006 }, { ...missing, fromLedger: 1_020, toLedger: 1_021 }],
    });
    await stage.pass(300);
    const arriving = (await next)!;
    assert.deepEqual(arriving, [{
      kind: "gap",
      gap: { ...gap, reason: "not_read", fromLedger: 1_020, toLedger: 1_021 },
    }]);
    const later = await stage.open({ fromLedger: 1_010 });
    assert.deepEqual(kinds((await later.next())!), ["gap", "caught_up"], "the first lies before its range");
  });

  test("sends a gap that opens while a slow client's queue is full", async () => {
    await using stage = await createStage();
    const stream = await stage.open();
    assert.deepEqual(kinds((await stream.next())!), ["caught_up"]);
    await appendMany(stage.store, 1, 400);
    stage.streams.wake();
    await stage.pass(300);
    await stage.notice({ gaps: [missing] });
    await stage.pass(300);
    const frames = await takeEvents(stream, 400);
    assert.deepEqual(frames.filter(({ kind }) => kind === "gap"), [{
      kind: "gap",
      gap: { ...gap, reason: "not_read" },
    }]);
  });

  test("begins with a gap for a Last-Event-ID from before the oldest event, and continues with stored events", async () => {
    await using stage = await createStage();
    await appendMany(stage.store, 1, 10);
    await scanned(stage.store, 1_010);
    const [first] = await takeEvents(await stage.open(), 1);
    assert.ok(first?.kind === "event");
    await stage.store.events.forget({ upTo: 6, undelivered: [] });
    const resumed = await stage.open({ lastEventId: first.cursor });
    const frames = await takeEvents(resumed, 4);
    assert.deepEqual(frames[0], { kind: "gap", gap: { reason: "not_held", oldestLedger: 1_008 } });
    assert.deepEqual(idsOf(frames), [7, 8, 9, 10].map((n) => sampleEvent(n).id));
    await assert.rejects(
      stage.open({ cursor: first.cursor }),
      refusedWith("invalid_request", /older than the oldest stored event/),
    );
  });

  test("sends a gap for a fromLedger before the oldest event, and for events deleted while the client reads slowly", async () => {
    await using stage = await createStage();
    await appendMany(stage.store, 1, 300);
    const early = await stage.open({ fromLedger: 900 });
    assert.deepEqual(await early.next(), [{ kind: "gap", gap: { reason: "not_held", oldestLedger: 1_000 } }]);
    const slow = await stage.open();
    assert.equal(idsOf((await slow.next())!).length, 100);
    await stage.store.events.forget({ upTo: 150, undelivered: [] });
    const [first, ...rest] = (await slow.next())!;
    assert.equal(first?.kind, "gap");
    assert.equal(idsOf(rest)[0], sampleEvent(151).id);
  });

  test("refuses a cursor of another store, an invalid cursor and a descending cursor", async () => {
    await using stage = await createStage();
    await appendMany(stage.store, 1, 3);
    const other = await openStore("memory:");
    const foreign = (await createHistory({ store: other, head: { sequence: 0 } as never }).page({ limit: 1 })).cursor;
    await other.close();
    await assert.rejects(stage.open({ lastEventId: foreign }), refusedWith("invalid_request", /of another store/));
    await assert.rejects(stage.open({ lastEventId: "x" }), refusedWith("invalid_request", /from an earlier answer/));
    const { cursor } = await stage.history.page({ order: "desc", limit: 1 });
    await assert.rejects(stage.open({ cursor }), refusedWith("invalid_request", /descending/));
  });
});

describe("the limits of streams", () => {
  test("allow 20 streams per key and 1000 per gateway, and a closed stream frees its place", async () => {
    await using stage = await createStage();
    const all = await Promise.all(Array.from({ length: STREAM_LIMITS.perKey }, () => stage.open()));
    await assert.rejects(stage.open(), refusedWith("rate_limited", /has 20 streams open/));
    await stage.open({ keyId: "other" });
    all[0]!.close();
    await stage.open();
    for (let n = stage.streams.size; n < STREAM_LIMITS.inAll; n++) await stage.open({ keyId: `key ${n}` });
    await assert.rejects(stage.open({ keyId: "last" }), refusedWith("unavailable", /has 1000 streams open/));
  });

  test("hold for 50 streams that one key opens at the same time", async () => {
    await using stage = await createStage();
    const opened = await Promise.allSettled(Array.from({ length: 50 }, () => stage.open()));
    assert.equal(opened.filter(({ status }) => status === "fulfilled").length, STREAM_LIMITS.perKey);
  });

  test("end a stream whose client reads nothing for half a minute, but not a slow client's stream", async () => {
    await using stage = await createStage();
    await appendMany(stage.store, 1, 4_000);
    const [deaf, slow] = [await stage.open(), await stage.open()];
    for (const stream of [deaf, slow]) assert.equal(idsOf((await stream.next())!).length, 100);
    for (let pages = 0; pages < 4; pages++) {
      await stage.pass(12_000);
      assert.equal(idsOf((await slow.next())!).length, 100);
    }
    assert.equal(stage.streams.size, 1);
    assert.equal(await deaf.next(), undefined);
  });

  test("bound the queue of a live stream whose client does not read, and the client misses no event later", async () => {
    await using stage = await createStage();
    const stream = await stage.open();
    assert.deepEqual(kinds((await stream.next())!), ["caught_up"]);
    await appendMany(stage.store, 1, 2_000);
    stage.streams.wake();
    await stage.pass(5_000);
    const first = (await stream.next())!;
    assert.ok(first.length <= 257, String(first.length));
    const rest = await takeEvents(stream, 2_000 - idsOf(first).length);
    assert.deepEqual([...idsOf(first), ...idsOf(rest)], Array.from({ length: 2_000 }, (_, n) => sampleEvent(n + 1).id));
  });

  test("end all streams of a disabled key within a second, with the reason and without further events", async () => {
    await using stage = await createStage();
    const key: { refusal?: string } = {};
    const asked = [() => key.refusal, () => Promise.resolve(key.refusal)];
    const [known, looked] = await Promise.all(asked.map((refusal) => stage.open({ refusal })));
    const other = await stage.open({ keyId: "other" });
    for (const stream of [known!, looked!, other]) assert.deepEqual(kinds((await stream.next())!), ["caught_up"]);
    key.refusal = "disabled";
    await stage.pass(400);
    await stage.happen(1);
    await stage.pass(300);
    for (const stream of [known!, looked!]) {
      assert.deepEqual(await stream.next(), [{ kind: "revoked", reason: "disabled" }]);
      assert.equal(await stream.next(), undefined);
    }
    assert.deepEqual(kinds((await other.next())!), ["event"]);
  });

  test("keep streams open while the key check fails", async () => {
    await using stage = await createStage();
    const stream = await stage.open({ refusal: () => Promise.reject(new Error("the store fails")) });
    await stage.pass(1_000);
    await stage.happen(1);
    assert.equal(idsOf(await takeEvents(stream, 1)).length, 1);
  });

  test("delay new events by at most 3 s when a key check does not answer", async () => {
    await using stage = await createStage();
    let hangs = false;
    const stream = await stage.open({ refusal: () => hangs ? new Promise(() => {}) : undefined });
    await stream.next();
    hangs = true;
    await stage.happen(1);
    await stage.pass(3_000);
    assert.equal(idsOf(await takeEvents(stream, 1)).length, 1);
  });

  test("let a failing store delay new events, with one report and without a lost event", async () => {
    await using stage = await createStage();
    const stream = await stage.open();
    await stream.next();
    const { bounds } = stage.store.events;
    stage.store.events.bounds = () => Promise.reject(new Error("the disk is full"));
    await stage.happen(1);
    await stage.pass(2_000);
    assert.deepEqual(stage.problems.length, 1);
    stage.store.events.bounds = bounds;
    await stage.pass(1_000);
    assert.equal(idsOf(await takeEvents(stream, 1)).length, 1);
  });

  test("drain: waiting frames are sent, all streams end, and new streams are refused", async () => {
    await using stage = await createStage();
    const stream = await stage.open();
    await stream.next();
    await stage.happen(1);
    await stage.pass(300);
    stage.streams.drain();
    assert.equal(idsOf((await stream.next())!).length, 1);
    assert.equal(await stream.next(), undefined);
    await assert.rejects(stage.open(), refusedWith("unavailable", /shutting down/));
  });
});
