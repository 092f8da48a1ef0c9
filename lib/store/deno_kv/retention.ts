import type { KvEntryMaybe, KvKey } from "../../runtime/kv.ts";
import { checkForget } from "../bounds.ts";
import type { NounDriver } from "../checked_store.ts";
import type { LoggedEvent } from "../event.ts";
import type { EventStore } from "../store.ts";
import { type FailedDelivery, partitionLease, PARTITIONS } from "../webhook.ts";
import { firstDue, removeFailed } from "./failed_deliveries.ts";
import { chunks, collect, commit, type DenoKvContext, getAll } from "./database.ts";
import {
  type ConsumerEntry,
  consumerKey,
  eventKey,
  FORGOTTEN,
  idKey,
  indexKeys,
  lateKey,
  leaseKey,
  LOG,
  type LogEntry,
  READERS_VERSION,
} from "./schema.ts";

type ForgetStep = Parameters<EventStore["forget"]>[0];

/** Events of a commit, with eight keys each. */
const EVENTS_PER_COMMIT = 80;
/** Failed deliveries of a commit: three keys each, besides their consumers and the named ones. */
const FAILED_PER_COMMIT = 150;

/** Every settlement writes the lease of its partition. */
const PARTITION_LEASES = Array.from({ length: PARTITIONS }, (_, partition) => leaseKey(partitionLease(partition)));

/** `EventStore.forget`: deletes the oldest events with their failed deliveries. */
export function denoKvForget({ kv, retry, oneAtATime }: DenoKvContext): NounDriver<EventStore>["forget"] {
  /** Ends failed deliveries, as many as one commit can. With the last of them, the events count as deleted. */
  async function forgetSome(
    { upTo, undelivered, areMore = false }: ForgetStep,
  ): Promise<{ done: "refused" | "more" | "done" } | undefined> {
    // Every other change of a consumer raises the version, or writes a partition's lease.
    const checked = await kv.getMany<unknown[]>([READERS_VERSION, FORGOTTEN, ...PARTITION_LEASES]);
    const forgotten = (checked[1]!.value ?? 0) as number;
    checkForget(upTo, { last: (await kv.get<LogEntry>(LOG)).value?.last ?? 0, forgotten });
    const range = { prefix: ["failed"], end: ["failed", upTo + 1] };
    const failed = areMore
      ? []
      : await collect(kv.list<FailedDelivery>(range, { limit: FAILED_PER_COMMIT, batchSize: 500 }));
    const isLast = failed.length < FAILED_PER_COMMIT;
    const ended = Map.groupBy(failed, ({ key }) => key[2] as string);
    const ids = [...new Set([...ended.keys(), ...undelivered.map(({ subscriptionId }) => subscriptionId)])];
    const entries = await getAll<ConsumerEntry>(kv, ids.map(consumerKey));
    const consumers = new Map(ids.map((id, index) => [id, entries[index]!]));
    if (undelivered.some((one) => hasMoved(consumers.get(one.subscriptionId)!, one.cursor))) return { done: "refused" };
    const atomic = kv.atomic().check(...checked).sum(READERS_VERSION, 1n);
    for (const [id, { key, value: consumer }] of consumers) {
      const gone = (ended.get(id) ?? []).map(({ value }) => value);
      for (const one of gone) removeFailed(atomic, id, one);
      // A deleted subscription has no counts.
      if (consumer === null) continue;
      for (const { state } of gone) endOne(consumer, state);
      if (gone.some(({ state }) => state === "retrying")) {
        consumer.progress.nextDueAtMs = await firstDue(kv, id, new Set(gone.map(({ sequence }) => sequence)));
      }
      const named = undelivered.find(({ subscriptionId }) => subscriptionId === id);
      consumer.progress.dead += named?.events ?? 0;
      if (named !== undefined) consumer.progress.cursor = Math.max(consumer.progress.cursor, upTo);
      atomic.set(key, consumer);
    }
    if (isLast && !areMore) atomic.set(FORGOTTEN, Math.max(forgotten, upTo));
    return await commit(atomic) ? { done: isLast ? "done" : "more" } : undefined;
  }

  /** Removes events that count as deleted, also those that a killed call left. */
  async function removeForgotten(): Promise<void> {
    const forgotten = (await kv.get<number>(FORGOTTEN)).value ?? 0;
    const range = { prefix: ["event"], end: eventKey(forgotten + 1) };
    const events = (await collect(kv.list<LoggedEvent>(range, { batchSize: 500 }))).map(({ value }) => value);
    for (const some of chunks(events, EVENTS_PER_COMMIT)) {
      const atomic = kv.atomic();
      for (const event of some) for (const key of keysOf(event)) atomic.delete(key);
      await commit(atomic);
    }
    const reached = await collect(kv.list<number>({ prefix: ["reached"] }, { limit: 500, batchSize: 500 }));
    // The last of them stays, for late events.
    const past = reached.filter(({ value }) => value <= forgotten).slice(0, -1);
    const atomic = kv.atomic();
    for (const { key } of past) atomic.delete(key);
    if (past.length > 0) await commit(atomic);
  }

  return async (step) => {
    // The first commit moves the named consumers, or writes nothing. The others remove the rest of the failed deliveries.
    for (let left = step;; left = { ...step, undelivered: [] }) {
      const done = await oneAtATime(() => retry(() => forgetSome(left)));
      if (done === "refused") return false;
      if (done === "more") continue;
      await removeForgotten();
      return true;
    }
  };
}

/** A delivery in the state `retrying` is dead now. The others stay counted, without their entries. */
function endOne({ progress, kept }: ConsumerEntry, state: FailedDelivery["state"]): void {
  if (state !== "retrying") {
    kept[state] -= 1;
    return;
  }
  progress.retrying -= 1;
  progress.dead += 1;
}

function hasMoved({ value }: KvEntryMaybe<ConsumerEntry>, cursor: number): boolean {
  return value !== null && value.progress.cursor !== cursor;
}

function keysOf(event: LoggedEvent): KvKey[] {
  const { sequence, id } = event;
  return [eventKey(sequence), idKey(id), lateKey(sequence), ...indexKeys(event, sequence)];
}
