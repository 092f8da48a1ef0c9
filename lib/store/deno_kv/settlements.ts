import type { Kv, KvAtomic, KvEntryMaybe } from "../../runtime/kv.ts";
import { checkLimit, checkSettlements } from "../bounds.ts";
import type { DenoKvContext } from "./store.ts";
import { noteAttempt } from "./attempts.ts";
import { eventKey } from "./history.ts";
import { chunks, collect, commit, getAll, MAX_CHECKS, minus } from "./io.ts";
import {
  creationKey,
  deadKey,
  type DeliveryEntry,
  deliveryKey,
  type DueEntry,
  dueKey,
  type LeaseEntry,
  leaseKey,
  pendingKey,
  subscriptionKey,
} from "./webhook_keys.ts";
import type { StoredEvent } from "../store.ts";
import type { DueDelivery, Settlement, WebhookStore } from "../webhook_store.ts";

/** What couriers deliver, and what came of it. */
export function denoKvSettlements({ kv, run, retry }: DenoKvContext): Pick<WebhookStore, "dueDeliveries" | "settle"> {
  return {
    dueDeliveries: ({ subscriptionId, nowMs, limit, except = new Set() }) =>
      run(async () => {
        checkLimit(limit, 200);
        if ((await kv.get(subscriptionKey(subscriptionId))).value === null) return [];
        const range = { prefix: ["due", subscriptionId], end: ["due", subscriptionId, nowMs + 1] };
        const most = limit + except.size;
        const due = (await collect(kv.list<DueEntry>(range, { limit: most, batchSize: Math.min(most, 500) })))
          .filter(({ key }) => !except.has(key[4] as string)).slice(0, limit);
        const events = await getAll<StoredEvent>(kv, due.map(({ key }) => eventKey(key[3] as string)));
        return due.flatMap(({ key, value }, index): DueDelivery[] => {
          const event = events[index]!.value;
          const [, , dueAtMs, position, id] = key as [string, string, number, string, string];
          return event ? [{ delivery: { id, subscriptionId, position, dueAtMs, ...value }, event }] : [];
        });
      }),
    settle: (settlements) =>
      run(async () => {
        checkSettlements(settlements);
        // Each lease is a check: ten in one commit.
        const ofLeases = [...Map.groupBy(settlements, ({ lease }) => lease.token).values()];
        for (const some of chunks(ofLeases, MAX_CHECKS)) {
          await retry(async () => await settleOnce(kv, some) ? { done: undefined } : undefined);
        }
      }),
  };
}

/** Settles what was delivered under these leases, in one commit; false when somebody else changed one of them. */
async function settleOnce(kv: Kv, ofLeases: Settlement[][]): Promise<boolean> {
  const leases = await getAll<LeaseEntry>(kv, ofLeases.map(([first]) => leaseKey(first!.lease.subscriptionId)));
  const own = ofLeases.map((settlements, index) => ({ settlements, lease: leases[index]! }))
    .filter(({ settlements, lease }) => lease.value?.token === settlements[0]!.lease.token);
  const all = own.flatMap(({ settlements }) => settlements);
  const held = await getAll<DeliveryEntry>(
    kv,
    all.map(({ lease, deliveryId }) => deliveryKey(lease.subscriptionId, deliveryId)),
  );
  const deliveries = new Map(all.map((settlement, index) => [settlement, held[index]!]));
  const atomic = kv.atomic();
  for (const { settlements, lease } of own) {
    // Written as it is: of two commits under one lease, made at once, the later has to look again.
    atomic.check(lease).set(lease.key, lease.value);
    settleLease(atomic, settlements, deliveries);
  }
  return await commit(atomic);
}

function settleLease(
  atomic: KvAtomic,
  settlements: Settlement[],
  deliveries: Map<Settlement, KvEntryMaybe<DeliveryEntry>>,
): void {
  const { subscriptionId } = settlements[0]!.lease;
  const settled = new Set<string>();
  let [gone, dead] = [0, 0];
  for (const settlement of settlements) {
    const { deliveryId: id, attempt } = settlement;
    const { key, value: delivery } = deliveries.get(settlement)!;
    if (delivery === null || delivery.dueAtMs === null || settled.has(id)) continue;
    settled.add(id);
    noteAttempt(atomic, attempt);
    atomic.delete(dueKey(subscriptionId, delivery, id));
    if (attempt.outcome === "retry") {
      const next = { ...delivery, attempts: attempt.number, dueAtMs: attempt.nextAttemptAtMs };
      const { attempts, createdAtMs } = next;
      atomic.set(key, next).set(dueKey(subscriptionId, next, id), { attempts, createdAtMs });
      continue;
    }
    gone += 1;
    atomic.delete(creationKey(subscriptionId, delivery, id));
    if (attempt.outcome !== "dead") {
      atomic.delete(key);
      continue;
    }
    dead += 1;
    atomic.set(key, { ...delivery, attempts: attempt.number, dueAtMs: null });
  }
  if (gone > 0) atomic.sum(pendingKey(subscriptionId), minus(gone));
  if (dead > 0) atomic.sum(deadKey(subscriptionId), BigInt(dead));
}
