import type { Kv, KvU64 } from "../../runtime/kv.ts";
import { checkBatch } from "../bounds.ts";
import type { DenoKvContext } from "./store.ts";
import { chunks, collect, present, setting } from "./io.ts";
import { addDeliveries } from "./outbox.ts";
import { deadKey, FAN_OUT, pendingKey } from "./webhook_keys.ts";
import { sameCursor } from "../fan_out_cursor.ts";
import type { Backlog, FanOutCursor, WebhookStore } from "../webhook_store.ts";

type DeliveryMethods = Pick<WebhookStore, "fanOutCursor" | "commitFanOut" | "backlog">;

/** What fan-out writes, and how much is owed. */
export function denoKvDeliveries({ kv, run, retry }: DenoKvContext): DeliveryMethods {
  return {
    fanOutCursor: () => run(async () => (await kv.get<FanOutCursor>(FAN_OUT)).value ?? undefined),
    commitFanOut: ({ expected, cursor, deliveries }) =>
      run(() => {
        checkBatch(deliveries, 200);
        return retry(async () => {
          const held = await kv.get<FanOutCursor>(FAN_OUT);
          if (!sameCursor(held.value ?? undefined, expected)) return { done: false };
          const move = { checks: [held], writes: [setting(FAN_OUT, present(cursor))] };
          return await addDeliveries(kv, deliveries, move) ? { done: true } : undefined;
        });
      }),
    backlog: (subscriptionId) =>
      run(() => subscriptionId === undefined ? backlogOfAll(kv) : backlogOf(kv, subscriptionId)),
  };
}

async function backlogOf(kv: Kv, subscriptionId: string): Promise<Backlog> {
  const [pending, dead] = (await kv.getMany<[KvU64, KvU64]>([pendingKey(subscriptionId), deadKey(subscriptionId)]))
    .map(({ value }) => Number(value?.value ?? 0n)) as [number, number];
  // Of a deleted subscription the deliveries may still be there, the counters are not.
  return { pending, dead, oldestCreatedAtMs: pending > 0 ? await oldest(kv, subscriptionId) : null };
}

/** Costs a step for each subscription that something is pending of, however much that is. */
async function backlogOfAll(kv: Kv): Promise<Backlog> {
  const backlog: Backlog = { pending: 0, dead: 0, oldestCreatedAtMs: null };
  const waiting: string[] = [];
  for await (const { key, value } of kv.list<KvU64>({ prefix: ["pending"] }, { batchSize: 500 })) {
    if (value.value === 0n) continue;
    backlog.pending += Number(value.value);
    waiting.push(key[1] as string);
  }
  for await (const { value } of kv.list<KvU64>({ prefix: ["dead"] }, { batchSize: 500 })) {
    backlog.dead += Number(value.value);
  }
  for (const some of chunks(waiting, 50)) {
    for (const createdAtMs of await Promise.all(some.map((id) => oldest(kv, id)))) {
      if (createdAtMs === null) continue;
      backlog.oldestCreatedAtMs = Math.min(createdAtMs, backlog.oldestCreatedAtMs ?? createdAtMs);
    }
  }
  return backlog;
}

async function oldest(kv: Kv, subscriptionId: string): Promise<number | null> {
  const [first] = await collect(kv.list({ prefix: ["created", subscriptionId] }, { limit: 1 }));
  return first ? first.key[2] as number : null;
}
