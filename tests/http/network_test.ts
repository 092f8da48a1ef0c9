// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { type GatewayUnderTest, networkOfFile, startGateway } from "./test_gateway.ts";

const FIRST = "https://first.test";
const SECOND = "https://second.test";

const on = networkOfFile();

/** A gateway on two nodes with tokens; the first may be made to fail. */
async function withTwoNodes(
  settings: { publicRpcUrl?: string },
  story: (api: GatewayUnderTest, first: { isDown: boolean }, rpcUrl: () => Promise<string>) => Promise<void>,
): Promise<void> {
  const first = { isDown: false };
  const api = await startGateway(on, {
    started: false,
    settings: { rpcUrls: `${FIRST}/secret-token,${SECOND}/another?key=secret-token`, ...settings },
    fetch: (url, init) =>
      first.isDown && url.startsWith(FIRST) ? Promise.reject(new TypeError("refused")) : on.fetch(url, init),
  });
  const rpcUrl = async () => (await api.request("GET", "/v1/network")).body.rpcUrl;
  try {
    await story(api, first, rpcUrl);
  } finally {
    await api.stop();
  }
}

/** A request that calls the node. */
const ask = (api: GatewayUnderTest) =>
  api.request("GET", `/v1/devices/${crypto.randomUUID().replace(/-/g, "").repeat(2)}`);

test("/v1/network shows the node in use, which is the first one while it answers, without its token", async () => {
  await withTwoNodes({}, async (api, first, rpcUrl) => {
    await ask(api);
    assert.equal(await rpcUrl(), FIRST);
    first.isDown = true;
    await ask(api);
    assert.equal(await rpcUrl(), SECOND);
  });
});

test("/v1/network shows SERVICE_API_PUBLIC_RPC_URL, independent of the node in use", async () => {
  const publicRpcUrl = "https://rpc.example.com/for-everyone";
  await withTwoNodes({ publicRpcUrl }, async (api, first, rpcUrl) => {
    assert.equal(await rpcUrl(), publicRpcUrl);
    first.isDown = true;
    await ask(api);
    assert.equal(await rpcUrl(), publicRpcUrl);
  });
});

test("/v1/network shows the contracts of the accepted assets, or null if the gateway accepts all", async () => {
  const { asset } = on.sandbox;
  for (const [settings, shown] of [[{}, null], [{ assets: `native,${asset}` }, [asset, asset]]] as const) {
    const api = await startGateway(on, { started: false, settings });
    assert.deepEqual((await api.request("GET", "/v1/network")).body.assets, shown);
    await api.stop();
  }
});
