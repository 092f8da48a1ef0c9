import assert from "node:assert/strict";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { GatewayError } from "../../lib/errors.ts";
import { createHistory } from "../../lib/events/history.ts";
import type { EventStream, StreamFrame } from "../../lib/events/stream.ts";
import { createEventStreams, type StreamRequest } from "../../lib/events/streams.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store, WatcherState } from "../../lib/store/store.ts";
import { append, sampleEvent, scanned } from "../store/samples.ts";
import { createTestClock } from "../test_clock.ts";

/** Live streams on a store in memory, which `bend` may change, with a clock that the test moves. */
export async function createStage(bend = (store: Store) => store) {
  const store = await openStore("memory:");
  const clock = createTestClock();
  const history = createHistory({ store, head: { sequence: 0 } as never });
  const problems: string[] = [];
  let reads = 0;
  const bent = bend(store);
  const events = Object.create(bent.events, {
    read: { value: (query: Parameters<typeof store.events.read>[0]) => (reads++, bent.events.read(query)) },
  });
  const observed: typeof store = Object.create(bent, { events: { value: events } });
  const head = { sequence: 0 };
  const streams = createEventStreams({
    store: observed,
    history,
    head,
    clock,
    onProblem: (message) => problems.push(message),
  });
  return {
    store,
    history,
    clock,
    streams,
    head,
    problems,
    reads: () => reads,
    open: (request: Partial<StreamRequest> = {}) =>
      streams.open({ subjects: {}, keyId: "key", refusal: () => undefined, ...request }),
    /** Commits one event, and wakes the streams. */
    async happen(n: number, fields: Parameters<typeof sampleEvent>[1] = {}) {
      await append(store, sampleEvent(n, fields));
      streams.wake();
    },
    async notice(fields: Partial<WatcherState>) {
      await scanned(store, 1_001, fields);
      streams.wake();
    },
    /** Lets time pass in steps, and lets waiting work run after each step. */
    async pass(ms: number) {
      for (let passed = 0; passed < ms; passed += 100) {
        clock.advance(100);
        for (let turns = 0; turns < 8; turns++) await yieldToOthers();
      }
    },
    async [Symbol.asyncDispose]() {
      await streams.stop();
      await store.close();
    },
  };
}

export const kinds = (frames: StreamFrame[]) => frames.map(({ kind }) => kind);
export const idsOf = (frames: StreamFrame[]) =>
  frames.flatMap((frame) => frame.kind === "event" ? [frame.event.id] : []);

/** Reads until so many events arrived; returns all frames. */
export async function takeEvents(stream: EventStream, count: number): Promise<StreamFrame[]> {
  const frames: StreamFrame[] = [];
  while (idsOf(frames).length < count) {
    const more = await stream.next();
    assert.ok(more, `the stream ended after ${idsOf(frames).length} events`);
    frames.push(...more);
  }
  return frames;
}

export const refusedWith = (code: string, message: RegExp) => (error: unknown) =>
  error instanceof GatewayError && error.code === code && message.test(error.message);
