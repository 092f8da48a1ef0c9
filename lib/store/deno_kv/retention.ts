import type { Kv, KvAtomic, KvKey } from "../../runtime/kv.ts";
import type { DenoKvContext } from "./store.ts";
import { eventKey, indexKeys } from "./history.ts";
import { chunks, collect, commit, getAll, minus, next } from "./io.ts";
import { deliveriesHeld } from "./outbox.ts";
import {
  attemptKey,
  attemptTimeKey,
  creationKey,
  deadKey,
  deletedKey,
  type DeliveryEntry,
  deliveryKey,
  dueKey,
  FAN_OUT,
  type OwedEntry,
  PRUNED,
  REPLAYS_VERSION,
  subscriptionKey,
  SUBSCRIPTIONS_VERSION,
} from "./webhook_keys.ts";
import { createEventPruner, type PruneStep } from "../event_pruning.ts";
import { hasPassed } from "../fan_out_cursor.ts";
import type { StoredEvent } from "../store.ts";
import type { Attempt, FanOutCursor, Replay, WebhookStore } from "../webhook_store.ts";

type RetentionMethods = Pick<WebhookStore, "purgeDeleted" | "pruneEvents" | "prunedUpTo" | "pruneAttempts">;

/** Events looked at in one step, of five keys each; and the deliveries and the attempts removed in one. */
const STEP = 100;
const OWED_KEYS_PER_COMMIT = 500;
const PRUNED_ATTEMPTS = 200;
const DEAD_PER_COMMIT = 200;

/** Forgets what is no longer needed, a bounded piece at a time. */
export function denoKvRetention({ kv, run, retry }: DenoKvContext): RetentionMethods {
  const pruneStep: PruneStep = (after, closedBefore) =>
    run(() =>
      retry(async () => {
        const [cursor, ...checks] = await kv.getMany<[FanOutCursor, string, unknown, unknown]>([
          FAN_OUT,
          PRUNED,
          REPLAYS_VERSION,
          SUBSCRIPTIONS_VERSION,
        ]);
        const replays = await collect(kv.list<Replay>({ prefix: ["replay"] }));
        const range = { prefix: ["event"], start: eventKey(next(after)) };
        const events = (await collect(kv.list<StoredEvent>(range, { limit: STEP }))).map(({ value }) => value);
        const end = events.findIndex(({ position, ledgerClosedAt }) =>
          ledgerClosedAt >= closedBefore || !hasPassed(cursor.value ?? undefined, position)
        );
        const passed = end < 0 ? events : events.slice(0, end);
        const { needed, owedKeys, dead } = await owedOf(kv, passed, Date.parse(closedBefore));
        const goes = ({ position }: Pick<StoredEvent, "position">) =>
          !needed.has(position) &&
          !replays.some(({ value }) => value.position < position && position <= value.upToPosition);
        const atomic = () => kv.atomic().check(...checks);
        // First what is dead, a piece at a time, each as a step of its own; then events of which nothing is left.
        const some = dead.filter(goes).slice(0, DEAD_PER_COMMIT);
        if (some.length > 0) {
          // Written, so that nobody else counts the same ones.
          const step = atomic().set(PRUNED, checks[0].value ?? "");
          return await removeDead(kv, step, some) ? { done: { removed: 0, upTo: after, isEnd: false } } : undefined;
        }
        const removed = passed.filter(goes);
        if (removed.length > 0 && !await removeEvents(atomic, removed, owedKeys, checks[0].value ?? "")) {
          return undefined;
        }
        const isEnd = passed.length < STEP;
        return { done: { removed: removed.length, upTo: passed.at(-1)?.position ?? after, isEnd } };
      })
    );

  return {
    pruneEvents: createEventPruner(pruneStep),
    prunedUpTo: () => run(async () => (await kv.get<string>(PRUNED)).value || undefined),
    pruneAttempts: (beforeMs) =>
      run(async () => {
        const range = { prefix: ["attempt_by_time"], end: ["attempt_by_time", beforeMs] };
        const old = await collect(kv.list(range, { limit: PRUNED_ATTEMPTS, batchSize: PRUNED_ATTEMPTS }));
        const atomic = kv.atomic();
        for (const { key } of old) atomic.delete(key).delete(attemptKey(key[2] as string, key[3] as string));
        await commit(atomic);
        return old.length;
      }),
    purgeDeleted: () =>
      run(async () => {
        const deleted = await collect(kv.list({ prefix: ["deleted_subscription"] }, { limit: 2 }));
        const id = deleted[0]?.key[1] as string | undefined;
        if (id === undefined) return false;
        const atomic = kv.atomic();
        const deliveries = await collect(kv.list<DeliveryEntry>({ prefix: ["delivery", id] }, { limit: STEP }));
        for (const { key, value } of deliveries) {
          const deliveryId = key[2] as string;
          atomic.delete(key).delete(creationKey(id, value, deliveryId));
          if (value.dueAtMs !== null) atomic.delete(dueKey(id, value, deliveryId));
        }
        const attempts = await collect(kv.list<Attempt>({ prefix: ["attempt", id] }, { limit: STEP }));
        for (const { key, value } of attempts) atomic.delete(key).delete(attemptTimeKey(value.atMs, id, value.id));
        const isEmpty = deliveries.length < STEP && attempts.length < STEP;
        if (isEmpty) atomic.delete(deletedKey(id));
        await commit(atomic);
        return !isEmpty || deleted.length > 1;
      }),
  };
}

