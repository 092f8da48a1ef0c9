import type { KvAtomic } from "../../runtime/kv.ts";
import type { NounDriver } from "../checked_store.ts";
import type { DeliveryStore } from "../store.ts";
import { type Attempt, ATTEMPTS_KEPT, type NewAttempt } from "../webhook.ts";
import { collect, commit, type DenoKvContext } from "./database.ts";
import { attemptKey, type ConsumerEntry, consumerKey, READERS_VERSION } from "./schema.ts";

type AttemptMethods = Pick<NounDriver<DeliveryStore>, "recordAttempt" | "attempts" | "pruneAttempts">;

const PRUNED_PER_COMMIT = 900;

/** Attempts in a ring for each subscription: the newest replaces the oldest. */
export function denoKvAttempts({ kv, retry, oneAtATime }: DenoKvContext): AttemptMethods {
  /** Deletes attempts before this time, as many as one commit can. */
  async function pruneSome(
    subscriptionId: string,
    beforeMs: number,
  ): Promise<{ done: { removed: number; isEnd: boolean } } | undefined> {
    const entry = await kv.get<ConsumerEntry>(consumerKey(subscriptionId));
    const since = entry.value?.attemptsSinceMs ?? null;
    if (since === null || since >= beforeMs) return { done: { removed: 0, isEnd: true } };
    const stored = await collect(kv.list<Attempt>({ prefix: ["attempt", subscriptionId] }, { batchSize: 500 }));
    const old = stored.filter(({ value }) => value.atMs < beforeMs).slice(0, PRUNED_PER_COMMIT);
    const gone = new Set(old);
    const left = stored.filter((attempt) => !gone.has(attempt)).map(({ value }) => value.atMs);
    const atomic = kv.atomic().check(entry).sum(READERS_VERSION, 1n);
    for (const { key } of old) atomic.delete(key);
    const attemptsSinceMs = left.length === 0 ? null : left.reduce((least, atMs) => Math.min(least, atMs));
    atomic.set(entry.key, { ...entry.value, attemptsSinceMs });
    if (!await commit(atomic)) return undefined;
    return { done: { removed: old.length, isEnd: attemptsSinceMs === null || attemptsSinceMs >= beforeMs } };
  }

  return {
    recordAttempt: (subscriptionId, attempt) =>
      oneAtATime(() =>
        retry(async () => {
          const entry = await kv.get<ConsumerEntry>(consumerKey(subscriptionId));
          if (entry.value === null) return { done: undefined };
          const atomic = kv.atomic().check(entry).sum(READERS_VERSION, 1n);
          const consumer = structuredClone(entry.value);
          const [noted] = noteAttempts(atomic, subscriptionId, consumer, [attempt]);
          return await commit(atomic.set(entry.key, consumer)) ? { done: noted } : undefined;
        })
      ),
    async attempts(subscriptionId, { before = Infinity, limit }) {
      const { value: consumer } = await kv.get<ConsumerEntry>(consumerKey(subscriptionId));
      if (consumer === null) return [];
      const last = Math.min(before - 1, consumer.ordinal);
      const first = Math.max(1, consumer.ordinal - ATTEMPTS_KEPT + 1);
      const found: Attempt[] = [];
      for (const { from, to } of slotRanges(first, last)) {
        const range = { start: attemptKey(subscriptionId, from), end: attemptKey(subscriptionId, to + 1) };
        for await (const { value } of kv.list<Attempt>(range, { reverse: true, batchSize: limit })) {
          // Newer attempts may have replaced the oldest meanwhile.
          if (value.ordinal >= first && value.ordinal <= last) found.push(value);
          if (found.length === limit) return found;
        }
      }
      return found;
    },
    pruneAttempts: (subscriptionId, beforeMs) =>
      oneAtATime(async () => {
        for (let total = 0;;) {
          const { removed, isEnd } = await retry(() => pruneSome(subscriptionId, beforeMs));
          total += removed;
          if (isEnd) return total;
        }
      }),
  };
}

/** Writes attempts with the next ordinals, records these in `consumer`, and returns the stored attempts. One write each. */
export function noteAttempts(
  atomic: KvAtomic,
  subscriptionId: string,
  consumer: ConsumerEntry,
  attempts: NewAttempt[],
): Attempt[] {
  return attempts.map((attempt) => {
    consumer.ordinal += 1;
    consumer.attemptsSinceMs = Math.min(consumer.attemptsSinceMs ?? Infinity, attempt.atMs);
    const kept: Attempt = { ...attempt, ordinal: consumer.ordinal };
    atomic.set(attemptKey(subscriptionId, slotOf(consumer.ordinal)), kept);
    return kept;
  });
}

function slotOf(ordinal: number): number {
  return ordinal % ATTEMPTS_KEPT;
}

/** The slots of these ordinals, at most one round, newest first: one range, or two where the ring starts over. */
function slotRanges(first: number, last: number): { from: number; to: number }[] {
  if (last < first) return [];
  const [from, to] = [slotOf(first), slotOf(last)];
  if (from <= to) return [{ from, to }];
  return [{ from: 0, to }, { from, to: ATTEMPTS_KEPT - 1 }];
}
