import type { Kv, KvEntry, KvEntryMaybe } from "../../runtime/kv.ts";
import { checkBatch, checkLimit } from "../bounds.ts";
import type { DenoKvContext } from "./store.ts";
import { chunks, collect, commit, getAll, MAX_CHECKS } from "./io.ts";
import { type LeaseEntry, leaseKey, subscriptionKey, wakeKey } from "./webhook_keys.ts";
import type { SubscriptionLease, WebhookStore } from "../webhook_store.ts";

type LeaseMethods = Pick<WebhookStore, "leaseSubscriptions" | "renewLeases" | "releaseLease" | "nextDueAtMs">;

/** Wake entries looked at beyond those asked for, so that what was said twice is soon gone. */
const LOOK_FURTHER = 50;

/** A subscription that is said to have something to deliver. */
interface Candidate {
  id: string;
  /** What says so, ascending by time. */
  wakes: KvEntry<true>[];
  subscription: KvEntryMaybe<unknown>;
  lease: KvEntryMaybe<LeaseEntry>;
  /** Undefined: nothing is pending. */
  dueAtMs: number | undefined;
  /** Nobody may lease it before. */
  heldUntilMs: number;
}

/** Who may deliver to which subscription. `freeAll` ends every lease there is. */
export function denoKvLeases(
  { kv, run, retry }: DenoKvContext,
): { methods: LeaseMethods; freeAll(): Promise<void> } {
  /** The first wake entries, by subscription, up to this time. */
  async function firstWakes(limit: number, upToMs = Infinity): Promise<[string, KvEntry<true>[]][]> {
    const range = { prefix: ["wake"], end: ["wake", upToMs + 1] };
    const wakes = await collect(kv.list<true>(range, { limit, batchSize: limit }));
    return [...Map.groupBy(wakes, ({ key }) => key[2] as string)];
  }

  async function look(said: [string, KvEntry<true>[]][]): Promise<Candidate[]> {
    const ids = said.map(([id]) => id);
    const [subscriptions, leases] = await Promise.all([
      getAll(kv, ids.map(subscriptionKey)),
      getAll<LeaseEntry>(kv, ids.map(leaseKey)),
    ]);
    // Read after the leases: what is settled under one before it is given back is not due any more.
    const due = await Promise.all(ids.map((id) => firstDue(kv, id)));
    return said.map(([id, wakes], index) => ({
      id,
      wakes,
      subscription: subscriptions[index]!,
      lease: leases[index]!,
      dueAtMs: due[index],
      heldUntilMs: leases[index]!.value?.untilMs ?? 0,
    }));
  }

  /** Answers undefined when somebody else was quicker. */
  async function take(candidate: Candidate, untilMs: number): Promise<SubscriptionLease | undefined> {
    const { id: subscriptionId, wakes, subscription, lease } = candidate;
    const token = crypto.randomUUID();
    const atomic = kv.atomic().check(subscription, lease);
    for (const { key } of wakes) atomic.delete(key);
    atomic.set(lease.key, { token, untilMs }).set(wakeKey(untilMs, subscriptionId), true);
    return await commit(atomic) ? { subscriptionId, token, untilMs } : undefined;
  }

  /** Replaces wake entries that are earlier than the subscription can be leased; what fails is done at the next look. */
  async function correct({ id, wakes, subscription, lease, dueAtMs, heldUntilMs }: Candidate): Promise<void> {
    const before = (atMs: number) => wakes.filter(({ key }) => (key[1] as number) < atMs);
    const atomic = kv.atomic();
    const early = subscription.value === null ? wakes : before(heldUntilMs);
    for (const { key } of early) atomic.delete(key);
    if (subscription.value === null) {
      await commit(atomic);
    } else if (early.length > 0) {
      // The lease is written too: who gives it back just now, having seen nothing due, has to look again.
      await commit(atomic.check(lease).set(lease.key, lease.value).set(wakeKey(heldUntilMs, id), true));
    } else {
      // Checked, and so not many at once: deliveries that are added meanwhile write one of them again.
      const some = before(dueAtMs ?? Infinity).slice(0, MAX_CHECKS - 1);
      for (const { key } of some) atomic.delete(key);
      if (dueAtMs !== undefined) atomic.set(wakeKey(dueAtMs, id), true);
      await commit(atomic.check(lease, ...some));
    }
  }

  async function release(
    { subscriptionId, token }: Pick<SubscriptionLease, "subscriptionId" | "token">,
    notBeforeMs: number,
  ): Promise<{ done: undefined } | undefined> {
    const lease = await kv.get<LeaseEntry>(leaseKey(subscriptionId));
    if (lease.value?.token !== token) return { done: undefined };
    // Read before what is due: deliveries added meanwhile may write this entry again.
    const wake = await kv.get(wakeKey(lease.value.untilMs, subscriptionId));
    const dueAtMs = await firstDue(kv, subscriptionId);
    const atomic = kv.atomic().check(lease, wake).delete(wake.key)
      .set(lease.key, { token: null, untilMs: notBeforeMs });
    if (dueAtMs !== undefined) atomic.set(wakeKey(Math.max(dueAtMs, notBeforeMs), subscriptionId), true);
    return await commit(atomic) ? { done: undefined } : undefined;
  }

  const methods: LeaseMethods = {
    leaseSubscriptions: ({ nowMs, leaseMs, limit }) =>
      run(async () => {
        checkLimit(limit, 100);
        const leases: SubscriptionLease[] = [];
        while (leases.length < limit) {
          const found = await look(await firstWakes(limit - leases.length + LOOK_FURTHER, nowMs));
          if (found.length === 0) break;
          for (const candidate of found.sort((left, right) => leasableAtMs(left) - leasableAtMs(right))) {
            if (leasableAtMs(candidate) > nowMs) await correct(candidate);
            if (leasableAtMs(candidate) > nowMs || leases.length === limit) continue;
            const lease = await take(candidate, nowMs + leaseMs);
            if (lease) leases.push(lease);
          }
        }
        return leases;
      }),
    renewLeases: (leases, untilMs) =>
      run(async () => {
        checkBatch(leases, 100);
        const renewed: SubscriptionLease[] = [];
        for (const some of chunks(leases, MAX_CHECKS)) {
          renewed.push(
            ...await retry(async () => {
              const done = await renewOnce(kv, some, untilMs);
              return done && { done };
            }),
          );
        }
        return renewed;
      }),
    releaseLease: (lease, { notBeforeMs = 0 } = {}) => run(() => retry(() => release(lease, notBeforeMs))),
    nextDueAtMs: () =>
      run(async () => {
        for (;;) {
          const [first] = await look((await firstWakes(2 * LOOK_FURTHER)).slice(0, 1));
          if (first === undefined) return undefined;
          if (leasableAtMs(first) <= (first.wakes[0]!.key[1] as number)) return leasableAtMs(first);
          await correct(first);
        }
      }),
  };

  return {
    methods,
    freeAll: () =>
      run(async () => {
        for await (const { key, value: { token } } of kv.list<LeaseEntry>({ prefix: ["lease"] }, { batchSize: 500 })) {
          if (token !== null) await retry(() => release({ subscriptionId: key[1] as string, token }, 0));
        }
      }),
  };
}

