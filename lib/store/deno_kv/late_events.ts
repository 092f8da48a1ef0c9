import { checkBatch, checkLimit } from "../bounds.ts";
import type { DenoKvContext } from "./store.ts";
import { eventKey } from "./history.ts";
import { collect, getAll, setting, type Write } from "./io.ts";
import { addDeliveries } from "./outbox.ts";
import { LATE_STEP, lateKey } from "./webhook_keys.ts";
import type { StoredEvent } from "../store.ts";
import type { LateEvent, WebhookStore } from "../webhook_store.ts";

/** What fan-out hands on beside its cursor. */
export function denoKvLateEvents(
  { kv, run, retry }: DenoKvContext,
): Pick<WebhookStore, "lateEvents" | "commitLateEvents"> {
  return {
    lateEvents: (limit) =>
      run(async () => {
        checkLimit(limit, 100);
        const late = await collect(kv.list<string>({ prefix: ["late"] }, { limit }));
        const events = await getAll<StoredEvent>(kv, late.map(({ key }) => eventKey(key[1] as string)));
        return late.flatMap(({ value: subscriptionId }, index): LateEvent[] => {
          const event = events[index]!.value;
          if (event === null) return [];
          return [subscriptionId === "" ? { event } : { event, subscriptionId }];
        });
      }),
    commitLateEvents: ({ events, begunUpTo, deliveries }) =>
      run(() => {
        checkBatch(events, 100);
        checkBatch(deliveries, 200);
        return retry(async () => {
          const step = await kv.get(LATE_STEP);
          const held = await getAll<string>(kv, events.map(({ position }) => lateKey(position)));
          if (events.some(({ subscriptionId = "" }, index) => held[index]!.value !== subscriptionId)) {
            return { done: false };
          }
          const writes = held.map(({ key }, index): Write => {
            if (begunUpTo !== undefined && index === held.length - 1) return setting(key, begunUpTo);
            return { key, to: (atomic) => atomic.delete(key) };
          });
          const own = { checks: [step], writes: [setting(LATE_STEP, true), ...writes] };
          return await addDeliveries(kv, deliveries, own) ? { done: true } : undefined;
        });
      }),
  };
}
