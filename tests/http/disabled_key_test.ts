// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { keySourceFromStore } from "../../lib/keys/key_source.ts";
import { until } from "../until.ts";
import { insert, subscriptionOf } from "../webhooks/parts.ts";
import { gatewayOfFile, startGateway } from "./test_gateway.ts";

const { on, api } = gatewayOfFile({ targets: { allowLoopbackHttp: true } });

test("a request whose key is disabled before its body has arrived gets 401 and changes nothing", async () => {
  const key = await api.newKey({ scopes: ["webhooks"] });
  const id = key.split("_")[2]!;
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const send = (text: string) => writer.write(new TextEncoder().encode(text));
  const request = new Request("http://gateway.test/v1/webhooks", {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: readable,
    // Wanted of bodies that are streams, and unknown to the types.
    ...{ duplex: "half" },
  });
  const answer = api.gateway.fetch(request, { remoteAddress: "198.51.100.7" });
  await send('{ "url": ');
  await api.store.keys.setDisabled(id, true);
  await until(async () => (await api.request("GET", "/v1/webhooks", { key })).status === 401);
  await new Promise((over) => setTimeout(over, 200));
  await send('"http://127.0.0.1:9/late" }');
  await writer.close();
  assert.equal((await answer).status, 401);
  assert.deepEqual(await api.store.subscriptions.list({ keyId: id, limit: 10 }), []);
});

test("a request whose key is disabled while the store is slow to return the key gets 401 and changes nothing", async () => {
  const late = Promise.withResolvers<void>();
  let isAsked = false;
  let slowId: string | undefined = undefined;
  const slow = await startGateway(on, {
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
  const key = await slow.newKey({ scopes: ["webhooks"] });
  const id = key.split("_")[2]!;
  await insert(slow.store, subscriptionOf("wh_1", { keyId: id }));
  slowId = id;
  const answer = slow.request("DELETE", "/v1/webhooks/wh_1", { key });
  await until(() => isAsked);
  await slow.store.keys.setDisabled(id, true);
  // A request within a second would wait for the same answer of the store.
  await new Promise((over) => setTimeout(over, 1_100));
  assert.equal((await slow.request("GET", "/v1/webhooks", { key })).status, 401);
  late.resolve();
  assert.equal((await answer).status, 401);
  assert.notEqual(await slow.store.subscriptions.get("wh_1"), undefined);
  await slow.stop();
});
