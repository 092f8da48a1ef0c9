import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { setImmediate as turn } from "node:timers/promises";
import { GatewayError } from "../../lib/errors.ts";
import { createHistory } from "../../lib/events/history.ts";
import type { EventStream, StreamFrame } from "../../lib/events/stream.ts";
import { createEventStreams, STREAM_LIMITS, type StreamRequest } from "../../lib/events/streams.ts";
import { openStore } from "../../lib/store/open.ts";
import type { WatcherState } from "../../lib/store/store.ts";
import { append, appendMany, sampleEvent, scanned } from "../store/samples.ts";
import { createTestClock } from "../test_clock.ts";

const MERCHANT = "GBZH7S5NC57XNHKHJ75C5DGMI3SP6ZFJLIKW74K6OSMA5E5DFMYBDD2Z";

async function createStage() {
  const store = await openStore("memory:");
  const clock = createTestClock();
  const history = createHistory({ store, view: { sequence: 0 } as never });
  const problems: string[] = [];
  let reads = 0;
  const events = Object.create(store.events, {
    read: { value: (query: Parameters<typeof store.events.read>[0]) => (reads++, store.events.read(query)) },
  });
  const observed: typeof store = Object.create(store, { events: { value: events } });
  const view = { sequence: 0 };
  const streams = createEventStreams({
    store: observed,
    history,
    view,
    clock,
    onProblem: (message) => problems.push(message),
  });
  return {
    store,
    history,
    clock,
    streams,
    view,
    problems,
    reads: () => reads,
    open: (request: Partial<StreamRequest> = {}) =>
      streams.open({ subjects: {}, keyId: "key", refusal: () => undefined, ...request }),
    /** Commits one event, and says so. */
    async happen(n: number, fields: Parameters<typeof sampleEvent>[1] = {}) {
      await append(store, sampleEvent(n, fields));
      streams.wake();
    },
    async notice(fields: Partial<WatcherState>) {
      await scanned(store, 1_001, fields);
      streams.wake();
    },
    /** Lets time pass in steps in which whoever waits has a turn. */
    async pass(ms: number) {
      for (let passed = 0; passed < ms; passed += 100) {
        clock.advance(100);
        for (let turns = 0; turns < 8; turns++) await turn();
      }
    },
    async [Symbol.asyncDispose]() {
      await streams.stop();
      await store.close();
    },
  };
}

const kinds = (frames: StreamFrame[]) => frames.map(({ kind }) => kind);
const idsOf = (frames: StreamFrame[]) => frames.flatMap((frame) => frame.kind === "event" ? [frame.event.id] : []);

/** Reads until so many events came, and answers all frames. */
async function takeEvents(stream: EventStream, count: number): Promise<StreamFrame[]> {
  const frames: StreamFrame[] = [];
  while (idsOf(frames).length < count) {
    const more = await stream.next();
    assert.ok(more, `the stream ended after ${idsOf(frames).length} events`);
    frames.push(...more);
  }
  return frames;
}

const refusedWith = (code: string, message: RegExp) => (error: unknown) =>
  error instanceof GatewayError && error.code === code && message.test(error.message);

