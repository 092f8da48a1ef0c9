import { mintKey } from "../../lib/keys/api_key.ts";
import { serveHttp } from "../../lib/runtime/serve.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Scope } from "../../lib/store/store.ts";
import { createClient } from "../e2e/client.ts";
import { startTestNetwork } from "../http/test_gateway.ts";
import { type CardTraffic, startCardTraffic } from "./card_traffic.ts";
import type { Life } from "./gateway_process.ts";
import { type Listener, listenersOf } from "./listener.ts";
import { type MoodyReceiver, startMoodyReceiver } from "./moody_receiver.ts";
import { beginLife, type MortalGateway } from "./mortal_gateway.ts";
import type { SeededRandom } from "./seeded_random.ts";

/** What outlives a gateway: the network with its cards, the endpoints, and the store. */
export interface KillStage {
  traffic: CardTraffic;
  receiver: MoodyReceiver;
  listeners: Listener[];
  /** Starts a gateway on the one store. @param store another way to it */
  live(life: Omit<Life, "settings">, store?: string): MortalGateway;
  /** It may read and have webhooks. */
  apiKey: string;
  /** With that key. */
  clientOf(url: string): ReturnType<typeof createClient>;
  close(): Promise<void>;
}

/** @param store where the store is, as a setting names it */
export async function setKillStage(store: string, random: SeededRandom): Promise<KillStage> {
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
  const apiKey = await newKey(store, { name: "kills", scopes: ["read", "webhooks"], rate: 100_000 });
  const network = { rpcUrls: rpc.url, networkPassphrase: on.network.passphrase, ...on.sandbox.contracts };
  const settings = { store, port: "0", pollMs: "50", ...network };
  return {
    traffic,
    receiver,
    listeners,
    apiKey,
    live: (life, way = store) => beginLife({ settings: { ...settings, store: way }, ...life }),
    clientOf: (url) => createClient(url, apiKey),
    async close() {
      await rpc.stop({ drainMs: 1_000 });
      await receiver.close();
      await on.network.stop();
    },
  };
}

/** Mints a key into a store. @param wanted `rate` in requests per minute */
export async function newKey(
  location: string,
  wanted: { name: string; scopes: Scope[]; rate: number },
): Promise<string> {
  const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));
  const { key, record } = mintKey({ ...wanted, now: Date.now(), random });
  const store = await openStore(location);
  await store.keys.insert(record);
  await store.close();
  return key;
}
