import type { Kv, KvEntryMaybe } from "../../runtime/kv.ts";
import { commit, fit, getAll, raising, setting, type Write } from "./io.ts";
import {
  creationKey,
  deadKey,
  type DeliveryEntry,
  deliveryKey,
  type DueEntry,
  dueKey,
  type OwedEntry,
  owedKey,
  pendingKey,
  subscriptionKey,
  SUBSCRIPTIONS_VERSION,
  wakeKey,
} from "./webhook_keys.ts";
import type { Delivery } from "../webhook_store.ts";

/**
 * Adds deliveries together with the caller's own writes, in one commit; passes over ids that are there already and
 * deleted subscriptions. False, and nothing to be seen, when somebody else changed what the caller checks.
 *
 * @param own at most nine checks, and a few writes
 */
export async function addDeliveries(
  kv: Kv,
  deliveries: Delivery[],
  own: { checks: KvEntryMaybe<unknown>[]; writes: Write[] },
): Promise<boolean> {
  const version = await kv.get(SUBSCRIPTIONS_VERSION);
  const added = await onlyNew(kv, await onlyOwned(kv, deliveries));
  const pending = added.filter(({ dueAtMs }) => dueAtMs !== null);
  const unlisted = [...pending.map(put), ...owed(added)];
  const dead = added.filter(({ dueAtMs }) => dueAtMs === null).map(put);
  const listed = [...dead, ...pending.flatMap(list), ...announce(added), ...own.writes];
  // A delivery is there once it is listed: what one commit has no room for goes before it, under the same checks.
  const commits = fit([...unlisted, ...listed]) ? [[...unlisted, ...listed]] : [unlisted, listed];
  for (const writes of commits) {
    const atomic = kv.atomic().check(version, ...own.checks);
    for (const write of writes) write.to(atomic);
    if (!await commit(atomic)) return false;
  }
  return true;
}

/** Those of these deliveries that are there, dead or listed as due, in their order; null: it is not. */
export async function deliveriesHeld(
  kv: Kv,
  ids: Pick<Delivery, "subscriptionId" | "id">[],
): Promise<(DeliveryEntry | null)[]> {
  const held = await getAll<DeliveryEntry>(kv, ids.map(({ subscriptionId, id }) => deliveryKey(subscriptionId, id)));
  const pending = held.map(({ value }, index) => ({ value, ...ids[index]! }))
    .filter(({ value }) => value !== null && value.dueAtMs !== null);
  const listed = await getAll(kv, pending.map(({ value, subscriptionId, id }) => dueKey(subscriptionId, value!, id)));
  const unlisted = new Set(
    pending.filter((_, index) => listed[index]!.value === null).map(({ value }) => value),
  );
  return held.map(({ value }) => unlisted.has(value) ? null : value);
}

async function onlyOwned(kv: Kv, deliveries: Delivery[]): Promise<Delivery[]> {
  const ids = [...new Set(deliveries.map(({ subscriptionId }) => subscriptionId))];
  const held = await getAll(kv, ids.map(subscriptionKey));
  const alive = new Set(ids.filter((_, index) => held[index]!.value !== null));
  return deliveries.filter(({ subscriptionId }) => alive.has(subscriptionId));
}

async function onlyNew(kv: Kv, deliveries: Delivery[]): Promise<Delivery[]> {
  const byKey = new Map(deliveries.toReversed().map((one) => [`${one.subscriptionId}\0${one.id}`, one]));
  const unique = [...byKey.values()].toReversed();
  const held = await deliveriesHeld(kv, unique);
  return unique.filter((_, index) => held[index] === null);
}

function put({ subscriptionId, id, position, attempts, dueAtMs, createdAtMs }: Delivery): Write {
  const entry: DeliveryEntry = { position, attempts, dueAtMs, createdAtMs };
  return setting(deliveryKey(subscriptionId, id), entry);
}

function owed(added: Delivery[]): Write[] {
  return [...Map.groupBy(added, ({ position }) => position)].map(([position, group]) => {
    const entry: OwedEntry = group.map(({ subscriptionId, id }) => ({ subscriptionId, id }));
    return setting(owedKey(position, group[0]!.id), entry);
  });
}

function list(delivery: Delivery): Write[] {
  const { subscriptionId, id, attempts, createdAtMs } = delivery;
  const entry: DueEntry = { attempts, createdAtMs };
  return [
    setting(dueKey(subscriptionId, delivery, id), entry),
    setting(creationKey(subscriptionId, delivery, id), true),
  ];
}

/** Counts them, and wakes the couriers. */
function announce(added: Delivery[]): Write[] {
  return [...Map.groupBy(added, ({ subscriptionId }) => subscriptionId)].flatMap(([subscriptionId, group]) => {
    const dueTimes = group.map(({ dueAtMs }) => dueAtMs).filter((dueAtMs) => dueAtMs !== null);
    const dead = group.length - dueTimes.length;
    const writes: Write[] = dead > 0 ? [raising(deadKey(subscriptionId), dead)] : [];
    if (dueTimes.length === 0) return writes;
    writes.push(raising(pendingKey(subscriptionId), dueTimes.length));
    writes.push(setting(wakeKey(Math.min(...dueTimes), subscriptionId), true));
    return writes;
  });
}
