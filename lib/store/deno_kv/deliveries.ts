import type { KvKey, KvListSelector } from "../../runtime/kv.ts";
import type { LoggedEvent } from "../event.ts";
import type { NounDriver } from "../checked_store.ts";
import { nextDeliveries, type NextSource } from "../next_deliveries.ts";
import { type DeliveryStore, type FailedQuery, StoreError } from "../store.ts";
import { LONGEST_DELAY_MS } from "../../retry_schedule.ts";
import {
  CLOCK_STEP_MS,
  type DueDelivery,
  FAILED_STATES,
  type FailedDelivery,
  isDue,
  type StoredConsumer,
  type Subscription,
} from "../webhook.ts";
import { denoKvAttempts } from "./attempts.ts";
import { denoKvEventQueries } from "./event_query.ts";
import { putIntent } from "./intents.ts";
import { collect, commit, type DenoKvContext, getAll, next } from "./database.ts";
import {
  type ConsumerEntry,
  consumerKey,
  dueKey,
  eventKey,
  failedKey,
  READERS_VERSION,
  stateKey,
  subscriptionKey,
  SUBSCRIPTIONS_VERSION,
} from "./schema.ts";
import { denoKvSettling } from "./settling.ts";

/** Failed deliveries, attempts, and the progress of each subscription. */
export function denoKvDeliveries(context: DenoKvContext): NounDriver<DeliveryStore> {
  const { kv, location, retry, oneAtATime } = context;
  const events = denoKvEventQueries(context);

  async function sequencesIn(range: KvListSelector, limit: number, reverse = false): Promise<number[]> {
    const entries = await collect(kv.list(range, { limit, batchSize: limit, reverse }));
    return entries.map(({ key }) => key.at(-1) as number);
  }

  /** Reads the listed failed deliveries. Repeats the read when one has changed since it was listed. */
  const lookUp = (
    subscriptionId: string,
    list: () => Promise<number[]>,
    isListed: (failed: FailedDelivery) => boolean,
  ): Promise<DueDelivery[]> =>
    retry(async () => {
      // A deleted subscription gets nothing.
      if ((await kv.get(consumerKey(subscriptionId))).value === null) return { done: [] };
      const sequences = await list();
      const failed = await getAll<FailedDelivery>(kv, sequences.map((sequence) => failedKey(sequence, subscriptionId)));
      const events = await getAll<LoggedEvent>(kv, sequences.map(eventKey));
      const found = failed.map(({ value: delivery }, index) => ({ delivery, event: events[index]!.value }));
      const isSound = (one: typeof found[number]): one is DueDelivery =>
        one.delivery !== null && one.event !== null && isListed(one.delivery);
      return found.every(isSound) ? { done: found } : undefined;
    });

  function failedOf({ subscriptionId, state, beyond, limit }: FailedQuery): Promise<DueDelivery[]> {
    const isRetrying = state === "retrying";
    const range = isRetrying
      ? { ...stateRange(subscriptionId, state), start: stateKey(subscriptionId, state, (beyond ?? 0) + 1) }
      : { ...stateRange(subscriptionId, state), end: stateKey(subscriptionId, state, beyond ?? Infinity) };
    return lookUp(subscriptionId, () => sequencesIn(range, limit, !isRetrying), (failed) => failed.state === state);
  }

  /** In the order of due times: the due ones, then the rare ones that are due because the clock was set back. */
  async function dueSequences(subscriptionId: string, nowMs: number, limit: number): Promise<number[]> {
    const prefix = ["due", subscriptionId];
    const due = await sequencesIn({ prefix, end: dueKey(subscriptionId, nowMs, Infinity) }, limit);
    const { value: consumer } = await kv.get<ConsumerEntry>(consumerKey(subscriptionId));
    const isSetBack = (consumer?.attemptedUntilMs ?? 0) > nowMs + CLOCK_STEP_MS;
    const start = dueKey(subscriptionId, isSetBack ? nowMs : nowMs + LONGEST_DELAY_MS, Infinity);
    for await (const { key, value: attemptedAtMs } of kv.list<number>({ prefix, start }, { batchSize: limit })) {
      if (due.length >= limit) break;
      const [dueAtMs, sequence] = key.slice(2) as [number, number];
      const isLate = dueAtMs > nowMs + LONGEST_DELAY_MS || attemptedAtMs > nowMs + CLOCK_STEP_MS;
      if (isLate) due.push(sequence);
    }
    return due;
  }

  const sourceOf = (subscriptionId: string): NextSource => ({
    due: (nowMs, limit) =>
      lookUp(subscriptionId, () => dueSequences(subscriptionId, nowMs, limit), (failed) => isDue(failed, nowMs)),
    async firstDueAfter(nowMs) {
      const range = { prefix: ["due", subscriptionId], start: dueKey(subscriptionId, nowMs, Infinity) };
      const [first] = await collect(kv.list(range, { limit: 1 }));
      return first === undefined ? null : first.key[2] as number;
    },
    firstRetrying: async () => (await failedOf({ subscriptionId, state: "retrying", limit: 1 }))[0],
    async failedBetween(after, upTo) {
      const found = await Promise.all(
        FAILED_STATES.map((state) =>
          collect(
            kv.list({
              start: stateKey(subscriptionId, state, after + 1),
              end: stateKey(subscriptionId, state, upTo + 1),
            }),
          )
        ),
      );
      return found.flat().map(({ key }) => key.at(-1) as number);
    },
    read: (query) => events.read(query),
  });

  return {
    ...denoKvAttempts(context),
    settle: denoKvSettling(context),
    consumers: ({ after = "", limit }) =>
      retry(async () => {
        const [subscriptions, consumers] = await Promise.all([
          collect(kv.list<Subscription>(
            { prefix: ["subscription"], start: subscriptionKey(next(after)) },
            { limit, batchSize: limit },
          )),
          collect(kv.list<ConsumerEntry>(
            { prefix: ["progress"], start: consumerKey(next(after)) },
            { limit, batchSize: limit },
          )),
        ]);
        // The subscription may have been added or deleted between the two.
        const isSound = subscriptions.length === consumers.length &&
          subscriptions.every(({ key }, index) => key[1] === consumers[index]!.key[1]);
        if (!isSound) return undefined;
        return { done: subscriptions.map(({ value }, index) => toConsumer(value, consumers[index]!.value)) };
      }),
    async consumer(subscriptionId) {
      const [subscription, consumer] = await kv.getMany<[Subscription, ConsumerEntry]>([
        subscriptionKey(subscriptionId),
        consumerKey(subscriptionId),
      ]);
      return subscription.value === null ? undefined : toConsumer(subscription.value, consumer.value!);
    },
    async next(subscription, query) {
      const { value: consumer } = await kv.get<ConsumerEntry>(consumerKey(subscription.id));
      if (consumer === null) return undefined;
      const { progress: { cursor, retrying }, kept } = consumer;
      const progress = { cursor, retrying, kept: retrying + kept.rejected + kept.dead };
      return await nextDeliveries(sourceOf(subscription.id), progress, subscription, query);
    },
    failed: failedOf,
    insertReplay: (replay, intent) =>
      oneAtATime(() =>
        retry(async () => {
          const atomic = kv.atomic();
          const verdict = intent === undefined ? "written" : await putIntent(context, atomic, intent);
          if (verdict !== "written") return { done: verdict };
          const entry = await kv.get<ConsumerEntry>(consumerKey(replay.subscriptionId));
          if (entry.value === null) return { done: "missing" as const };
          if (entry.value.replay !== null) {
            throw new StoreError(
              "exists",
              `${location} holds a replay of the subscription "${replay.subscriptionId}" already`,
            );
          }
          atomic.check(entry).sum(READERS_VERSION, 1n).sum(SUBSCRIPTIONS_VERSION, 1n).set(entry.key, {
            ...entry.value,
            replay,
          });
          return await commit(atomic) ? { done: verdict } : undefined;
        })
      ),
  };
}

/** All failed deliveries of a subscription in one state. */
function stateRange(subscriptionId: string, state: FailedDelivery["state"]): { prefix: KvKey } {
  return { prefix: stateKey(subscriptionId, state, 0).slice(0, -1) };
}

function toConsumer(subscription: Subscription, { progress, replay }: ConsumerEntry): StoredConsumer {
  return { subscription, progress, replay };
}
