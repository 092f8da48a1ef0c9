import type { KvAtomic, KvEntryMaybe } from "../../runtime/kv.ts";
import type { DeliveryStore, Lease } from "../store.ts";
import { FAILED_KEPT, type FailedDelivery, type Settlement } from "../webhook.ts";
import { noteAttempts } from "./attempts.ts";
import { count, dropOldest, type FailedBySequence, firstDue, readFailed, writeFailed } from "./failed_deliveries.ts";
import { commit, type DenoKvContext, getAll, MAX_KEYS } from "./database.ts";
import { checkOwn } from "./leases.ts";
import {
  type ConsumerEntry,
  consumerKey,
  FORGOTTEN,
  type LeaseEntry,
  leaseKey,
  LOG,
  type LogEntry,
  READERS_VERSION,
} from "./schema.ts";

/** Settlements by subscription. */
type Parts = Map<string, Settlement[]>;

/**
 * `DeliveryStore.settle`, in one commit. It checks the leases, and a version for changes without a lease. It rewrites the
 * leases, so of two commits under the same lease the later one repeats.
 */
export function denoKvSettling({ kv, location, retry, oneAtATime }: DenoKvContext): DeliveryStore["settle"] {
  /** Returns the consumers that exceed a bound now. */
  async function settleOnce(leases: Lease[], parts: Parts): Promise<{ done: string[] } | undefined> {
    const { version, held, consumers } = await read(leases, [...parts.keys()]);
    checkOwn(location, leases, held);
    const atomic = kv.atomic().check(version, ...held);
    for (const { key, value } of held) atomic.set(key, value);
    for (const [subscriptionId, consumer] of consumers) {
      await settleConsumer(atomic, subscriptionId, consumer, parts.get(subscriptionId)!);
      atomic.set(consumerKey(subscriptionId), consumer);
    }
    if (!await commit(atomic)) return undefined;
    const tooMany = [...consumers].filter(([, { kept }]) => Math.max(kept.rejected, kept.dead) > FAILED_KEPT);
    return { done: tooMany.map(([subscriptionId]) => subscriptionId) };
  }

  /** The checked entries are read first, or at the same moment as the consumers. */
  async function read(leases: Lease[], subscriptionIds: string[]): Promise<{
    version: KvEntryMaybe<unknown>;
    held: KvEntryMaybe<LeaseEntry>[];
    consumers: Map<string, ConsumerEntry>;
  }> {
    const checked = [READERS_VERSION, ...leases.map(({ name }) => leaseKey(name))];
    const atOnce = MAX_KEYS - checked.length;
    const first = await kv.getMany<unknown[]>([...checked, ...subscriptionIds.slice(0, atOnce).map(consumerKey)]);
    const [version, ...held] = first.slice(0, checked.length) as [KvEntryMaybe<unknown>, ...KvEntryMaybe<LeaseEntry>[]];
    const rest = await getAll(kv, subscriptionIds.slice(atOnce).map(consumerKey));
    const consumers = new Map<string, ConsumerEntry>();
    for (const { key, value } of [...first.slice(checked.length), ...rest] as KvEntryMaybe<ConsumerEntry>[]) {
      if (value !== null) consumers.set(key[1] as string, value);
    }
    return { version, held, consumers };
  }

  async function settleConsumer(
    atomic: KvAtomic,
    subscriptionId: string,
    consumer: ConsumerEntry,
    settlements: Settlement[],
  ): Promise<void> {
    const isFailing = settlements.some(({ failed = [], delivered = [] }) => failed.length + delivered.length > 0);
    if (isFailing) await settleFailed(atomic, subscriptionId, consumer, settlements);
    const { progress } = consumer;
    for (const { cursor, replay, failingSinceMs, attempts } of settlements) {
      progress.cursor = Math.max(progress.cursor, cursor ?? 0);
      if (failingSinceMs !== undefined) progress.failingSinceMs = failingSinceMs;
      if (replay !== undefined && replay.id === consumer.replay?.id) {
        if (replay.done) consumer.replay = null;
        else consumer.replay.cursor = Math.max(consumer.replay.cursor, replay.cursor);
      }
      noteAttempts(atomic, subscriptionId, consumer, attempts);
    }
  }

  async function settleFailed(
    atomic: KvAtomic,
    subscriptionId: string,
    consumer: ConsumerEntry,
    settlements: Settlement[],
  ): Promise<void> {
    const { progress, kept } = consumer;
    const isAnyKept = progress.retrying + kept.rejected + kept.dead > 0;
    const named = settlements.flatMap(({ failed = [], delivered = [] }) => [
      ...failed.map(({ sequence }) => sequence),
      ...delivered,
    ]);
    const before = isAnyKept ? await readFailed(kv, subscriptionId, [...new Set(named)]) : new Map();
    const after: FailedBySequence = new Map(before);
    const [log, forgotten] = await kv.getMany<[LogEntry, number]>([LOG, FORGOTTEN]);
    const bounds = { last: log.value?.last ?? 0, forgotten: forgotten.value ?? 0 };
    for (const { failed = [], delivered = [] } of settlements) {
      for (const sequence of delivered) replace(consumer, after, sequence, undefined);
      for (const one of failed) {
        if (one.sequence > bounds.last) {
          throw new RangeError(`there is no event ${one.sequence} yet, the last is ${bounds.last}`);
        }
        if (one.sequence > bounds.forgotten) replace(consumer, after, one.sequence, one);
      }
    }
    writeFailed(atomic, subscriptionId, before, after);
    progress.nextDueAtMs = await nextDue(subscriptionId, progress.nextDueAtMs, before, after);
  }

  async function nextDue(
    subscriptionId: string,
    known: number | null,
    before: FailedBySequence,
    after: FailedBySequence,
  ): Promise<number | null> {
    const wasFirst = [...before.values()].some(({ dueAtMs }) => dueAtMs !== null && dueAtMs === known);
    const others = wasFirst ? await firstDue(kv, subscriptionId, new Set(before.keys())) : known;
    return [...after.values()].reduce(
      (first, { dueAtMs }) => dueAtMs === null || (first !== null && first <= dueAtMs) ? first : dueAtMs,
      others,
    );
  }

  async function dropSome(subscriptionId: string): Promise<{ done: boolean } | undefined> {
    const entry = await kv.get<ConsumerEntry>(consumerKey(subscriptionId));
    if (entry.value === null) return { done: false };
    const atomic = kv.atomic().check(entry).sum(READERS_VERSION, 1n);
    if (!await dropOldest(kv, atomic, subscriptionId, entry.value)) return { done: false };
    return await commit(atomic.set(entry.key, entry.value)) ? { done: true } : undefined;
  }

  return ({ leases, settlements }) =>
    oneAtATime(async () => {
      const parts = Map.groupBy(settlements, ({ subscriptionId }) => subscriptionId);
      for (const id of await retry(() => settleOnce(leases, parts))) {
        while (await retry(() => dropSome(id)));
      }
    });
}

/** Replaces a failed delivery by its new state, or removes it. */
function replace(
  consumer: ConsumerEntry,
  kept: FailedBySequence,
  sequence: number,
  failed: FailedDelivery | undefined,
): void {
  const former = kept.get(sequence);
  if (former !== undefined) count(consumer, former.state, -1);
  kept.delete(sequence);
  if (failed === undefined) return;
  consumer.attemptedUntilMs = Math.max(consumer.attemptedUntilMs ?? 0, failed.attemptedAtMs);
  count(consumer, failed.state, 1);
  kept.set(sequence, failed);
}
