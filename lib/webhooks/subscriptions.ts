import { GatewayError } from "../errors.ts";
import { type CreationIntent, IntentRefused } from "../store/intent.ts";
import { type LoggedEvent, publicEvent } from "../store/event.ts";
import type { Store } from "../store/store.ts";
import type { Attempt, FailedDelivery, StoredConsumer } from "../store/webhook.ts";
import {
  createSubscription,
  type CreationParts,
  ID_LENGTH,
  MAX_SUBSCRIPTIONS_PER_KEY,
  type NewSubscription,
  withSecret,
} from "./creation.ts";
import { type Attempter, type EventMessage, recipientOf, type SignedPost, signedPost } from "./delivery/attempt.ts";
import { deliveriesOf } from "./delivery_state.ts";
import { failedDeliveries, type FailedWithAttempt } from "./failed_deliveries.ts";
import { TEST_EVENT_TYPE } from "./public_webhook.ts";
import { beginReplay, isUnderWay, planReplay, planResend, type ReplayRequest } from "./replays.ts";
import { isRotatedSince, rotateSecret, type SubscriptionWithSecret } from "./secrets/rotation.ts";
import { giveReplayBack, takeReplay, takeTest } from "./allowances.ts";

export interface SubscriptionsParts extends CreationParts {
  store: Pick<Store, "subscriptions" | "deliveries" | "events" | "references" | "sharedState" | "intents">;
  attempt: Attempter;
  /** Called after a subscription was created, changed or deleted, and after a replay started. */
  onChange(subscriptionId: string): Promise<void>;
}

/** An attempt with its request, rebuilt from the event. */
export interface Sent {
  attempt: Attempt;
  /** Undefined when the event is deleted. */
  request: SignedPost | undefined;
  /**
   * The secret was rotated since, or just before. The request has signatures of the current secrets, not of those at
   * the time.
   */
  isRotatedSince: boolean;
}

