import { GatewayError } from "../errors.ts";
import type { Clock } from "../clock.ts";
import { type Store, StoreError } from "../store/store.ts";
import type { Attempt, Reader, Subscription } from "../store/webhook.ts";
import { type Attempter, recipientOf } from "./delivery/attempt.ts";
import { TEST_EVENT_TYPE } from "./public_webhook.ts";
import { beginReplay, planReplay, type ReplayRequest } from "./replays.ts";
import { rotateSecret, type SubscriptionWithSecret } from "./secrets/rotation.ts";
import type { SecretBox } from "./secrets/secrets.ts";
import type { TargetPolicy } from "./targets/policy.ts";
import { takeTest } from "./test_allowance.ts";

export interface NewSubscription {
  url: string;
  /** Only these event types; absent: all. */
  types?: string[];
  deviceHash?: string;
  merchant?: string;
  /** Strictly one delivery at a time; false when absent. */
  ordered?: boolean;
}

export interface SubscriptionsParts {
  store: Pick<Store, "subscriptions" | "deliveries" | "events" | "registers">;
  targets: TargetPolicy;
  secrets: SecretBox;
  attempt: Attempter;
  createSecret(): string;
  /** Random letters and digits. */
  randomText(length: number): string;
  /** The height after the committed tip. Rejects with `upstream_error` while no ledger was seen yet. */
  startHeight(): Promise<number>;
  clock: Clock;
  /** Called after a subscription was made, changed or deleted, and after a replay was begun. */
  onChange(subscriptionId: string): Promise<void>;
}

/** What the owner of an API key does with its subscriptions. Those of other keys are `not_found`. */
export interface Subscriptions {
  /** @throws {GatewayError} `invalid_request` for a refused target, and when the key has as many as it may */
  create(keyId: string, wanted: NewSubscription): Promise<SubscriptionWithSecret>;
  /** Ascending by id. */
  list(keyId: string): Promise<Reader[]>;
  get(keyId: string, id: string): Promise<Reader>;
  remove(keyId: string, id: string): Promise<void>;
  /** Gives it a new secret; the one before signs too for a day. @throws as `rotateSecret` does */
  rotateSecret(keyId: string, id: string): Promise<SubscriptionWithSecret>;
  /** Posts a test event now. @throws {GatewayError} `rate_limited` after six in a minute */
  test(keyId: string, id: string): Promise<Attempt>;
  /** Newest first; `cursor` is null when there are no older ones. */
  attempts(
    keyId: string,
    id: string,
    page: { cursor?: string; limit: number },
  ): Promise<{ attempts: Attempt[]; cursor: string | null }>;
  /** Sends past events again; `id` is null when it was only asked what that would do. */
  replay(
    keyId: string,
    id: string,
    request: ReplayRequest & { dryRun: boolean },
  ): Promise<{ id: string | null; deliveries: number; atLeast: boolean }>;
}

export const MAX_SUBSCRIPTIONS_PER_KEY = 100;
const ID_LENGTH = 22;

export function createSubscriptions(parts: SubscriptionsParts): Subscriptions {
  const { store, targets, secrets, attempt, createSecret, randomText, startHeight, clock, onChange } = parts;

  async function own(keyId: string, id: string): Promise<Reader> {
    const reader = await store.deliveries.reader(id);
    if (reader?.subscription.keyId === keyId) return reader;
    throw new GatewayError("not_found", `this API key has no webhook ${JSON.stringify(id.slice(0, 60))}`);
  }

  return {
    async create(keyId, { url, types, deviceHash, merchant, ordered }) {
      await targets.check(url);
      const id = `wh_${randomText(ID_LENGTH)}`;
      const plainSecret = createSecret();
      const subscription: Subscription = {
        id,
        keyId,
        url,
        types: types === undefined ? null : [...new Set(types)],
        deviceHash: deviceHash ?? null,
        merchant: merchant ?? null,
        ordered: ordered ?? false,
        secret: secrets.seal(id, plainSecret),
        previousSecret: null,
        createdAt: new Date(clock.now()).toISOString(),
        startHeight: await startHeight(),
      };
      try {
        await store.subscriptions.insert(subscription, MAX_SUBSCRIPTIONS_PER_KEY);
      } catch (error) {
        if (!(error instanceof StoreError) || error.kind !== "exists") throw error;
        const message = `this API key has ${MAX_SUBSCRIPTIONS_PER_KEY} webhooks, as many as it may: delete one first`;
        throw new GatewayError("invalid_request", message);
      }
      await onChange(id);
      return { ...subscription, plainSecret };
    },

    async list(keyId) {
      const subscriptions = await store.subscriptions.list({ keyId, limit: MAX_SUBSCRIPTIONS_PER_KEY });
      const readers = await Promise.all(subscriptions.map(({ id }) => store.deliveries.reader(id)));
      return readers.filter((reader) => reader !== undefined);
    },

    get: own,

    async remove(keyId, id) {
      await own(keyId, id);
      await store.subscriptions.delete(id);
      await onChange(id);
    },

    async rotateSecret(keyId, id) {
      const { subscription } = await own(keyId, id);
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
      await onChange(id);
      return rotated;
    },

    async test(keyId, id) {
      const { subscription } = await own(keyId, id);
      await takeTest(store, id);
      const event = {
        type: TEST_EVENT_TYPE,
        id: `test-${randomText(ID_LENGTH)}`,
        createdAt: new Date(clock.now()).toISOString(),
      };
      const recipient = recipientOf(subscription, secrets.open, clock.now());
      const message = { id: event.id, type: event.type, json: JSON.stringify(event) };
      const made = await attempt({ recipient, message, attempts: 0, ageMs: 0, kind: "test", replayId: null });
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

    async replay(keyId, id, { dryRun, ...range }) {
      const { subscription } = await own(keyId, id);
      const plan = await planReplay(store, subscription, range);
      const { deliveries, atLeast } = plan;
      if (dryRun) return { id: null, deliveries, atLeast };
      const replay = await beginReplay(store, id, plan, { id: `rp_${randomText(ID_LENGTH)}`, nowMs: clock.now() });
      await onChange(id);
      return { id: replay.id, deliveries, atLeast };
    },
  };
}
