// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createHistory } from "../../lib/events/history.ts";
import { STREAM_LIMITS } from "../../lib/events/streams.ts";
import { openStore } from "../../lib/store/open.ts";
import { append, appendMany, sampleEvent, scanned } from "../store/samples.ts";
import { createStage, idsOf, kinds, refusedWith, takeEvents } from "./streams_stage.ts";

describe("gaps of a stream", () => {
  const gap = { epoch: 0, fromLedger: 1_005, toLedger: 1_007, contractIds: ["C"], detectedAt: "2026-11-01T00:00:00Z" };
  const missing = { ...gap, reason: "pruned" as const };

  test("gaps come before it has caught up, and later ones when they open; smaller ones are not new", async () => {
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
    const told = (await next)!;
    assert.deepEqual(told, [{ kind: "gap", gap: { ...gap, reason: "not_read", fromLedger: 1_020, toLedger: 1_021 } }]);
    const later = await stage.open({ fromLedger: 1_010 });
    assert.deepEqual(kinds((await later.next())!), ["gap", "caught_up"], "the first lies before its range");
  });

  test("a gap that opens while a slow client's queue is full is sent, too", async () => {
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

  test("a Last-Event-ID from before the oldest event begins with a gap, and continues with stored events", async () => {
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

  test("so does a fromLedger from before the oldest event, and a stream read too slowly while retention deletes events", async () => {
    await using stage = await createStage();
    await appendMany(stage.store, 1, 300);
    const early = await stage.open({ fromLedger: 900 });
    assert.deepEqual(await early.next(), [{ kind: "gap", gap: { reason: "not_held", oldestLedger: 1_000 } }]);
    const slow = await stage.open();
    assert.equal(idsOf((await slow.next())!).length, 100);
    await stage.store.events.forget({ upTo: 150, undelivered: [] });
    const [said, ...rest] = (await slow.next())!;
    assert.equal(said?.kind, "gap");
    assert.equal(idsOf(rest)[0], sampleEvent(151).id);
  });

  test("a cursor that cannot be continued is refused", async () => {
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

describe("the bounds of streams", () => {
  test("a key has so many at most, and the gateway; one that ends makes room", async () => {
    await using stage = await createStage();
    const all = await Promise.all(Array.from({ length: STREAM_LIMITS.perKey }, () => stage.open()));
    await assert.rejects(stage.open(), refusedWith("rate_limited", /has 20 streams open/));
    await stage.open({ keyId: "other" });
    all[0]!.close();
    await stage.open();
    for (let n = stage.streams.size; n < STREAM_LIMITS.inAll; n++) await stage.open({ keyId: `key ${n}` });
    await assert.rejects(stage.open({ keyId: "last" }), refusedWith("unavailable", /has 1000 streams open/));
  });

  test("many that are opened at the same moment are no more than may be", async () => {
    await using stage = await createStage();
    const opened = await Promise.allSettled(Array.from({ length: 50 }, () => stage.open()));
    assert.equal(opened.filter(({ status }) => status === "fulfilled").length, STREAM_LIMITS.perKey);
  });

  test("a reader that reads nothing for half a minute is ended; one that reads slowly is not", async () => {
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

  test("a live one that reads nothing uses little memory, and loses nothing when it reads again", async () => {
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

  test("a key that no longer stands ends its streams within a second, with the reason, and gets nothing more", async () => {
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

  test("while it is unknown whether a key is valid, its streams go on", async () => {
    await using stage = await createStage();
    const stream = await stage.open({ refusal: () => Promise.reject(new Error("the store fails")) });
    await stage.pass(1_000);
    await stage.happen(1);
    assert.equal(idsOf(await takeEvents(stream, 1)).length, 1);
  });

  test("a key check without an answer delays new events by seconds only", async () => {
    await using stage = await createStage();
    let hangs = false;
    const stream = await stage.open({ refusal: () => hangs ? new Promise(() => {}) : undefined });
    await stream.next();
    hangs = true;
    await stage.happen(1);
    await stage.pass(3_000);
    assert.equal(idsOf(await takeEvents(stream, 1)).length, 1);
  });

  test("a store that fails for a while delays new events, is reported once, and loses nothing", async () => {
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

  test("draining sends waiting frames, ends all streams, and opens none", async () => {
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