describe("a live stream", () => {
  test("sends what is held, says so, and then what comes, without a repetition or an omission", async () => {
    await using stage = await createStage();
    await appendMany(stage.store, 1, 250);
    const stream = await stage.open();
    const held = await takeEvents(stream, 250);
    assert.equal(held.at(-1)!.kind, "caught_up");
    const more = stream.next();
    await stage.happen(251);
    assert.deepEqual(kinds((await more)!), ["event"]);
    const { events } = await stage.history.page({ limit: 1_000 });
    await stage.happen(252);
    assert.deepEqual([...idsOf(held), ...idsOf((await more)!)], events.map(({ id }) => id));
    assert.deepEqual(idsOf((await stream.next())!), [sampleEvent(252).id]);
  });

  test("the cursor of every frame is one that a page and a stream go on from", async () => {
    await using stage = await createStage();
    await appendMany(stage.store, 1, 7);
    const frames = await takeEvents(await stage.open({ fromLedger: 1_003 }), 5);
    for (const [at, frame] of frames.entries()) {
      assert.ok("cursor" in frame);
      const left = idsOf(frames.slice(at + 1));
      const page = await stage.history.page({ cursor: frame.cursor, limit: 100 });
      assert.deepEqual(page.events.map(({ id }) => id), left);
      const resumed = (await (await stage.open({ lastEventId: frame.cursor })).next())!;
      assert.deepEqual(idsOf(resumed), left);
    }
  });

  test("however appends, filters, paces and resumptions fall, each stream sends what the pages show", async () => {
    const kind = fc.constantFrom("escrow.funded", "payment.authorized");
    const step = fc.oneof(
      fc.record({ do: fc.constant("append" as const), count: fc.integer({ min: 1, max: 300 }), kind }),
      fc.record({ do: fc.constant("open" as const), kind: fc.option(kind, { nil: undefined }) }),
      fc.record({ do: fc.constant("read" as const), stream: fc.nat(5) }),
      fc.record({ do: fc.constant("resume" as const), stream: fc.nat(5) }),
      fc.record({ do: fc.constant("pass" as const) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        await using stage = await createStage();
        let appended = 0;
        const readers: { subjects: { types?: string[] }; stream: EventStream; seen: string[]; cursor?: string }[] = [];
        /** One page, or nothing when there is none within a few turns. */
        async function read(reader: (typeof readers)[number]): Promise<boolean> {
          let frames: StreamFrame[] | undefined | null = null;
          const reading = reader.stream.next().then((taken) => (frames = taken, taken));
          for (let turns = 0; frames === null && turns < 12; turns++) await stage.pass(100);
          if (frames === null) {
            // Nobody takes what this reading gets: it goes on from its cursor with a stream of its own.
            reader.stream.close();
            await reading;
            reader.stream = await stage.open({ subjects: reader.subjects, lastEventId: reader.cursor });
            return false;
          }
          for (const frame of (frames as StreamFrame[] | undefined) ?? []) {
            if ("cursor" in frame) reader.cursor = frame.cursor;
          }
          reader.seen.push(...idsOf(frames ?? []));
          return idsOf(frames ?? []).length > 0;
        }
        for (const one of steps) {
          if (one.do === "append") {
            for (let n = 0; n < one.count; n += 100) {
              const length = Math.min(100, one.count - n);
              const events = Array.from({ length }, () => sampleEvent(++appended, { type: one.kind }));
              await append(stage.store, ...events);
              stage.streams.wake();
            }
          } else if (one.do === "open" && readers.length < 6) {
            const subjects = one.kind === undefined ? {} : { types: [one.kind] };
            readers.push({ subjects, stream: await stage.open({ subjects }), seen: [] });
          } else if (one.do === "read" && readers[one.stream] !== undefined) {
            await read(readers[one.stream]!);
          } else if (one.do === "resume" && readers[one.stream]?.cursor !== undefined) {
            const reader = readers[one.stream]!;
            reader.stream.close();
            reader.stream = await stage.open({ subjects: reader.subjects, lastEventId: reader.cursor });
          } else if (one.do === "pass") await stage.pass(300);
        }
        for (const reader of readers) {
          for (let idle = 0; idle < 2;) idle = await read(reader) ? 0 : idle + 1;
          const all: string[] = [];
          let page = await stage.history.page({ limit: 1_000, filter: reader.subjects });
          for (
            ;
            page.events.length > 0;
            page = await stage.history.page({ cursor: page.cursor, limit: 1_000, filter: reader.subjects })
          ) {
            all.push(...page.events.map(({ id }) => id));
          }
          assert.deepEqual(reader.seen, all);
        }
      }),
      { numRuns: 40 },
    );
  });

  test("hears of the network's height every five seconds, with a cursor that what matched nothing has moved", async () => {
    await using stage = await createStage();
    await append(stage.store, sampleEvent(1));
    stage.view.sequence = 1_234;
    const stream = await stage.open({ subjects: { merchant: MERCHANT } });
    assert.deepEqual(kinds((await stream.next())!), ["caught_up"]);
    await stage.pass(5_300);
    assert.deepEqual(kinds((await stream.next())!), ["ledger"]);
    await stage.happen(2);
    const beat = stream.next();
    await stage.pass(4_500);
    assert.equal(await Promise.race([beat, turn("none yet")]), "none yet");
    stage.view.sequence = 1_235;
    await stage.pass(1_000);
    const [frame] = (await beat)!;
    assert.ok(frame?.kind === "ledger");
    assert.equal(frame.latestLedger, 1_235);
    assert.deepEqual((await stage.history.page({ cursor: frame.cursor, limit: 1 })).events, []);
  });

  test("of a thousand streams one reading of the log feeds all that are at its end", async () => {
    await using stage = await createStage();
    await append(stage.store, sampleEvent(1));
    const opened = Array.from({ length: 200 }, (_, n) => stage.open({ keyId: `key ${n % 20}` }));
    const all = await Promise.all(opened);
    await Promise.all(all.map((stream) => takeEvents(stream, 1)));
    const [before, next] = [stage.reads(), all.map((stream) => takeEvents(stream, 1))];
    await stage.happen(2);
    await stage.pass(300);
    await Promise.all(next);
    assert.equal(stage.reads() - before, 1);
  });

  test("without streams nothing is read, whatever is committed", async () => {
    await using stage = await createStage();
    await stage.happen(1);
    (await stage.open()).close();
    await stage.pass(1_000);
    const before = stage.reads();
    await stage.happen(2);
    await stage.pass(60_000);
    assert.equal(stage.reads(), before);
  });
});

