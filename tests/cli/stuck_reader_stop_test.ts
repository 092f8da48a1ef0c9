// needs: runtime
import assert from "node:assert/strict";
import { once } from "node:events";
import { createConnection } from "node:net";
import { test } from "node:test";
import { readConfig } from "../../cli/read_config.ts";
import { serveGateway } from "../../cli/serve_gateway.ts";
import { mintKey } from "../../lib/keys/api_key.ts";
import { keySourceFromStore } from "../../lib/keys/key_source.ts";
import { createLog } from "../../lib/log.ts";
import { openStore } from "../../lib/store/open.ts";
import { startTestNetwork } from "../http/test_gateway.ts";
import { appendMany } from "../store/samples.ts";

/** More than the sockets' buffers hold. */
const EVENTS = 20_000;

test("a stop does not wait for a client that does not read its live stream", { timeout: 120_000 }, async () => {
  const on = await startTestNetwork();
  const store = await openStore("memory:");
  await appendMany(store, 1, EVENTS);
  const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));
  const { key, record } = mintKey({ name: "test", scopes: ["read"], now: Date.now(), random });
  await store.keys.insert(record);
  const { passphrase: networkPassphrase } = on.network;
  const config = readConfig({}, { store: "memory:", port: "0", networkPassphrase, ...on.sandbox.contracts });
  const log = createLog({ level: "error", format: "json", now: Date.now, write: () => {} });
  const running = await serveGateway({ config, store, keys: keySourceFromStore(store), log, fetch: on.fetch });
  const stuck = createConnection(Number(new URL(running.url).port), "127.0.0.1");
  stuck.on("error", () => {});
  stuck.write(`GET /v1/events/stream HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  await once(stuck, "readable");
  // By then the gateway can write no more.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const beganAt = performance.now();
  const stopped = await running.stop();
  const tookMs = performance.now() - beganAt;
  stuck.destroy();
  assert.deepEqual(stopped, { isClean: true, requestsCutOff: 0 });
  assert.ok(tookMs < 30_000, `it took ${tookMs} ms`);
  await on.network.stop();
});
