// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "../../lib/errors.ts";
import { createWebhookIntents } from "../../lib/http/intents/webhooks.ts";
import { openStore } from "../../lib/store/open.ts";
import { createTestClock } from "../test_clock.ts";
import { intentGateways } from "./intent_gateways.ts";
import { START_MS } from "./parts.ts";

const ASKER = { keyId: "key1", idempotencyKey: "order-7" };
const WANTED = { url: "https://a.example/" };

async function stage() {
  const clock = createTestClock(START_MS);
  const store = await openStore("memory:", { now: clock.now });
  let secrets = 0;
  const intents = intentGateways(store, clock, {
    createSecret: () => `whsec_${btoa(`the secret with number ${secrets++}`)}`,
    randomText: (length) => "x".repeat(length),
    startHeight: () => Promise.resolve(101),
  });
  const unresolved = () => Promise.reject(new GatewayError("invalid_request", "a.example cannot be resolved"));
  /** A gateway; it dies once it has made the webhook, or cannot resolve its name. */
  const gateway = ({ dies = false, cannotResolve = false, on = store } = {}) =>
    createWebhookIntents(
      intents({
        dies,
        targets: { check: cannotResolve ? unresolved : () => Promise.resolve() } as never,
        ...(on === store ? {} : { store: on }),
      }),
    );
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