describe("what a stream may have missed", () => {
  const gap = { epoch: 0, fromLedger: 1_005, toLedger: 1_007, contractIds: ["C"], noticedAt: "2026-11-01T00:00:00Z" };

  test("gaps are told before it has caught up, and those that come later when they come; smaller ones are no news", async () => {
    await using stage = await createStage();
    await append(stage.store, sampleEvent(1));
    await stage.notice({ gaps: [gap] });
    const stream = await stage.open();
    assert.deepEqual(kinds((await stream.next())!), ["event", "gap", "caught_up"]);
    const next = stream.next();
    await stage.notice({ gaps: [{ ...gap, fromLedger: 1_006 }, { ...gap, fromLedger: 1_020, toLedger: 1_021 }] });
    await stage.pass(300);
    const told = (await next)!;
    assert.deepEqual(told, [{
      kind: "gap",
      gap: { reason: "not_read", ...gap, fromLedger: 1_020, toLedger: 1_021 },
    }]);
    const later = await stage.open({ fromLedger: 1_010 });
    assert.deepEqual(kinds((await later.next())!), ["gap", "caught_up"], "the first lies before its range");
  });

  test("a Last-Event-ID from before what is held begins with a gap, and goes on with what is held", async () => {
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
      refusedWith("invalid_request", /older than what is held/),
    );
  });

  test("so does a fromLedger from before what is held, and a stream that is read too slowly while it is forgotten", async () => {
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

  test("a cursor that can't be gone on from is refused", async () => {
    await using stage = await createStage();
    await appendMany(stage.store, 1, 3);
    const other = await openStore("memory:");
    const foreign = (await createHistory({ store: other, view: { sequence: 0 } as never }).page({ limit: 1 })).cursor;
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
    await assert.rejects(stage.open(), refusedWith("rate_limited", /as it may: 20/));
    await stage.open({ keyId: "other" });
    all[0]!.close();
    await stage.open();
    for (let n = stage.streams.size; n < STREAM_LIMITS.inAll; n++) await stage.open({ keyId: `key ${n}` });
    await assert.rejects(stage.open({ keyId: "last" }), refusedWith("unavailable", /as the gateway has: 1000/));
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

  test("one that is at the end and then reads nothing keeps little, and nothing is lost to it when it reads again", async () => {
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

  test("while it can't be told whether a key stands, its streams go on", async () => {
    await using stage = await createStage();
    const stream = await stage.open({ refusal: () => Promise.reject(new Error("the store fails")) });
    await stage.pass(1_000);
    await stage.happen(1);
    assert.equal(idsOf(await takeEvents(stream, 1)).length, 1);
  });

  test("a store that fails for a while delays what is new, is told once, and loses nothing", async () => {
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

  test("draining sends what waits, ends all, and lets none open", async () => {
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
