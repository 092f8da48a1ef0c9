import { GatewayError } from "../errors.ts";
import type { IntentClaim } from "../store/intent.ts";
import { publicEvent } from "../store/event.ts";
import { isFenced, type Store } from "../store/store.ts";
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
import { failedDeliveries, type FailedWithAttempt } from "./failed_deliveries.ts";
import { TEST_EVENT_TYPE } from "./public_webhook.ts";
import { beginReplay, planReplay, planResend, type ReplayRequest } from "./replays.ts";
import { isRotatedSince, rotateSecret, type SubscriptionWithSecret } from "./secrets/rotation.ts";
import { createReplayAllowance, takeTest } from "./allowances.ts";

export interface SubscriptionsParts extends CreationParts {
  store: Pick<Store, "subscriptions" | "deliveries" | "events" | "sharedState">;
  attempt: Attempter;
  /** Called after a subscription was made, changed or deleted, and after a replay was begun. */
  onChange(subscriptionId: string): Promise<void>;
}

/** What the owner of an API key does with its subscriptions. Those of other keys are `not_found`. */
export interface Subscriptions {
  /** As `createSubscription` does. */
  create(keyId: string, wanted: NewSubscription, claim?: IntentClaim): Promise<SubscriptionWithSecret>;
  /** One of the key's with the secret that signs now, undefined when there is none. */
  withSecret(keyId: string, id: string): Promise<SubscriptionWithSecret | undefined>;
  /** Ascending by id. */
  list(keyId: string): Promise<StoredConsumer[]>;
  get(keyId: string, id: string): Promise<StoredConsumer>;
  remove(keyId: string, id: string): Promise<void>;
  /** Gives it a new secret; the one before signs too for a day. @throws as `rotateSecret` does */
  rotateSecret(keyId: string, id: string): Promise<SubscriptionWithSecret & Pick<StoredConsumer, "progress">>;
  /** Posts a test event now. @throws {GatewayError} `rate_limited` after six in a minute */
  test(keyId: string, id: string): Promise<Attempt>;
  /** Newest first; `cursor` is null when there are no older ones. */
  attempts(
    keyId: string,
    id: string,
    page: { cursor?: string; limit: number },
  ): Promise<{ attempts: Attempt[]; cursor: string | null }>;
  /** Those kept in a state, as `failedDeliveries` lists them. */
  failed(
    keyId: string,
    id: string,
    page: { state: FailedDelivery["state"]; beyond?: number; limit: number },
  ): Promise<FailedWithAttempt[]>;
  /** One attempt, and what was sent with it. @throws {GatewayError} `not_found` when it is not kept */
  sent(keyId: string, id: string, attemptId: string): Promise<Sent>;
  /**
   * Sends past events again, or one; `id` is null when it was only asked what that would do. Under the claim
   * of an intent that one's: if it is under way already, that is answered. @throws {StoreError} `fenced` as `beginReplay` does
   */
  replay(
    keyId: string,
    id: string,
    request: (ReplayRequest | { eventId: string }) & { dryRun: boolean },
    claim?: IntentClaim,
  ): Promise<{ id: string | null; deliveries: number; atLeast: boolean }>;
}

/** An attempt with what was sent, made again from the event. */
export interface Sent {
  attempt: Attempt;
  /** Undefined: the event is not held any more. */
  request: SignedPost | undefined;
  /** The secret was rotated since, or just before: it is signed with those that sign now, not with those that did. */
  isRotatedSince: boolean;
}

