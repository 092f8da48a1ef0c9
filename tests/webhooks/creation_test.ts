import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "../../lib/errors.ts";
import { createOnce } from "../../lib/http/intents/once.ts";
import { createWebhookIntents } from "../../lib/http/intents/webhooks.ts";
import { openStore } from "../../lib/store/open.ts";
import { StoreError } from "../../lib/store/store.ts";
import { createSecretCipher } from "../../lib/webhooks/secrets/secrets.ts";
import { createSubscriptions } from "../../lib/webhooks/subscriptions.ts";
import { bentStore } from "../store/bent_store.ts";
import { createTestClock } from "../test_clock.ts";
import { START_MS } from "./parts.ts";

const ASKER = { keyId: "key1", idempotencyKey: "order-7" };
const WANTED = { url: "https://a.example/" };

async function stage() {
  const clock = createTestClock(START_MS);
  const store = await openStore("memory:", { now: clock.now });
  let ids = 0;
  const secrets: string[] = [];
  /** A gateway; it dies once it has made the webhook, or cannot resolve its name. */
  function gateway({ dies = false, cannotResolve = false } = {}) {
    const complete = dies ? () => Promise.reject(new StoreError("unavailable", "killed")) : undefined;
    const bent = complete === undefined ? store : bentStore(store, { intents: { complete } });
    const once = createOnce({
      intents: bent.intents,
      clock,
      networkSeconds: () => clock.now() / 1_000,
      newId: () => String(++ids).padStart(22, "0"),
    });
    const webhooks = createSubscriptions({
      store: bent,
      targets: {
        check: () =>
          cannotResolve
            ? Promise.reject(new GatewayError("invalid_request", "a.example cannot be resolved"))
            : Promise.resolve(),
      } as never,
      secrets: createSecretCipher(undefined),
      attempt: () => assert.fail(),
      createSecret: () => (secrets.push(`whsec_${btoa(`the secret with number ${secrets.length}`)}`), secrets.at(-1)!),
      randomText: (length) => "x".repeat(length),
      isKeyThere: () => Promise.resolve(true),
      startHeight: () => Promise.resolve(101),
      clock,
      onChange: () => Promise.resolve(),
    });
    return createWebhookIntents({ once, webhooks });
  }
  return { clock, store, gateway };
}

test("one intent makes one webhook, also where a later try is refused after a gateway was killed", async () => {
  const { clock, store, gateway } = await stage();
  await assert.rejects(gateway({ dies: true })(WANTED, ASKER), /killed/);
  clock.advance(31_000);
  await gateway({ cannotResolve: true })(WANTED, ASKER).catch(() => {});
  clock.advance(31_000);
  const made = await gateway()(WANTED, ASKER);
  const there = await store.subscriptions.list({ keyId: "key1", limit: 10 });
  assert.deepEqual(there.map(({ id }) => id), [made.id]);
});
