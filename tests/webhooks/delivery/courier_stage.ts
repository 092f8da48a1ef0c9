import { setImmediate as othersTurn } from "node:timers/promises";
import type { Store } from "../../../lib/store/store.ts";
import { createCourier } from "../../../lib/webhooks/delivery/courier.ts";
import type { CourierLimits } from "../../../lib/webhooks/delivery/lane.ts";
import { createTestClock } from "../../events/parts.ts";
import {
  type Answer,
  commitEvents,
  eventAt,
  insert,
  memoryStore,
  type Posted,
  scriptedAttempts,
  START_MS,
  subscriptionOf,
} from "../parts.ts";

interface Options {
  limits?: Partial<CourierLimits>;
  isKeyEnabled?: (keyId: string) => boolean;
  store?: (store: Store) => Store;
  retryMs?: number;
}

/** A courier on a clock that stands still, and endpoints that answer as `answer` says. */
export async function courierStage(answer: (post: Posted) => Answer, options: Options = {}) {
  const bare = await memoryStore();
  const store = options.store?.(bare) ?? bare;
  const clock = createTestClock(START_MS);
  const script = scriptedAttempts(clock.now, answer, options.retryMs);
  const problems: string[] = [];
  const courier = createCourier({
    store,
    attempt: script.attempt,
    isKeyEnabled: (keyId) => Promise.resolve(options.isKeyEnabled?.(keyId) ?? true),
    recipient: ({ id, url }) => ({ id, url, secrets: [] }),
    message: (event) => ({ id: event.id, type: event.type!, json: "{}" }),
    now: clock.now,
    wait: clock.wait,
    onProblem: (message) => problems.push(message),
    limits: options.limits,
    gatherMs: 1,
  });

  /** Lets so much time pass, in small steps, so that everything has its turn. */
  async function pass(ms: number, stepMs = 10): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      for (let turn = 0; turn < 20; turn++) await othersTurn();
      clock.advance(Math.min(stepMs, ms - passed));
    }
    for (let turn = 0; turn < 20; turn++) await othersTurn();
  }

  let ledger = 100;
  /** Owes so many events, each a ledger later, to each of these subscriptions. */
  async function owe(count: number, ...ids: string[]): Promise<void> {
    for (const id of ids) {
      if (await bare.subscriptions.get(id) === undefined) {
        await insert(bare, subscriptionOf(id, { keyId: `key_of_${id}` }));
      }
    }
    const events = Array.from({ length: count }, () => eventAt(++ledger));
    await commitEvents(bare, events, ledger);
    for (const event of events) {
      const expected = await bare.fanOutCursor();
      const dueAtMs = Math.max(clock.now(), expected?.lastDueAtMs ?? 0);
      for (let from = 0; from < ids.length; from += 200) {
        await bare.commitFanOut({
          expected: await bare.fanOutCursor(),
          cursor: {
            position: event.position,
            subscriptionId: ids[Math.min(from + 199, ids.length - 1)]!,
            lastDueAtMs: dueAtMs,
          },
          deliveries: ids.slice(from, from + 200).map((subscriptionId) => ({
            id: event.position,
            subscriptionId,
            position: event.position,
            attempts: 0,
            dueAtMs,
            createdAtMs: dueAtMs,
          })),
        });
      }
    }
    courier.wake(ids);
  }

  const postedTo = (id: string) => script.posted.filter(({ subscriptionId }) => subscriptionId === id);
  return { store: bare, clock, courier, script, problems, pass, owe, postedTo };
}

export const hangs = () => new Promise<never>(() => {});

/** Answers after so many milliseconds of the clock. */
export const answersAfter = (clock: () => { wait(ms: number): Promise<void> }, ms: number) => async () => {
  await clock().wait(ms);
  return "delivered" as const;
};
