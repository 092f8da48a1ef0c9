import type { Lease, Store } from "../../lib/store/store.ts";
import {
  type AttemptOutcome,
  type DueDelivery,
  type FailedDelivery,
  type NewAttempt,
  partitionLease,
  partitionOf,
  type Progress,
  type Replay,
  type Settlement,
  type Subscription,
} from "../../lib/store/webhook.ts";
import { sampleId } from "./samples.ts";

export const START_MS = 1_793_491_200_000;

export function sampleSubscription(id: string, fields: Partial<Subscription> = {}): Subscription {
  return {
    id,
    keyId: "key",
    url: `https://hooks.example/${id}`,
    types: null,
    deviceHash: null,
    merchant: null,
    ordered: false,
    secret: `whsec_of_${id}`,
    previousSecret: null,
    createdAt: "2026-11-01T00:00:00.000Z",
    startHeight: 0,
    ...fields,
  };
}

export function sampleAttempt(n: number, fields: Partial<NewAttempt> = {}): NewAttempt {
  return {
    replayId: null,
    eventId: sampleId(n),
    eventType: "escrow.funded",
    number: 1,
    atMs: START_MS + n,
    durationMs: 12.5,
    outcome: "delivered",
    statusCode: 200,
    error: null,
    responseBody: null,
    nextAttemptAtMs: null,
    ...fields,
  };
}

/** An attempt that failed. */
export function failedAttempt(n: number, outcome: AttemptOutcome): NewAttempt {
  return sampleAttempt(n, { outcome, statusCode: 500, error: "HTTP 500", responseBody: "oops" });
}

/** A delivery of the event with this sequence that failed; `retrying` is due after ten seconds. */
export function sampleFailed(
  sequence: number,
  state: FailedDelivery["state"],
  fields: Partial<FailedDelivery> = {},
): FailedDelivery {
  return {
    sequence,
    state,
    attempts: 1,
    dueAtMs: state === "retrying" ? START_MS + 10_000 : null,
    failedAtMs: START_MS,
    attemptedAtMs: START_MS,
    ...fields,
  };
}

export function sampleReplay(id: string, subscriptionId: string, fields: Partial<Replay> = {}): Replay {
  return {
    id,
    subscriptionId,
    fromHeight: 1_001,
    toHeight: 1_009,
    cursor: 0,
    endSequence: 9,
    deliveries: 9,
    atLeast: false,
    createdAtMs: START_MS,
    ...fields,
  };
}

export async function subscribe(store: Store, ...ids: string[]): Promise<void> {
  for (const id of ids) await store.subscriptions.insert(sampleSubscription(id), 1_000);
}

/** The leases of the partitions of these subscriptions, acquired again by their holder. */
export async function workerLeases(store: Store, ...subscriptionIds: string[]): Promise<Lease[]> {
  const names = new Set(subscriptionIds.map((id) => partitionLease(partitionOf(id))));
  const leases: Lease[] = [];
  for (const name of names) {
    leases.push((await store.leases.acquire({ name, holder: "the worker", durationMs: 60_000 }))!);
  }
  return leases;
}

/** Settles under fresh leases; a settlement needs only the fields that the test is about. */
export async function settle(
  store: Store,
  ...settlements: (Partial<Settlement> & Pick<Settlement, "subscriptionId">)[]
): Promise<void> {
  const leases = await workerLeases(store, ...settlements.map(({ subscriptionId }) => subscriptionId));
  await store.deliveries.settle({ leases, settlements: settlements.map((one) => ({ attempts: [], ...one })) });
}

/** The progress of a subscription that is there. */
export async function progressOf(store: Store, subscriptionId: string): Promise<Progress> {
  return (await store.deliveries.consumer(subscriptionId))!.progress;
}

/** The progress of a consumer without outcomes, at this cursor. */
export function freshProgress(cursor: number, fields: Partial<Progress> = {}): Progress {
  return { cursor, failingSinceMs: null, retrying: 0, rejected: 0, dead: 0, nextDueAtMs: null, ...fields };
}

/** Failed deliveries of a subscription that are due at this time, as `next` has them: 200 at most. */
export async function dueOf(
  store: Store,
  subscriptionId: string,
  nowMs: number = START_MS + 1e9,
): Promise<DueDelivery[]> {
  const query = { after: 0, upTo: 0, limit: 200, inFlight: [], nowMs };
  const found = await store.deliveries.next(sampleSubscription(subscriptionId), query);
  return (found?.deliveries ?? []).map(({ event, failed }) => ({ event, delivery: failed! }));
}

/** A subscription's rejected and dead deliveries, newest event first, before a sequence. */
export async function endedOf(
  { deliveries }: Pick<Store, "deliveries">,
  { before: beyond, ...query }: { subscriptionId: string; before?: number; limit: number },
): Promise<DueDelivery[]> {
  const lists = ["rejected", "dead"] as const;
  const found = await Promise.all(lists.map((state) => deliveries.failed({ ...query, state, beyond })));
  return found.flat().sort((one, other) => other.event.sequence - one.event.sequence).slice(0, query.limit);
}
