import assert from "node:assert/strict";
import type { Clock } from "../../lib/clock.ts";
import { createIdempotentOperation } from "../../lib/http/intents/idempotent_operation.ts";
import { type Store, StoreError } from "../../lib/store/store.ts";
import { createSecretCipher } from "../../lib/webhooks/secrets/secrets.ts";
import { createSubscriptions } from "../../lib/webhooks/subscriptions.ts";
import { bentStore } from "../store/bent_store.ts";

type Subscriptions = Parameters<typeof createSubscriptions>[0];

/** Gateways on one store that hold intents, one after another; what a test does not give must not be asked for. */
export function intentGateways(store: Store, clock: Clock, parts: Partial<Subscriptions> = {}) {
  let ids = 0;
  /** The next one. `dies`: once it has done what it was asked for. */
  return function gateway({ dies = false, ...more }: { dies?: boolean } & Partial<Subscriptions> = {}) {
    const complete = () => Promise.reject(new StoreError("unavailable", "killed"));
    const bent = dies ? bentStore(store, { intents: { complete } }) : store;
    const once = createIdempotentOperation({
      intents: bent.intents,
      clock,
      networkSeconds: () => clock.now() / 1_000,
      newId: () => String(++ids).padStart(22, "0"),
    });
    const webhooks = createSubscriptions({
      store: bent,
      targets: { check: () => assert.fail() } as never,
      secrets: createSecretCipher(undefined),
      attempt: () => assert.fail(),
      createSecret: () => assert.fail(),
      randomText: () => assert.fail(),
      isKeyThere: () => Promise.resolve(true),
      startHeight: () => assert.fail(),
      clock,
      onChange: () => Promise.resolve(),
      ...parts,
      ...more,
    });
    return { once, webhooks };
  };
}