/** Removes events, ascending, with the notes of their deliveries; false when somebody else changed what is checked. */
async function removeEvents(
  atomic: () => KvAtomic,
  events: StoredEvent[],
  owedKeys: KvKey[],
  prunedUpTo: string,
): Promise<boolean> {
  const positions = new Set(events.map(({ position }) => position));
  const keys = owedKeys.filter((key) => positions.has(key[1] as string));
  for (const some of chunks(keys, OWED_KEYS_PER_COMMIT)) {
    const owed = atomic();
    for (const key of some) owed.delete(key);
    if (!await commit(owed)) return false;
  }
  // The events last: who comes in between finds them, or nothing of them.
  const last = atomic();
  for (const event of events) for (const key of [eventKey(event.position), ...indexKeys(event)]) last.delete(key);
  const { position } = events.at(-1)!;
  if (position > prunedUpTo) last.set(PRUNED, position);
  return await commit(last);
}

/** A dead delivery of an event. */
interface DeadDelivery {
  subscriptionId: string;
  id: string;
  position: string;
}

/**
 * Which of these events, ascending, a delivery still needs or fan-out has to hand on; where their deliveries are noted;
 * and which of these are dead and were created before this time.
 */
async function owedOf(
  kv: Kv,
  events: StoredEvent[],
  createdBeforeMs: number,
): Promise<{ needed: Set<string>; owedKeys: KvKey[]; dead: DeadDelivery[] }> {
  const needed = new Set<string>();
  const owedKeys: KvKey[] = [];
  // What was written ahead of a commit that was repeated may be noted twice.
  const dead = new Map<string, DeadDelivery>();
  const [first, last] = [events.at(0), events.at(-1)];
  if (first && last) {
    const range = (prefix: string) => ({ start: [prefix, first.position], end: [prefix, next(last.position)] });
    for await (const { key } of kv.list(range("late"))) needed.add(key[1] as string);
    for await (const { key, value } of kv.list<OwedEntry>(range("owed"), { batchSize: 10 })) {
      owedKeys.push(key);
      const position = key[1] as string;
      const held = needed.has(position) ? [] : await deliveriesHeld(kv, value);
      held.forEach((delivery, index) => {
        if (delivery === null) return;
        if (delivery.dueAtMs !== null || delivery.createdAtMs >= createdBeforeMs) needed.add(position);
        else dead.set(`${value[index]!.subscriptionId}\0${value[index]!.id}`, { ...value[index]!, position });
      });
    }
  }
  return { needed, owedKeys, dead: [...dead.values()] };
}

/** Commits the removal of dead deliveries, which count no more where their subscription is still there. */
async function removeDead(kv: Kv, atomic: KvAtomic, dead: DeadDelivery[]): Promise<boolean> {
  const bySubscription = Map.groupBy(dead, ({ subscriptionId }) => subscriptionId);
  const subscriptions = await getAll(kv, [...bySubscription.keys()].map(subscriptionKey));
  [...bySubscription].forEach(([subscriptionId, ofIt], index) => {
    for (const { id } of ofIt) atomic.delete(deliveryKey(subscriptionId, id));
    if (subscriptions[index]!.value !== null) atomic.sum(deadKey(subscriptionId), minus(ofIt.length));
  });
  return await commit(atomic);
}
