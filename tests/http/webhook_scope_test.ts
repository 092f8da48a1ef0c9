// needs: once
import assert from "node:assert/strict";
import { test } from "node:test";
import { keySourceFromStore } from "../../lib/keys/key_source.ts";
import type { Scope } from "../../lib/store/store.ts";
import { startReceiver } from "../e2e/receiver.ts";
import { until } from "../until.ts";
import { owedTo } from "../webhooks/parts.ts";
import { startGateway, startTestNetwork } from "./test_gateway.ts";

test("the gateway delivers nothing to the webhooks of a key without the scope webhooks, until the key has it again", async () => {
  const on = await startTestNetwork();
  const receiver = await startReceiver(() => 200);
  /** Scopes that an operator changed, by the keys' ids. */
  const edited = new Map<string, Scope[]>();
  const api = await startGateway(on, {
    targets: { allowLoopbackHttp: true },
    keys: (store) => {
      const source = keySourceFromStore(store);
      const get = async (id: string) => {
        const record = await source.get(id);
        return record && { ...record, scopes: edited.get(id) ?? record.scopes };
      };
      return { ...source, get };
    },
  });
  const key = await api.newKey({ scopes: ["webhooks"] });
  const post = async (path: string, body: unknown, as?: string) =>
    (await api.request("POST", path, { body, key: as })).body;
  const heard = (path: string) => receiver.received.filter((one) => one.path === path).length;

  const { id } = await post("/v1/webhooks", { url: `${receiver.url}/lost` }, key);
  await post("/v1/webhooks", { url: `${receiver.url}/another` });
  const keyId = key.split("_")[2]!;
  edited.set(keyId, ["read"]);
  await api.registerDevice();
  await until(() => Promise.resolve(heard("/another") > 0));
  await new Promise((over) => setTimeout(over, 300));
  assert.equal(heard("/lost"), 0);
  assert.equal((await owedTo(api.store, id)).pending, 1, "the delivery waits, as while a key is disabled");
  edited.delete(keyId);
  await until(() => Promise.resolve(heard("/lost") > 0));

  await api.stop();
  await receiver.stop();
  await on.network.stop();
});
