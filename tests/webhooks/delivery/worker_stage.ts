import { setImmediate as yieldToOthers } from "node:timers/promises";
import { openStoreClock } from "../../../lib/store/store_clock.ts";
import type { Store } from "../../../lib/store/store.ts";
import { createDeliveryWorker } from "../../../lib/webhooks/delivery/worker.ts";
import type { WorkerLimits } from "../../../lib/webhooks/delivery/post_queue.ts";
import { beginReplay, planReplay } from "../../../lib/webhooks/replays.ts";
import { createTestClock, type TestClock } from "../../test_clock.ts";
import {
  type Answer,
  append,
  eventAt,
  insert,
  memoryStore,
  type Posted,
  scriptedAttempts,
  START_MS,
  subscriptionOf,
} from "../parts.ts";

interface Options {
  limits?: Partial<WorkerLimits>;
  isKeyEnabled?: (keyId: string) => boolean | Promise<boolean>;
  /** Bends the store. */
  store?: (store: Store) => Store;
  /** The store to be on instead of a new one. */
  on?: Store;
  clock?: TestClock;
  /** Whether the worker starts at once; true when absent. */
  starts?: boolean;
  retryMs?: number | (() => number);
  /** As in `WorkerParts`; 1 ms when absent. */
  gatherMs?: number;
  ordered?: boolean;
  /** The holder of the leases; "worker" when absent. */
  holder?: string;
}

/** A worker on a stopped clock, which stops after the test, and endpoints that answer with `answer`. */
export async function workerStage(answer: (post: Posted, clock: TestClock) => Answer, options: Options = {}) {
  const bare = options.on ?? await memoryStore();
  const store = options.store?.(bare) ?? bare;
  const clock = options.clock ?? createTestClock(START_MS);
  const { clock: ofStore } = await openStoreClock(bare, clock);
  const startedAt = clock.monotonicMs();
  const script = scriptedAttempts(ofStore, (post) => answer(post, clock), options.retryMs);
  const problems: string[] = [];
  const newWorker = (holder: string) =>
    createDeliveryWorker({
      store,
      attempt: script.attempt,
      isKeyEnabled: (keyId) => Promise.resolve(options.isKeyEnabled?.(keyId) ?? true),
      recipient: ({ id, url }) => ({ id, url, secrets: [] }),
      message: ({ id, type }) => ({ id, type, json: "{}" }),
      clock: ofStore,
      holder,
      onAttempt: () => {},
      onProblem: (message) => problems.push(message),
      limits: options.limits,
      gatherMs: options.gatherMs ?? 1,
    });
  const worker = newWorker(options.holder ?? "worker");

  /** Lets so much time pass, in small steps, so that everything has its turn. */
  async function pass(ms: number, stepMs = 10): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      for (let turn = 0; turn < 20; turn++) await yieldToOthers();
      clock.advance(Math.min(stepMs, ms - passed));
    }
    for (let turn = 0; turn < 20; turn++) await yieldToOthers();
  }

  let ledger = 100;
  /** Makes these subscriptions, where they are not there, and then so many events, each a ledger later. */
  async function owe(count: number, ...ids: string[]): Promise<void> {
    for (const id of ids) {
      if (await bare.subscriptions.get(id) !== undefined) continue;
      await insert(bare, subscriptionOf(id, { keyId: `key_of_${id}`, ordered: options.ordered ?? false }));
      await worker.changed(id);
    }
    const events = Array.from({ length: count }, () => eventAt(++ledger));
    // The network's clock moves evenly, also when this machine's clock steps.
    await append(bare, events, ledger, START_MS + clock.monotonicMs() - startedAt);
    worker.wake();
  }

  /** Begins a replay of all from ledger 101 on. */
  async function replay(id: string, subscriptionId = "wh_1"): Promise<void> {
    const { subscription } = (await bare.deliveries.consumer(subscriptionId))!;
    const plan = await planReplay(bare, subscription, { fromLedger: 101 });
    await beginReplay(bare, subscriptionId, plan, { id, nowMs: START_MS });
    await worker.changed(subscriptionId);
  }

  const postedTo = (id: string) => script.posted.filter(({ subscriptionId }) => subscriptionId === id);
  const idsTo = (id: string) => postedTo(id).map(({ eventId }) => eventId);
  if (options.starts ?? true) worker.start();
  return {
    ...{ store: bare, clock, worker, newWorker, script, problems, pass, owe, replay, postedTo, idsTo },
    [Symbol.asyncDispose]: () => worker.stop({ drainMs: 0 }),
  };
}

export const hangs = () => new Promise<never>(() => {});

/** Answers after so many milliseconds of the clock. */
export const answersAfter = (ms: number) => async (_: Posted, clock: TestClock) => {
  await clock.wait(ms);
  return "delivered" as const;
};

/** Takes this event only when it comes again. */
export function failsOnce(eventId: string) {
  const failed = new Set<string>();
  return (post: Posted) => {
    const fails = post.eventId === eventId && !failed.has(eventId);
    failed.add(post.eventId);
    return fails ? "retry" : "delivered";
  };
}
