import type { Kv, KvAtomic, KvEntry } from "../../runtime/kv.ts";
import { heightOf } from "../event.ts";
import type { WatcherState } from "../store.ts";
import { ATTEMPTS_KEPT, type FailedDelivery, type NewAttempt, type Replay, type Subscription } from "../webhook.ts";
import { noteAttempts } from "./attempts.ts";
import { count, dropOldest, type FailedBySequence, readFailed, writeFailed } from "./failed_deliveries.ts";
import {
  FORMER_FAN_OUT,
  type FormerAttempt,
  formerAttemptTimeKey,
  formerCreationKey,
  type FormerDelivery,
  formerDueKey,
  type FormerFanOut,
  type FormerReplay,
  formerReplayKey,
  formerReplayOfKey,
  idAt,
  isEndOfLedger,
  placeOf,
  positionOf,
} from "./former_schema.ts";
import { collect, getAll, next, present } from "./io.ts";
import { readPieces } from "./large_values.ts";
import type { Step } from "./migration.ts";
import {
  eventKey,
  FORGOTTEN,
  idKey,
  MIGRATION,
  type MigrationEntry,
  type ReaderEntry,
  readerKey,
  subscriptionKey,
  WATCHER,
} from "./schema.ts";
import { newReader } from "./subscriptions.ts";

const SUBSCRIPTIONS_PER_COMMIT = 50;
/** Each is up to seven writes, of 600 bytes of keys. */
const DELIVERIES_PER_COMMIT = 100;
const ATTEMPTS_PER_COMMIT = 200;
const LEFT_PER_COMMIT = 250;

type FormerSubscription = Omit<Subscription, "startHeight" | "ordered"> & { startPosition: string };

/** Subscriptions with their readers: each has heard what fan-out had come to. */
export function moveSubscriptions(): Step {
  let after = "";
  return async (kv, atomic) => {
    const range = { prefix: ["subscription"], start: subscriptionKey(next(after)) };
    const log = await searchOf(kv);
    const fanOut = (await kv.get<FormerFanOut>(FORMER_FAN_OUT)).value;
    const state = await readPieces<WatcherState>(kv, WATCHER);
    let moved = 0;
    for await (const { key, value } of kv.list<FormerSubscription | Subscription>(range)) {
      if (!("startPosition" in value)) {
        if (moved === 0) after = value.id;
        continue;
      }
      const { startPosition, ...subscription } = value;
      atomic.set(key, present({ ...subscription, ordered: false, startHeight: heightAfter(startPosition) }));
      const reader = newReader(await heardBy(value.id, fanOut, log));
      reader.replay = await replayOf(kv, value.id, state, log);
      atomic.set(readerKey(value.id), reader);
      if (++moved === SUBSCRIPTIONS_PER_COMMIT) break;
    }
    return moved > 0;
  };
}

/** Where events stand in the log. */
interface LogSearch {
  /** Before the first event. */
  first: number;
  /** The last sequence, of those in the ledgers' order, whose event lies at this position or before; `first`: none does. */
  upTo(position: string): Promise<number>;
  positionAt(sequence: number): Promise<string | undefined>;
}

async function searchOf(kv: Kv): Promise<LogSearch> {
  const [migration, { value: forgotten }] = await kv.getMany<[MigrationEntry, number]>([MIGRATION, FORGOTTEN]);
  const first = forgotten ?? 0;
  const positionAt = async (sequence: number) => {
    const { value } = await kv.get<{ id: string }>(eventKey(sequence));
    return value === null ? undefined : positionOf(value.id);
  };
  return {
    first,
    positionAt,
    async upTo(position) {
      let [low, high] = [first, migration.value?.inOrder ?? first];
      while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if ((await positionAt(middle))! <= position) low = middle;
        else high = middle - 1;
      }
      return low;
    },
  };
}

async function heardBy(subscriptionId: string, fanOut: FormerFanOut | null, log: LogSearch): Promise<number> {
  if (fanOut === null) return log.first;
  const sequence = await log.upTo(fanOut.position);
  const isBegun = fanOut.subscriptionId !== undefined && subscriptionId > fanOut.subscriptionId;
  return isBegun && await log.positionAt(sequence) === fanOut.position ? sequence - 1 : sequence;
}

async function replayOf(
  kv: Kv,
  subscriptionId: string,
  state: WatcherState | undefined,
  log: LogSearch,
): Promise<Replay | null> {
  const { value: id } = await kv.get<string>(formerReplayOfKey(subscriptionId));
  const former = id === null ? null : (await kv.get<FormerReplay>(formerReplayKey(id))).value;
  if (former === null) return null;
  const toHeight = heightAt(former.upToPosition);
  const isScanned = state !== undefined && toHeight <= heightOf(state.epoch, state.scannedLedger);
  return {
    id: former.id,
    subscriptionId,
    fromHeight: heightAfter(former.afterPosition),
    toHeight,
    cursor: await log.upTo(former.position),
    endSequence: isScanned ? await log.upTo(former.upToPosition) : null,
    deliveries: former.deliveries,
    atLeast: false,
    createdAtMs: former.createdAtMs,
  };
}

function heightAt(position: string): number {
  const { epoch, ledger } = placeOf(position);
  return heightOf(epoch, ledger);
}

/** The first height that has something after this position: the next one when it is the end of a ledger. */
function heightAfter(position: string): number {
  return isEndOfLedger(position) ? heightAt(position) + 1 : heightAt(position);
}

