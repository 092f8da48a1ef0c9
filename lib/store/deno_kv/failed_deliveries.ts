import type { Kv, KvAtomic } from "../../runtime/kv.ts";
import { FAILED_KEPT, type FailedDelivery } from "../webhook.ts";
import { collect, getAll } from "./database.ts";
import { type ConsumerEntry, dueKey, failedKey, stateKey } from "./schema.ts";

const DROPPED_PER_COMMIT = 250;

/** Failed deliveries of one subscription by the sequences of their events. */
export type FailedBySequence = Map<number, FailedDelivery>;

/** The stored failed deliveries of these sequences. */
export async function readFailed(kv: Kv, subscriptionId: string, sequences: number[]): Promise<FailedBySequence> {
  const entries = await getAll<FailedDelivery>(kv, sequences.map((sequence) => failedKey(sequence, subscriptionId)));
  return new Map(entries.flatMap(({ value }) => value === null ? [] : [[value.sequence, value]]));
}

/** Writes the differences. At most four writes each. */
export function writeFailed(
  atomic: KvAtomic,
  subscriptionId: string,
  before: FailedBySequence,
  after: FailedBySequence,
): void {
  for (const [sequence, former] of before) if (!after.has(sequence)) removeFailed(atomic, subscriptionId, former);
  for (const [sequence, failed] of after) {
    const former = before.get(sequence);
    if (failed === former) continue;
    atomic.set(failedKey(sequence, subscriptionId), failed);
    if (former?.state !== failed.state) {
      if (former !== undefined) atomic.delete(stateKey(subscriptionId, former.state, sequence));
      atomic.set(stateKey(subscriptionId, failed.state, sequence), true);
    }
    if (former !== undefined && former.dueAtMs !== null && former.dueAtMs !== failed.dueAtMs) {
      atomic.delete(dueKey(subscriptionId, former.dueAtMs, sequence));
    }
    if (failed.dueAtMs !== null) atomic.set(dueKey(subscriptionId, failed.dueAtMs, sequence), failed.attemptedAtMs);
  }
}

/** Three writes. */
export function removeFailed(
  atomic: KvAtomic,
  subscriptionId: string,
  { sequence, state, dueAtMs }: FailedDelivery,
): void {
  atomic.delete(failedKey(sequence, subscriptionId)).delete(stateKey(subscriptionId, state, sequence));
  if (dueAtMs !== null) atomic.delete(dueKey(subscriptionId, dueAtMs, sequence));
}

/** Counts one delivery more, or one less, in this state. */
export function count({ progress, kept }: ConsumerEntry, state: FailedDelivery["state"], change: 1 | -1): void {
  progress[state] += change;
  if (state !== "retrying") kept[state] += change;
}

/** The first due time, without these sequences. Null: there is none. */
export async function firstDue(kv: Kv, subscriptionId: string, except: ReadonlySet<number>): Promise<number | null> {
  const limit = except.size + 1;
  const due = await collect(kv.list({ prefix: ["due", subscriptionId] }, { limit, batchSize: Math.min(limit, 500) }));
  const first = due.find(({ key }) => !except.has(key[3] as number));
  return first === undefined ? null : first.key[2] as number;
}

/** Removes some failed deliveries beyond the newest of each kind, and counts them. False: there were none. */
export async function dropOldest(
  kv: Kv,
  atomic: KvAtomic,
  subscriptionId: string,
  { kept }: ConsumerEntry,
): Promise<boolean> {
  const state = (["rejected", "dead"] as const).find((one) => kept[one] > FAILED_KEPT);
  if (state === undefined) return false;
  const limit = Math.min(kept[state] - FAILED_KEPT, DROPPED_PER_COMMIT);
  const range = { prefix: stateKey(subscriptionId, state, 0).slice(0, -1) };
  const oldest = await collect(kv.list(range, { limit, batchSize: limit }));
  for (const { key } of oldest) {
    const sequence = key[3] as number;
    atomic.delete(failedKey(sequence, subscriptionId)).delete(stateKey(subscriptionId, state, sequence));
  }
  kept[state] -= oldest.length;
  return true;
}