/** The operations of an API key on its subscriptions. Those of other keys are `not_found`. */
export function createSubscriptions(parts: SubscriptionsParts) {
  const { store, secrets, attempt, createSecret, randomText, clock, onChange } = parts;
  /** The change is stored. A worker that misses this call notices it by the version. */
  const changed = (id: string) => onChange(id).catch(() => {});

  async function own(keyId: string, id: string): Promise<StoredConsumer> {
    const consumer = await store.deliveries.consumer(id);
    if (consumer?.subscription.keyId === keyId) return consumer;
    throw new GatewayError("not_found", `this API key has no webhook ${JSON.stringify(id.slice(0, 60))}`);
  }

  /** The message of an attempt; undefined when its event is deleted. */
  async function messageOf(
    { eventId, eventType, atMs }: Attempt,
    keyId: string,
  ): Promise<EventMessage | undefined> {
    if (eventType === TEST_EVENT_TYPE) return testMessage(eventId, atMs);
    const event = await store.events.get(eventId);
    if (event === undefined) return undefined;
    await store.references.attach([event]);
    return { id: eventId, type: eventType, json: JSON.stringify(publicEvent(event, keyId)) };
  }

  return {
    /** See `createSubscription`. */
    async create(keyId: string, wanted: NewSubscription, intent?: CreationIntent): Promise<SubscriptionWithSecret> {
      const created = await createSubscription(parts, keyId, wanted, intent);
      await changed(created.id);
      return created;
    },

    /** Ascending by id. */
    async list(keyId: string): Promise<StoredConsumer[]> {
      const subscriptions = await store.subscriptions.list({ keyId, limit: MAX_SUBSCRIPTIONS_PER_KEY });
      const consumers = await Promise.all(subscriptions.map(({ id }) => store.deliveries.consumer(id)));
      return consumers.filter((consumer) => consumer !== undefined);
    },

    get: own,
    /** A subscription of this key with its current secret; undefined when there is none. */
    withSecret: (keyId: string, id: string) => withSecret(parts, keyId, id),

    async remove(keyId: string, id: string): Promise<void> {
      await own(keyId, id);
      await store.subscriptions.delete(id);
      await changed(id);
    },

    /** Creates a new secret. The former one stays valid for a day. @throws as `rotateSecret` does */
    async rotateSecret(
      keyId: string,
      id: string,
    ): Promise<SubscriptionWithSecret & Pick<StoredConsumer, "progress">> {
      const { subscription, progress } = await own(keyId, id);
      const rotated = await rotateSecret(
        { store, secrets, createSecret, now: clock.now, wait: clock.wait },
        subscription,
      );
      if (rotated === undefined) {
        // Either it is deleted, or another request has just rotated it.
        await own(keyId, id);
        const message = `another request is rotating the secret of ${id}; retry`;
        throw new GatewayError("invalid_request", message, { retry: "same" });
      }
      await changed(id);
      return { ...rotated, progress };
    },

    /** Posts a test event now. @throws {GatewayError} `rate_limited` after six in a minute */
    async test(keyId: string, id: string): Promise<Attempt> {
      await own(keyId, id);
      await takeTest(store, id);
      // The store may have been slow. A second read makes sure that no post goes to a deleted webhook, or has an old
      // signature.
      const { subscription } = await own(keyId, id);
      const atMs = clock.now();
      const recipient = recipientOf(subscription, secrets.open, atMs);
      const message = testMessage(`test-${randomText(ID_LENGTH)}`, atMs);
      const made = await attempt({ recipient, message, attempts: 0, ageMs: 0, kind: "test", replayId: null, atMs });
      const noted = await store.deliveries.recordAttempt(id, made);
      if (noted !== undefined) return noted;
      throw new GatewayError("not_found", `the webhook ${id} was deleted meanwhile`);
    },

    /** Newest first; `cursor` is null when there are no older ones. */
    async attempts(keyId: string, id: string, { cursor, limit }: { cursor?: string; limit: number }) {
      await own(keyId, id);
      const before = cursor === undefined ? undefined : Number(cursor);
      const attempts = await store.deliveries.attempts(id, { before, limit });
      return { attempts, cursor: attempts.length < limit ? null : String(attempts.at(-1)!.ordinal) };
    },

    /** Failed deliveries in a state; see `failedDeliveries`. */
    async failed(
      keyId: string,
      id: string,
      page: { state: FailedDelivery["state"]; beyond?: number; limit: number },
    ): Promise<FailedWithAttempt[]> {
      await own(keyId, id);
      return await failedDeliveries(store, id, page);
    },

    /** The deliveries of these events to all subscriptions of the key; see `deliveriesOf`. */
    deliveriesOf: (keyId: string, events: LoggedEvent[]) => deliveriesOf(store, keyId, events),

    /** One attempt and its request. @throws {GatewayError} `not_found` when it is not stored */
    async sent(keyId: string, id: string, attemptId: string): Promise<Sent> {
      const { subscription } = await own(keyId, id);
      const ordinal = Number(attemptId);
      const [found] = await store.deliveries.attempts(id, { before: ordinal + 1, limit: 1 });
      if (found?.ordinal !== ordinal) {
        throw new GatewayError("not_found", `the attempt ${attemptId} of ${id} is deleted, or was never made`);
      }
      const { atMs } = found;
      const rotated = isRotatedSince(subscription, atMs);
      const message = await messageOf(found, keyId);
      const recipient = recipientOf(subscription, secrets.open, rotated ? clock.now() : atMs);
      const request = message === undefined ? undefined : signedPost(recipient, message, atMs);
      return { attempt: found, request, isRotatedSince: rotated };
    },

    /**
     * Replays past events, or one. `id` is null for a dry run.
     * @throws {IntentRefused} as `beginReplay` does
     */
    async replay(
      keyId: string,
      id: string,
      { dryRun, ...what }: (ReplayRequest | { eventId: string }) & { dryRun: boolean },
      intent?: CreationIntent,
    ): Promise<{ id: string | null; deliveries: number; atLeast: boolean }> {
      const { subscription, replay: underWay } = await own(keyId, id);
      const plan = "eventId" in what
        ? await planResend(store, subscription, what.eventId)
        : await planReplay(store, subscription, what);
      const { deliveries, atLeast, lookedThrough } = plan;
      if (dryRun) return { id: null, deliveries, atLeast };
      if (underWay !== null) throw isUnderWay(id);
      const takenMs = await takeReplay(store, keyId, lookedThrough);
      const begun = { id: `rp_${randomText(ID_LENGTH)}`, deliveries, atLeast };
      const job = { id: begun.id, nowMs: clock.now(), intent: intent?.(begun) };
      await beginReplay(store, id, plan, job).catch(async (error) => {
        // A refused job did not start. After other store errors that is unknown.
        if (error instanceof GatewayError || error instanceof IntentRefused) {
          await giveReplayBack(store, keyId, lookedThrough, takenMs).catch(() => {});
        }
        throw error;
      });
      await changed(id);
      return begun;
    },
  };
}

export type Subscriptions = ReturnType<typeof createSubscriptions>;

/** The event of a test, which is in no log. */
function testMessage(id: string, atMs: number): EventMessage {
  const event = { type: TEST_EVENT_TYPE, id, createdAt: new Date(atMs).toISOString() };
  return { id, type: event.type, json: JSON.stringify(event) };
}