export function createSubscriptions(parts: SubscriptionsParts): Subscriptions {
  const { store, secrets, attempt, createSecret, randomText, clock, onChange } = parts;
  const replays = createReplayAllowance(store);
  /** What was written down stands: a worker that cannot look at it now sees by the version that it has changed. */
  const changed = (id: string) => onChange(id).catch(() => {});

  async function own(keyId: string, id: string): Promise<StoredConsumer> {
    const consumer = await store.deliveries.consumer(id);
    if (consumer?.subscription.keyId === keyId) return consumer;
    throw new GatewayError("not_found", `this API key has no webhook ${JSON.stringify(id.slice(0, 60))}`);
  }

  /** What an attempt was about; undefined when that is not held any more. */
  async function messageOf({ eventId, eventType, atMs }: Attempt): Promise<EventMessage | undefined> {
    if (eventType === TEST_EVENT_TYPE) return testMessage(eventId, atMs);
    const event = await store.events.get(eventId);
    return event && { id: eventId, type: eventType, json: JSON.stringify(publicEvent(event)) };
  }

  return {
    async create(keyId, wanted, claim) {
      const created = await createSubscription(parts, keyId, wanted, claim);
      await changed(created.id);
      return created;
    },

    async list(keyId) {
      const subscriptions = await store.subscriptions.list({ keyId, limit: MAX_SUBSCRIPTIONS_PER_KEY });
      const consumers = await Promise.all(subscriptions.map(({ id }) => store.deliveries.consumer(id)));
      return consumers.filter((consumer) => consumer !== undefined);
    },

    get: own,
    withSecret: (keyId, id) => withSecret(parts, keyId, id),

    async remove(keyId, id) {
      await own(keyId, id);
      await store.subscriptions.delete(id);
      await changed(id);
    },

    async rotateSecret(keyId, id) {
      const { subscription, progress } = await own(keyId, id);
      const rotated = await rotateSecret(
        { store, secrets, createSecret, now: clock.now, wait: clock.wait },
        subscription,
      );
      if (rotated === undefined) {
        // Either it is gone, or somebody else rotated it just now.
        await own(keyId, id);
        throw new GatewayError(
          "invalid_request",
          `the secret of ${id} is being rotated by another request: try again`,
          {
            retry: "same",
          },
        );
      }
      await changed(id);
      return { ...rotated, progress };
    },

    async test(keyId, id) {
      await own(keyId, id);
      await takeTest(store, id);
      // The store may have been slow: nothing is posted to what was deleted meanwhile, or signed as it was before.
      const { subscription } = await own(keyId, id);
      const atMs = clock.now();
      const recipient = recipientOf(subscription, secrets.open, atMs);
      const message = testMessage(`test-${randomText(ID_LENGTH)}`, atMs);
      const made = await attempt({ recipient, message, attempts: 0, ageMs: 0, kind: "test", replayId: null, atMs });
      const noted = await store.deliveries.recordAttempt(id, made);
      if (noted !== undefined) return noted;
      throw new GatewayError("not_found", `the webhook ${id} was deleted meanwhile`);
    },

    async attempts(keyId, id, { cursor, limit }) {
      await own(keyId, id);
      const before = cursor === undefined ? undefined : Number(cursor);
      const attempts = await store.deliveries.attempts(id, { before, limit });
      return { attempts, cursor: attempts.length < limit ? null : String(attempts.at(-1)!.ordinal) };
    },

    async failed(keyId, id, page) {
      await own(keyId, id);
      return await failedDeliveries(store, id, page);
    },

    async sent(keyId, id, attemptId) {
      const { subscription } = await own(keyId, id);
      const ordinal = Number(attemptId);
      const [found] = await store.deliveries.attempts(id, { before: ordinal + 1, limit: 1 });
      if (found?.ordinal !== ordinal) {
        throw new GatewayError("not_found", `the attempt ${attemptId} of ${id} is not kept, or was never made`);
      }
      const { atMs } = found;
      const rotated = isRotatedSince(subscription, atMs);
      const message = await messageOf(found);
      const recipient = recipientOf(subscription, secrets.open, rotated ? clock.now() : atMs);
      const request = message === undefined ? undefined : signedPost(recipient, message, atMs);
      return { attempt: found, request, isRotatedSince: rotated };
    },

    async replay(keyId, id, { dryRun, ...what }, claim) {
      const { subscription, replay: begun } = await own(keyId, id);
      if (claim && begun?.id.startsWith(`rp_${claim.id}`)) {
        return { id: begun.id, deliveries: begun.deliveries, atLeast: begun.atLeast };
      }
      const plan = "eventId" in what
        ? await planResend(store, subscription, what.eventId)
        : await planReplay(store, subscription, what);
      const { deliveries, atLeast, lookedThrough } = plan;
      if (dryRun) return { id: null, deliveries, atLeast };
      const takenMs = await replays.take(keyId, lookedThrough);
      // Workers pass over the id of a job that has ended: where it is begun once more it is another.
      const jobId = claim ? claim.id + claim.term : randomText(ID_LENGTH);
      const job = { id: `rp_${jobId}`, nowMs: clock.now(), claim };
      const replay = await beginReplay(store, id, plan, job).catch(async (error) => {
        // What is refused was not begun, nor what another has claimed; of what the store failed on that is not known.
        if (error instanceof GatewayError || isFenced(error)) {
          await replays.giveBack(keyId, lookedThrough, takenMs).catch(() => {});
        }
        throw error;
      });
      await changed(id);
      return { id: replay.id, deliveries, atLeast };
    },
  };
}

/** The event of a test, which no log holds. */
function testMessage(id: string, atMs: number): EventMessage {
  const event = { type: TEST_EVENT_TYPE, id, createdAt: new Date(atMs).toISOString() };
  return { id, type: event.type, json: JSON.stringify(event) };
}
