import assert from "node:assert/strict";
import { after, before, beforeEach } from "node:test";
import { type Receiver, startReceiver } from "../e2e/receiver.ts";
import { type GatewayUnderTest, startGateway, startTestNetwork, type TestNetwork } from "./test_gateway.ts";

export let on: TestNetwork;
export let api: GatewayUnderTest;
export let receiver: Receiver;
/** A new key for each test. */
export let key: string;

let status = 200;

/** Starts one network, gateway and receiver for all tests of a file. Call it once. */
export function startWebhookStage(): void {
  before(async () => {
    on = await startTestNetwork();
    receiver = await startReceiver(() => status);
    api = await startGateway(on, { targets: { allowLoopbackHttp: true } });
  });
  after(async () => {
    await api.stop();
    await receiver.stop();
    await on.network.stop();
  });
  beforeEach(async () => {
    status = 200;
    key = await api.newKey({ scopes: ["webhooks", "read", "write"] });
  });
}

/** Sets the receiver's status until the end of the test. */
export function answerWith(code: number): void {
  status = code;
}

export const post = (path: string, body?: unknown, as = key) => api.request("POST", path, { key: as, body });
export const get = (path: string, as = key) => api.request("GET", path, { key: as });
export const remove = (path: string, as = key) => api.request("DELETE", path, { key: as });

export async function newWebhook(fields: Record<string, unknown> = {}, as = key) {
  const answer = await post("/v1/webhooks", { url: `${receiver.url}/hook`, ...fields }, as);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

/** Registers a new device: one event in one ledger. */
export function registerDevice(as = key): Promise<{ deviceHash: string; ledger: number }> {
  return api.registerDevice({ key: as });
}

/** Waits for this many requests at a path of the receiver and returns them. */
export async function arrived(path: string, count: number) {
  while (true) {
    const found = receiver.received.filter((one) => one.path === path);
    if (found.length >= count) return found;
    await receiver.until(receiver.received.length + 1);
  }
}
