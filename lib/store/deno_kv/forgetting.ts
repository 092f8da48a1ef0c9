import type { KvEntryMaybe, KvKey } from "../../runtime/kv.ts";
import { checkForget } from "../bounds.ts";
import type { NounDriver } from "../checked_store.ts";
import type { LoggedEvent } from "../event.ts";
import type { EventStore } from "../store.ts";
import { type FailedDelivery, partitionLease, PARTITIONS } from "../webhook.ts";
import { chunks, collect, commit, type DenoKvContext, getAll } from "./io.ts";
import { type FailedChange, firstDue, putFailed } from "./failed_deliveries.ts";
import {
  eventKey,
  FORGOTTEN,
  idKey,
  indexKeys,
  lateKey,
  leaseKey,
  LOG,
  type LogEntry,
  readerKey,
  type ReaderEntry,
  READERS_VERSION,
} from "./schema.ts";

type ForgetStep = Parameters<EventStore["forget"]>[0];

/** Of nine keys each. */
const EVENTS_PER_COMMIT = 80;
/** Of three keys each, besides their readers and those named. */
const FAILED_PER_COMMIT = 150;

/** How events leave the log. */
export function denoKvForgetting({ kv, retry, inTurn }: DenoKvContext): Pick<NounDriver<EventStore>, "forget"> {
  /**
   * Failed deliveries of the events that go are counted as dead, as many as one commit can; with the last of them go the
   * events. `isEnd`: it is done, or refused.
   */
  async function forgetSome(
    { upTo, undelivered }: ForgetStep,
  ): Promise<{ done: { isEnd: boolean; isDone: boolean } } | undefined> {
    // Whoever settles writes a partition's lease, whoever else changes readers raises the version.
    const [version, forgotten, ...leases] = await getAll<unknown>(kv, [
      READERS_VERSION,
      FORGOTTEN,
      ...Array.from({ length: PARTITIONS }, (_, partition) => leaseKey(partitionLease(partition))),
    ]);
    const before = (forgotten!.value ?? 0) as number;
    checkForget(upTo, { last: (await kv.get<LogEntry>(LOG)).value?.last ?? 0, forgotten: before });
    const range = { prefix: ["failed"], end: ["failed", upTo + 1] };
    const failed = await collect(kv.list<FailedDelivery>(range, { limit: FAILED_PER_COMMIT, batchSize: 500 }));
    const isLast = failed.length < FAILED_PER_COMMIT;
    const bySubscription = Map.groupBy(failed, ({ key }) => key[2] as string);
    const ids = [...new Set([...bySubscription.keys(), ...undelivered.map(({ subscriptionId }) => subscriptionId)])];
    const entries = await getAll<ReaderEntry>(kv, ids.map(readerKey));
    const readers = new Map(ids.map((id, index) => [id, entries[index]!]));
    if (undelivered.some((one) => hasMoved(readers.get(one.subscriptionId)!, one.cursor))) {
      return { done: { isEnd: true, isDone: false } };
    }
    const atomic = kv.atomic().check(version!, forgotten!, ...leases).sum(READERS_VERSION, 1n);
    for (const [id, { key, value: reader }] of readers) {
      const changes = (bySubscription.get(id) ?? []).map(({ value }): FailedChange => ({ before: value, after: "dead" }));
      if (reader === null) {
        // What a deleted subscription left behind.
        putFailed(atomic, id, undefined, changes);
        continue;
      }
      putFailed(atomic, id, reader, changes);
      if (changes.some(({ before }) => before?.state === "retrying")) {
        const gone = new Set(changes.map(({ before }) => before!.sequence));
        reader.progress.nextDueAtMs = await firstDue(kv, id, gone);
      }
      const named = isLast ? undelivered.find(({ subscriptionId }) => subscriptionId === id) : undefined;
      if (named !== undefined) {
        reader.progress.dead += named.events;
        reader.progress.cursor = Math.max(reader.progress.cursor, upTo);
      }
      atomic.set(key, reader);
    }
    if (isLast) atomic.set(FORGOTTEN, Math.max(before, upTo));
    return await commit(atomic) ? { done: { isEnd: isLast, isDone: true } } : undefined;
  }

  /** Removes events that count as gone; what a killed call has left, too. */
  async function removeForgotten(): Promise<void> {
    const { value: forgotten } = await kv.get<number>(FORGOTTEN);
    if (forgotten === null) return;
    const range = { prefix: ["event"], end: eventKey(forgotten + 1) };
    const events = (await collect(kv.list<LoggedEvent>(range, { batchSize: 500 }))).map(({ value }) => value);
    for (const some of chunks(events, EVENTS_PER_COMMIT)) {
      const atomic = kv.atomic();
      for (const event of some) for (const key of keysOf(event)) atomic.delete(key);
      await commit(atomic);
    }
    // The last of them still says what was reached by then.
    const reached = await collect(kv.list<number>({ prefix: ["reached"] }, { limit: 500, batchSize: 500 }));
    const past = reached.filter(({ value }) => value <= forgotten);
    const atomic = kv.atomic();
    for (const { key } of past.slice(0, -1)) atomic.delete(key);
    await commit(atomic);
  }

  return {
    async forget(step) {
      for (;;) {
        const { isEnd, isDone } = await inTurn(() => retry(() => forgetSome(step)));
        if (!isDone) return false;
        if (!isEnd) continue;
        await removeForgotten();
        return true;
      }
    },
  };
}

function hasMoved({ value }: KvEntryMaybe<ReaderEntry>, cursor: number): boolean {
  return value !== null && value.progress.cursor !== cursor;
}

function keysOf(event: LoggedEvent): KvKey[] {
  const { sequence, id } = event;
  return [eventKey(sequence), idKey(id), lateKey(sequence), ...indexKeys(event, sequence)];
}
