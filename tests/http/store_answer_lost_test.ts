// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreError } from "../../lib/store/store.ts";
import { networkOfFile, startGateway } from "./test_gateway.ts";
import { bentStore } from "../store/bent_store.ts";

const on = networkOfFile();

const lost = () => new StoreError("unavailable", "the connection was cut");

/** A gateway whose store commits a webhook, loses the answer, and then fails until `comesBack`. */
async function stage() {
  let isAway = false;
  const api = await startGateway(on, {
    targets: { resolve: () => Promise.resolve(["1.1.1.1"]) } as never,
    store: (store) =>
      bentStore(store, {
        subscriptions: {
          async insert(...of) {
            await store.subscriptions.insert(...of);
            isAway = true;
            throw lost();
          },
          get: (id) => isAway ? Promise.reject(lost()) : store.subscriptions.get(id),
        },
      }),
  });
  return { api, comesBack: () => void (isAway = false) };
}

test("a rotation answers the new secret although the store fails right after the write", async () => {
  let isAway = false;
  const api = await startGateway(on, {
    targets: { resolve: () => Promise.resolve(["1.1.1.1"]) } as never,
    store: (store) =>
      bentStore(store, {
        subscriptions: {
          setSecrets: async (step) => {
            const replaced = await store.subscriptions.setSecrets(step);
            isAway = replaced > 0;
            return replaced;
          },
        },
        deliveries: { consumer: (id) => isAway ? Promise.reject(lost()) : store.deliveries.consumer(id) },
      }),
  });
  const { body: made } = await api.request("POST", "/v1/webhooks", { body: { url: "https://a.example/" } });
  const { status, body } = await api.request("POST", `/v1/webhooks/${made.id}/secret`);
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal((await api.store.subscriptions.get(made.id))!.secret, body.secret);
  assert.ok(body.previousSecretUntil);
  await api.stop();
});

test("a 503 for the creation of a webhook does not claim that nothing was written when the commit's answer was lost", async () => {
  const { api, comesBack } = await stage();
  const body = { url: "https://a.example/" };
  const failed = await api.request("POST", "/v1/webhooks", { body });
  comesBack();
  assert.equal(failed.status, 503);
  const { body: { webhooks } } = await api.request("GET", "/v1/webhooks");
  assert.equal(webhooks.length, 1, "it was written");
  assert.doesNotMatch(failed.body.error.message, /nothing was written/);
  await api.stop();
});
