import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mintKey } from "../../lib/keys/api_key.ts";
import { serveHttp } from "../../lib/runtime/serve.ts";
import { openStore } from "../../lib/store/open.ts";
import { createClient } from "../e2e/client.ts";
import { startTestNetwork } from "../http/test_gateway.ts";
import { type CardTraffic, startCardTraffic } from "./card_traffic.ts";
import type { Life } from "./gateway_process.ts";
import { type Listener, listenersOf } from "./listener.ts";
import { type MoodyReceiver, startMoodyReceiver } from "./moody_receiver.ts";
import { beginLife, type MortalGateway } from "./mortal_gateway.ts";
import type { SeededRandom } from "./seeded_random.ts";

/** What outlives a gateway: the network with its cards, the endpoints, and the store's file. */
export interface KillStage {
  traffic: CardTraffic;
  receiver: MoodyReceiver;
  listeners: Listener[];
  /** Starts a gateway on the one store. */
  live(life: Omit<Life, "settings">): MortalGateway;
  /** With a key that may read and have webhooks. */
  clientOf(url: string): ReturnType<typeof createClient>;
  close(): Promise<void>;
}

/** `driver` is that of the store's file: `sqlite` or `deno-kv`. */
export async function setKillStage(driver: string, random: SeededRandom): Promise<KillStage> {
  const folder = mkdtempSync(join(tmpdir(), "gateway-kills-"));
  const on = await startTestNetwork();
  const traffic = await startCardTraffic(on, random);
  const listeners = listenersOf(traffic.deviceHashes, traffic.merchants);
  const receiver = await startMoodyReceiver((name) => listeners.find((one) => one.name === name)!.moods, random);
  const rpc = await serveHttp({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeoutMs: 60_000,
    fetch: async (request) =>
      await on.fetch(request.url, { method: "POST", headers: request.headers, body: await request.text() }),
  });
  const store = `${driver}:${join(folder, "gateway.store")}`;
  const apiKey = await newKey(store);
  const settings = {
    store,
    port: "0",
    rpcUrls: rpc.url,
    pollMs: "50",
    networkPassphrase: on.network.passphrase,
    ...on.sandbox.contracts,
  };
  return {
    traffic,
    receiver,
    listeners,
    live: (life) => beginLife({ settings, ...life }),
    clientOf: (url) => createClient(url, apiKey),
    async close() {
      await rpc.stop({ drainMs: 1_000 });
      await receiver.close();
      await on.network.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

async function newKey(location: string): Promise<string> {
  const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));
  const wanted = { name: "kills", scopes: ["read" as const, "webhooks" as const], rate: 100_000 };
  const { key, record } = mintKey({ ...wanted, now: Date.now(), random });
  const store = await openStore(location);
  await store.keys.insert(record);
  await store.close();
  return key;
}