/** When it can be leased; never while nothing is pending, or once it is deleted. */
function leasableAtMs({ subscription, dueAtMs, heldUntilMs }: Candidate): number {
  return subscription.value === null || dueAtMs === undefined ? Infinity : Math.max(dueAtMs, heldUntilMs);
}

async function firstDue(kv: Kv, subscriptionId: string): Promise<number | undefined> {
  const [first] = await collect(kv.list({ prefix: ["due", subscriptionId] }, { limit: 1 }));
  return first && first.key[2] as number;
}

/** Prolongs those that are still one's own, in one commit; undefined when somebody else changed one of them. */
async function renewOnce(
  kv: Kv,
  leases: SubscriptionLease[],
  untilMs: number,
): Promise<SubscriptionLease[] | undefined> {
  const held = await getAll<LeaseEntry>(kv, leases.map(({ subscriptionId }) => leaseKey(subscriptionId)));
  const own = leases.filter(({ token }, index) => held[index]!.value?.token === token);
  const atomic = kv.atomic();
  for (const entry of held.filter(({ value }, index) => value?.token === leases[index]!.token)) {
    const subscriptionId = entry.key[1] as string;
    const { token, untilMs: before } = entry.value!;
    atomic.check(entry).set(entry.key, { token, untilMs })
      .delete(wakeKey(before, subscriptionId)).set(wakeKey(untilMs, subscriptionId), true);
  }
  return await commit(atomic) ? own.map((lease) => ({ ...lease, untilMs })) : undefined;
}
