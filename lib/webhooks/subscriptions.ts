import { GatewayError } from "../errors.ts";
import type { Wait } from "../clock.ts";
import { type Store, StoreError } from "../store/store.ts";
import type { Attempt, Subscription } from "../store/webhook_store.ts";
import { type Attempter, recipientOf } from "./delivery/attempt.ts";
import { beginReplay, planReplay, type ReplayRequest } from "./replays/replay.ts";
import { rotateSecret, type SubscriptionWithSecret } from "./secrets/rotation.ts";
import type { SecretBox } from "./secrets/secrets.ts";
import type { TargetPolicy } from "./targets/policy.ts";
import { createTestAllowance } from "./test_allowance.ts";

export interface NewSubscription {
  url: string;
  /** Only these event types; absent: all. */
  types?: string[];
  deviceHash?: string;
  merchant?: string;
}

/** The newest ledger seen, with the life of the network it is of. */
export interface Tip {
  epoch: number;
  sequence: number;
}

export interface SubscriptionsParts {
  store: Pick<
    Store,
    | "insertSubscription"
    | "getSubscription"
    | "listSubscriptions"
    | "deleteSubscription"
    | "setSubscriptionSecrets"
    | "recordAttempt"
    | "listAttempts"
    | "insertReplay"
    | "watcherState"
    | "readEvents"
  >;
  targets: TargetPolicy;
  secrets: SecretBox;
  attempt: Attempter;
  createSecret(): string;
  /** Random letters and digits. */
  randomText(length: number): string;
  /** Rejects with `upstream_error` while no ledger was seen yet. */
  tip(): Promise<Tip>;
  endOfLedger(epoch: number, ledger: number): string;
  /** Unix milliseconds. */
  now(): number;
  wait: Wait;
  /** Called after a replay was begun, and after a subscription was deleted. */
  onReplay(): void;
  onDeleted(): void;
}

/** What the owner of an API key does with its subscriptions. Those of other keys are `not_found`. */
export interface Subscriptions {
  /** What a target must be (`TargetPolicy.rule`). */
  readonly targetRule: string;
  /** @throws {GatewayError} `invalid_request` for a refused target, and when the key has as many as it may */
  create(keyId: string, wanted: NewSubscription): Promise<SubscriptionWithSecret>;
  /** Ascending by id. */
  list(keyId: string): Promise<Subscription[]>;
  get(keyId: string, id: string): Promise<Subscription>;
  remove(keyId: string, id: string): Promise<void>;
  /** Gives it a new secret; the one before signs too for a day, and so does the oldest that did until now. */
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
  ): Promise<{ id: string | null; deliveries: number }>;
}

export const MAX_SUBSCRIPTIONS_PER_KEY = 100;
const ID_LENGTH = 22;
export const TEST_EVENT_TYPE = "webhook.test";

export function createSubscriptions(parts: SubscriptionsParts): Subscriptions {
  const { store, targets, secrets, attempt, createSecret, randomText, tip, endOfLedger, now } = parts;
  const allowance = createTestAllowance(now);

  async function own(keyId: string, id: string): Promise<Subscription> {
    const subscription = await store.getSubscription(id);
    if (subscription?.keyId === keyId) return subscription;
    throw new GatewayError("not_found", `this API key has no webhook ${JSON.stringify(id.slice(0, 60))}`);
  }

  return {
    targetRule: targets.rule,

    async create(keyId, { url, types, deviceHash, merchant }) {
      await targets.check(url);
      const id = `wh_${randomText(ID_LENGTH)}`;
      const plainSecret = createSecret();
      const { epoch, sequence } = await tip();
      const subscription: Subscription = {
        id,
        keyId,
        url,
        types: types === undefined ? null : [...new Set(types)],
        deviceHash: deviceHash ?? null,
        merchant: merchant ?? null,
        secret: secrets.seal(id, plainSecret),
        previousSecret: null,
        createdAt: new Date(now()).toISOString(),
        startPosition: endOfLedger(epoch, sequence),
      };
      try {
        await store.insertSubscription(subscription, MAX_SUBSCRIPTIONS_PER_KEY);
      } catch (error) {
        if (!(error instanceof StoreError) || error.kind !== "exists") throw error;
        const message = `this API key has ${MAX_SUBSCRIPTIONS_PER_KEY} webhooks, as many as it may: delete one first`;
        throw new GatewayError("invalid_request", message);
      }
      return { ...subscription, plainSecret };
    },

    list: (keyId) => store.listSubscriptions({ keyId, limit: MAX_SUBSCRIPTIONS_PER_KEY }),
    get: own,

    async remove(keyId, id) {
      await own(keyId, id);
      await store.deleteSubscription(id);
      parts.onDeleted();
    },

    async rotateSecret(keyId, id) {
      const rotated = await rotateSecret(parts, await own(keyId, id));
      if (rotated !== undefined) return rotated;
      // Either it is gone, or somebody else rotated it just now.
      await own(keyId, id);
      throw new GatewayError("invalid_request", `the secret of ${id} is being rotated by another request: try again`);
    },

    async test(keyId, id) {
      const subscription = await own(keyId, id);
      allowance.take(id);
      const event = {
        type: TEST_EVENT_TYPE,
        id: `test-${randomText(ID_LENGTH)}`,
        createdAt: new Date(now()).toISOString(),
      };
      const recipient = recipientOf(subscription, secrets.open, now());
      const message = { id: event.id, type: event.type, json: JSON.stringify(event) };
      const made = await attempt({ recipient, message });
      await store.recordAttempt(made);
      return made;
    },

    async attempts(keyId, id, { cursor, limit }) {
      await own(keyId, id);
      const attempts = await store.listAttempts(id, { before: cursor, limit });
      return { attempts, cursor: attempts.length < limit ? null : attempts.at(-1)!.id };
    },

    async replay(keyId, id, { dryRun, ...range }) {
      const subscription = await own(keyId, id);
      const plan = await planReplay({ store, endOfLedger }, subscription, range);
      if (dryRun) return { id: null, deliveries: plan.deliveries };
      const replay = await beginReplay(store, id, plan, { id: `rp_${randomText(ID_LENGTH)}`, nowMs: now() });
      parts.onReplay();
      return { id: replay.id, deliveries: replay.deliveries };
    },
  };
}
