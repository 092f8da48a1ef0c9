// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { keySourceFromStore } from "../../lib/keys/key_source.ts";
import { insert, subscriptionOf } from "../webhooks/parts.ts";
import { until } from "../until.ts";
import { startGateway, startTestNetwork } from "./test_gateway.ts";

test("a key that is disabled while the store is slow to say whose it is, or the gateway stands still, does nothing more", async () => {
  const on = await startTestNetwork();
  const late = Promise.withResolvers<void>();
  let isAsked = false;
  let slowId: string | undefined = undefined;
  const api = await startGateway(on, {
    keys(store) {
      const source = keySourceFromStore(store);
      return {
        ...source,
        async get(id) {
          const record = await source.get(id);
          if (id !== slowId || isAsked) return record;
          isAsked = true;
          await late.promise;
          return record;
        },
      };
    },
  });
  const key = await api.newKey({ scopes: ["webhooks"] });
  const id = key.split("_")[2]!;
  await insert(api.store, subscriptionOf("wh_1", { keyId: id }));
  slowId = id;
  const answer = api.request("DELETE", "/v1/webhooks/wh_1", { key });
  await until(() => isAsked);
  await api.store.keys.setDisabled(id, true);
  // Who comes within a second waits for the same answer.
  await new Promise((over) => setTimeout(over, 1_100));
  assert.equal((await api.request("GET", "/v1/webhooks", { key })).status, 401);
  late.resolve();
  assert.equal((await answer).status, 401);
  assert.notEqual(await api.store.subscriptions.get("wh_1"), undefined);
  await api.stop();
  await on.network.stop();
});
