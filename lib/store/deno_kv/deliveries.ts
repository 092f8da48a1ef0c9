import type { KvKey, KvListSelector } from "../../runtime/kv.ts";
import type { LoggedEvent } from "../event.ts";
import type { NounDriver } from "../checked_store.ts";
import { intentFenced } from "../intent.ts";
import { type DeliveryStore, StoreError } from "../store.ts";
import type { DueDelivery, FailedDelivery, Reader, Subscription } from "../webhook.ts";
import { denoKvAttempts } from "./attempts.ts";
import { readFailed, writeFailed } from "./failed_deliveries.ts";
import { claimedEntry } from "./intents.ts";
import { collect, commit, type DenoKvContext, getAll, next } from "./io.ts";
import {
  dueKey,
  eventKey,
  failedKey,
  type ReaderEntry,
  readerKey,
  READERS_VERSION,
  stateKey,
  subscriptionKey,
  SUBSCRIPTIONS_VERSION,
} from "./schema.ts";
import { denoKvSettling } from "./settling.ts";

/** Of three writes each. */
const CLAMPED_PER_COMMIT = 250;

/** How far each subscription has come, and what failed. */
export function denoKvDeliveries(context: DenoKvContext): NounDriver<DeliveryStore> {
  const { kv, location, retry, oneAtATime } = context;

  async function sequencesIn(range: KvListSelector, limit: number, reverse = false): Promise<number[]> {
    const entries = await collect(kv.list(range, { limit, batchSize: limit, reverse }));
    return entries.map(({ key }) => key.at(-1) as number);
  }

  /** Looks up what these are about; again when one of them is meanwhile no longer what it was listed as. */
  const lookUp = (
    subscriptionId: string,
    list: () => Promise<number[]>,
    isListed: (failed: FailedDelivery) => boolean,
  ): Promise<DueDelivery[]> =>
    retry(async () => {
      // What is left of a deleted one is not owed.
      if ((await kv.get(readerKey(subscriptionId))).value === null) return { done: [] };
      const sequences = await list();
      const failed = await getAll<FailedDelivery>(kv, sequences.map((sequence) => failedKey(sequence, subscriptionId)));
      const events = await getAll<LoggedEvent>(kv, sequences.map(eventKey));
      const found = failed.map(({ value: delivery }, index) => ({ delivery, event: events[index]!.value }));
      const isSound = (one: typeof found[number]): one is DueDelivery =>
        one.delivery !== null && one.event !== null && isListed(one.delivery);
      return found.every(isSound) ? { done: found } : undefined;
    });

  async function clampSome(
    subscriptionId: string,
    latestDueAtMs: number,
  ): Promise<{ done: number } | undefined> {
    const entry = await kv.get<ReaderEntry>(readerKey(subscriptionId));
    const reader = entry.value;
    if (reader === null) return { done: 0 };
    const range = { prefix: ["due", subscriptionId], start: ["due", subscriptionId, latestDueAtMs, Infinity] };
    const before = await readFailed(kv, subscriptionId, await sequencesIn(range, CLAMPED_PER_COMMIT));
    if (before.size === 0) return { done: 0 };
    const atomic = kv.atomic().check(entry).sum(READERS_VERSION, 1n).sum(SUBSCRIPTIONS_VERSION, 1n);
    const after = new Map([...before].map(([sequence, one]) => [sequence, { ...one, dueAtMs: latestDueAtMs }]));
    writeFailed(atomic, subscriptionId, before, after);
    reader.progress.nextDueAtMs = Math.min(reader.progress.nextDueAtMs ?? Infinity, latestDueAtMs);
    return await commit(atomic.set(entry.key, reader)) ? { done: before.size } : undefined;
  }

  return {
    ...denoKvAttempts(context),
    settle: denoKvSettling(context),
    readers: ({ after = "", limit }) =>
      retry(async () => {
        const [subscriptions, readers] = await Promise.all([
          collect(kv.list<Subscription>(
            { prefix: ["subscription"], start: subscriptionKey(next(after)) },
            { limit, batchSize: limit },
          )),
          collect(kv.list<ReaderEntry>(
            { prefix: ["progress"], start: readerKey(next(after)) },
            { limit, batchSize: limit },
          )),
        ]);
        // One may have been added or deleted between the two.
        const isSound = subscriptions.length === readers.length &&
          subscriptions.every(({ key }, index) => key[1] === readers[index]!.key[1]);
        if (!isSound) return undefined;
        return { done: subscriptions.map(({ value }, index) => toReader(value, readers[index]!.value)) };
      }),
    async reader(subscriptionId) {
      const [subscription, reader] = await kv.getMany<[Subscription, ReaderEntry]>([
        subscriptionKey(subscriptionId),
        readerKey(subscriptionId),
      ]);
      return subscription.value === null ? undefined : toReader(subscription.value, reader.value!);
    },
    retrying: ({ subscriptionId, dueByMs, after = 0, limit }) => {
      const range = dueByMs === undefined
        ? { ...stateRange(subscriptionId, "retrying"), start: stateKey(subscriptionId, "retrying", after + 1) }
        : { prefix: ["due", subscriptionId], end: dueKey(subscriptionId, dueByMs, Infinity) };
      return lookUp(
        subscriptionId,
        () => sequencesIn(range, limit),
        ({ dueAtMs }) => dueAtMs !== null && dueAtMs <= (dueByMs ?? Infinity),
      );
    },
    ended: ({ subscriptionId, state, before = Infinity, limit }) =>
      lookUp(
        subscriptionId,
        async () => {
          const lists = (state === undefined ? ["rejected", "dead"] as const : [state]).map((one) => ({
            ...stateRange(subscriptionId, one),
            end: stateKey(subscriptionId, one, before),
          }));
          const found = await Promise.all(lists.map((range) => sequencesIn(range, limit, true)));
          return found.flat().sort((left, right) => right - left).slice(0, limit);
        },
        (failed) => state === undefined ? failed.state !== "retrying" : failed.state === state,
      ),
    clampDue: (subscriptionId, latestDueAtMs) =>
      oneAtATime(async () => {
        for (let total = 0;;) {
          const clamped = await retry(() => clampSome(subscriptionId, latestDueAtMs));
          total += clamped;
          if (clamped < CLAMPED_PER_COMMIT) return total;
        }
      }),
    insertReplay: (replay, claim) =>
      oneAtATime(() =>
        retry(async () => {
          const intent = claim && await claimedEntry(kv, claim);
          if (claim !== undefined && intent === undefined) throw intentFenced(location, claim);
          const entry = await kv.get<ReaderEntry>(readerKey(replay.subscriptionId));
          if (entry.value === null) return { done: false };
          if (entry.value.replay !== null) {
            throw new StoreError(
              "exists",
              `${location} holds a replay of the subscription "${replay.subscriptionId}" already`,
            );
          }
          const atomic = kv.atomic().check(entry, ...(intent === undefined ? [] : [intent]))
            .sum(READERS_VERSION, 1n).sum(SUBSCRIPTIONS_VERSION, 1n).set(entry.key, { ...entry.value, replay });
          return await commit(atomic) ? { done: true } : undefined;
        })
      ),
  };
}

/** All that is kept of a subscription in one state. */
function stateRange(subscriptionId: string, state: FailedDelivery["state"]): { prefix: KvKey } {
  return { prefix: stateKey(subscriptionId, state, 0).slice(0, -1) };
}

function toReader(subscription: Subscription, { progress, replay }: ReaderEntry): Reader {
  return { subscription, progress, replay };
}
