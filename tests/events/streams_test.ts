// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { EventStream, StreamFrame } from "../../lib/events/stream.ts";
import { bentStore } from "../store/bent_store.ts";
import { append, appendMany, sampleEvent } from "../store/samples.ts";
import { createStage, idsOf, kinds, takeEvents } from "./streams_stage.ts";

const MERCHANT = "GBZH7S5NC57XNHKHJ75C5DGMI3SP6ZFJLIKW74K6OSMA5E5DFMYBDD2Z";

describe("a live stream", () => {
  test("sends stored events, caught_up, and then new events, without a repetition or an omission", async () => {
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

  test("sends events that are committed while it becomes live, also when it is the only one", async () => {
    let happens = async () => {};
    await using stage = await createStage((store) =>
      bentStore(store, {
        events: {
          async read(query) {
            const found = await store.events.read(query);
            await happens();
            return found;
          },
        },
      })
    );
    await appendMany(stage.store, 1, 2);
    happens = async () => {
      happens = async () => {};
      await stage.happen(3);
      await stage.pass(600);
    };
    const stream = await stage.open();
    await takeEvents(stream, 2);
    const more = stream.next();
    await stage.pass(600);
    assert.deepEqual(idsOf((await Promise.race([more, Promise.resolve([])]))!), [sampleEvent(3).id]);
  });

  test("sends an event once that it read itself while the events for all streams were read", async () => {
    const isRead = Promise.withResolvers<void>();
    let isDelayed = false;
    await using stage = await createStage((store) =>
      bentStore(store, {
        events: {
          async read(query) {
            const [found, isForAll] = [await store.events.read(query), query.limit === 1_000];
            if (isForAll && isDelayed) await isRead.promise;
            return found;
          },
        },
      })
    );
    const first = await stage.open();
    assert.deepEqual(kinds((await first.next())!), ["caught_up"]);
    const ofFirst = first.next();
    await stage.pass(600);
    isDelayed = true;
    await stage.happen(1);
    await stage.pass(600);
    const second = await stage.open({ fromLedger: 1_001 });
    const frames = await takeEvents(second, 1);
    const more = second.next();
    await stage.pass(600);
    isRead.resolve();
    assert.deepEqual(idsOf((await ofFirst)!), [sampleEvent(1).id]);
    await stage.happen(2);
    await stage.pass(600);
    assert.deepEqual(idsOf([...frames, ...(await more)!]), [sampleEvent(1).id, sampleEvent(2).id]);
  });

  test("sends a cursor in every frame from which a page and a stream can continue", async () => {
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

  test("sends the same events as the pages, for random appends, filters, read speeds and resumptions", async () => {
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
        /** Reads one page; gives up when no page arrives within a few turns. */
        async function read(reader: (typeof readers)[number]): Promise<boolean> {
          let frames: StreamFrame[] | undefined | null = null;
          const reading = reader.stream.next().then((taken) => (frames = taken, taken));
          for (let turns = 0; frames === null && turns < 12; turns++) await stage.pass(100);
          if (frames === null) {
            // The result of this read is unused: the reader resumes at its cursor with a new stream.
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

  test("sends the latest ledger every five seconds, with a cursor past unmatched events", async () => {
    await using stage = await createStage();
    await append(stage.store, sampleEvent(1));
    stage.head.sequence = 1_234;
    const stream = await stage.open({ subjects: { merchant: MERCHANT } });
    assert.deepEqual(kinds((await stream.next())!), ["caught_up"]);
    await stage.pass(5_300);
    assert.deepEqual(kinds((await stream.next())!), ["ledger"]);
    await stage.happen(2);
    const beat = stream.next();
    await stage.pass(4_500);
    assert.equal(await Promise.race([beat, yieldToOthers("none yet")]), "none yet");
    stage.head.sequence = 1_235;
    await stage.pass(1_000);
    const [frame] = (await beat)!;
    assert.ok(frame?.kind === "ledger");
    assert.equal(frame.latestLedger, 1_235);
    assert.deepEqual((await stage.history.page({ cursor: frame.cursor, limit: 1 })).events, []);
  });

  test("shares one read of the log with all 200 streams at the end of the log", async () => {
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

  test("causes no read of the log after it is closed", async () => {
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