/** Goes through the subscriptions, again and again over one until nothing is left to move of it. */
function ofEach(
  move: (kv: Kv, subscription: Subscription, reader: ReaderEntry, atomic: KvAtomic) => Promise<boolean>,
): Step {
  let from = "";
  return async (kv, atomic) => {
    for (;;) {
      const range = { prefix: ["subscription"], start: subscriptionKey(from) };
      const [entry] = await collect(kv.list<Subscription>(range, { limit: 1 }));
      if (entry === undefined) return false;
      const { id } = entry.value;
      const reader = (await kv.get<ReaderEntry>(readerKey(id))).value!;
      if (await move(kv, entry.value, reader, atomic)) {
        from = id;
        atomic.set(readerKey(id), reader);
        return true;
      }
      from = next(id);
    }
  };
}

/** What was pending retries, as due as it was; what was dead is dead. */
export function moveDeliveries(): Step {
  return ofEach(async (kv, { id, startHeight }, reader, atomic) => {
    const range = { prefix: ["delivery", id] };
    const found = await collect(
      kv.list<FormerDelivery>(range, { limit: DELIVERIES_PER_COMMIT, batchSize: DELIVERIES_PER_COMMIT }),
    );
    const pending = found.filter(({ value }) => value.dueAtMs !== null);
    const dueKeys = pending.map(({ key, value }) => formerDueKey(id, value, key[2] as string));
    const due = await getAll(kv, dueKeys);
    const listed = new Set(pending.filter((_, index) => due[index]!.value !== null));
    const sequences = await getAll<number>(kv, found.map(({ value }) => idKey(idAt(value.position))));
    const before = await readFailed(kv, id, [...new Set(sequences.flatMap(({ value }) => value ?? []))]);
    const after: FailedBySequence = new Map(before);
    found.forEach((delivery, index) => {
      atomic.delete(delivery.key).delete(formerCreationKey(id, delivery.value, delivery.key[2] as string));
      const sequence = sequences[index]!.value;
      // One that is not listed was never committed.
      const isThere = delivery.value.dueAtMs === null || listed.has(delivery);
      if (!isThere || !sequence) return;
      // What lies after the cursor is delivered by that.
      const isHeard = sequence > reader.progress.cursor && heightAt(delivery.value.position) >= startHeight;
      if (!isHeard) keep(reader, after, toFailed(sequence, delivery));
    });
    for (const key of dueKeys) atomic.delete(key);
    writeFailed(atomic, id, before, after);
    return found.length > 0 || await dropOldest(kv, atomic, id, reader);
  });
}

function toFailed(sequence: number, { value }: KvEntry<FormerDelivery>): FailedDelivery {
  const { attempts, dueAtMs, createdAtMs } = value;
  return {
    sequence,
    state: dueAtMs === null ? "dead" : "retrying",
    attempts,
    dueAtMs,
    failedAtMs: createdAtMs,
    attemptedAtMs: 0,
  };
}

/** An event may have been owed twice, by a replay, too: once is enough, as soon as it was to be. */
function keep(reader: ReaderEntry, failed: FailedBySequence, one: FailedDelivery): void {
  const other = failed.get(one.sequence);
  if (other !== undefined) {
    if ((one.dueAtMs ?? Infinity) >= (other.dueAtMs ?? Infinity)) return;
    count(reader, other.state, -1);
  }
  failed.set(one.sequence, one);
  count(reader, one.state, 1);
  const { progress } = reader;
  if (one.dueAtMs !== null) progress.nextDueAtMs = Math.min(progress.nextDueAtMs ?? Infinity, one.dueAtMs);
}

/** The newest, by the order of their ids. */
export function moveAttempts(): Step {
  return ofEach(async (kv, { id }, reader, atomic) => {
    const former = { start: ["attempt", id, ""], end: ["attempt", id, -Infinity] };
    const list = (limit: number, reverse: boolean) =>
      collect(kv.list<FormerAttempt>(former, { limit, reverse, batchSize: Math.min(limit, 500) }));
    const first = await list(ATTEMPTS_PER_COMMIT, false);
    const oldestKept = first.length === 0 ? undefined : (await list(ATTEMPTS_KEPT, true)).at(-1)!.value.id;
    for (const { key, value } of first) atomic.delete(key).delete(formerAttemptTimeKey(value));
    const kept = first.map(({ value }) => value).filter((attempt) => attempt.id >= oldestKept!);
    noteAttempts(atomic, id, reader, kept.map(toAttempt));
    return first.length > 0;
  });
}

/** What deleted subscriptions left, where others have something. */
export const removeOfDeleted: Step = async (kv, atomic) => {
  let found = 0;
  for await (const { key } of kv.list({ prefix: ["deleted_subscription"] })) {
    for (const prefix of ["attempt", "due"]) {
      const limit = LEFT_PER_COMMIT - found;
      if (limit === 0) return true;
      const left = await collect(kv.list({ prefix: [prefix, key[1]!] }, { limit, batchSize: limit }));
      for (const entry of left) atomic.delete(entry.key);
      found += left.length;
    }
  }
  return found > 0;
};

function toAttempt({ id: _, subscriptionId: __, deliveryId, number, outcome, ...rest }: FormerAttempt): NewAttempt {
  const [, replayId = null] = deliveryId?.split(":") ?? [];
  const isTest = deliveryId === null;
  const responseBody = outcome === "delivered" ? null : rest.responseBody;
  const kept = { ...rest, replayId, responseBody, number: isTest ? 0 : number };
  return { ...kept, outcome: outcome === "ended" ? "rejected" : outcome };
}
