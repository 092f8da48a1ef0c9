// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../until.ts";
import { gatewayOfFile } from "./test_gateway.ts";

const { api } = gatewayOfFile({ targets: { allowLoopbackHttp: true } });

test("a key that is disabled while its request's body still comes does nothing more", async () => {
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
