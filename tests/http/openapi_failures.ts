import type { Examples } from "../../lib/http/openapi.ts";
import { sleep } from "../../lib/clock.ts";
import { keySourceFromStore } from "../../lib/keys/key_source.ts";
import type { Answer } from "../e2e/client.ts";
import { bentStore } from "../store/bent_store.ts";
import { type GatewayUnderTest, startGateway, type TestNetwork } from "./test_gateway.ts";

/** A run that records its answers. */
interface Running {
  on: TestNetwork;
  api: GatewayUnderTest;
  examples: Examples;
}

const deviceHash = "9a".repeat(32);

/** Records errors that any endpoint may answer, some of them from a gateway with a fault. */
export async function failures({ api, on, examples }: Running): Promise<void> {
  const keep = ({ body }: Answer) => examples.errors[body.error.code] = body;
  keep(await api.request("GET", "/v1/network", { key: null }));
  keep(await api.request("GET", "/v1/network", { key: await api.newKey({ scopes: ["webhooks"] }) }));
  keep(await api.request("GET", "/v1/events?limit=0"));
  keep(await api.request("GET", "/v1/nothing"));
  const slow = await api.newKey({ rate: 1 });
  await api.request("GET", "/v1/network", { key: slow });
  keep(await api.request("GET", "/v1/network", { key: slow }));

  const cutOff = await startGateway(on, { fetch: () => Promise.reject(new Error("down")), started: false });
  keep(await cutOff.request("GET", `/v1/devices/${deviceHash}`));
  const stopping = cutOff.stop();
  keep(await cutOff.request("GET", "/v1/network"));
  await stopping;

  const broken = await startGateway(on, {
    started: false,
    keys: (store) => ({
      ...keySourceFromStore(store),
      get: () => Promise.reject(new TypeError("a fault of the gateway's own")),
    }),
  });
  keep(await broken.request("GET", "/v1/network"));
  await broken.stop();
}

/** Requests that are wrong as a whole, each with the status that HTTP has for it. */
export async function invalidRequests({ api, on, examples }: Running): Promise<void> {
  const keep = ({ status, body }: Pick<Answer, "status" | "body">) => examples.invalidRequests[status] = body;
  const path = "/v1/transactions/submit";
  const impatient = await startGateway(on, { bodyTimeoutMs: 1_000, started: false });
  const endless = new Request(`http://gateway.test${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${impatient.apiKey}`, "content-type": "application/json" },
    body: new ReadableStream(),
    duplex: "half",
  } as RequestInit);
  const late = await impatient.gateway.fetch(endless, { remoteAddress: "198.51.100.7" });
  keep({ status: late.status, body: await late.json() });
  await impatient.stop();

  const busy = await startGateway(on, {
    started: false,
    // Only short waits end at once, so that the time-outs of nodes remain.
    wait: (ms, signal) => sleep(ms > 500 ? ms : 0, signal),
    store: (store) => bentStore(store, { intents: { set: () => Promise.resolve("changed") } }),
  });
  const body = {
    source: on.sandbox.accounts.owner.address,
    operation: { kind: "registerDevice", deviceHash: "0".repeat(64), agent: on.sandbox.accounts.agent.address },
  };
  const headers = { "idempotency-key": "order-1207" };
  keep(await busy.request("POST", "/v1/transactions/prepare", { body, headers }));
  await busy.stop();
  keep(await api.request("POST", path, { body: { xdr: "A".repeat(200_000) } }));
}
