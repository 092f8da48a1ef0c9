import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mintKey } from "../../lib/keys/api_key.ts";
import { serveHttp } from "../../lib/runtime/serve.ts";
import { openStore } from "../../lib/store/open_store.ts";
import { type Answer, createClient } from "../e2e/client.ts";
import { startTestNetwork } from "../http/test_gateway.ts";
import { type Happening, startCardTraffic } from "./card_traffic.ts";
import { beginLife, type MortalGateway } from "./mortal_gateway.ts";
import { type Listener, listenersOf, missing } from "./listener.ts";
import { type Receipt, startMoodyReceiver } from "./moody_receiver.ts";
import { seededRandom } from "./seeded_random.ts";

export interface KillRun {
  happenings: Happening[];
  listeners: Listener[];
  receipts: Receipt[];
  /** Where `receipts` were when all was delivered: what comes behind came although nothing was owed any more. */
  deliveredAt: number;
  /** What was owed in the end. */
  backlog: { pending: number; dead: number };
  /** What the gateways wrote to standard error. */
  log: string;
}

export interface KillRunOptions {
  seed: number;
  kills: number;
  /** Driver of the store's file: `sqlite` or `deno-kv`. */
  driver: string;
  postsPerLane: number;
}

/** Nobody leases for longer, so a gateway whose clock is so far ahead of a dead one's finds nothing leased. */
const LEASE_MS = 30_000;
/** Longer than any retry is put off. */
const LONGEST_RETRY_MS = 30 * 3_600_000;
/** Longer than a post may take: of these lives some posts see their time-out. */
const LONG_LIFE_MS = 10_500;
const LONG_LIFE_EVERY = 40;
/** The longest of most lives, after a start that takes about so long. */
const LIFE_MS = 600;
const STARTING_MS = 500;
const AFTER_RECEIPT_MS = 20;
/** Of those that end with a write to the store. */
const MOST_WRITES = 25;
const DRAIN_TIMEOUT_MS = 60_000;

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/**
 * Lets a gateway live and die many times while cards pay and endpoints misbehave, then once in peace until all is
 * delivered. Each life's clock is ahead of the one before: leases and retries come due without waiting for them.
 */
export async function runKills({ seed, kills, driver, postsPerLane }: KillRunOptions): Promise<KillRun> {
  const random = seededRandom(seed);
  const folder = mkdtempSync(join(tmpdir(), "gateway-kills-"));
  const on = await startTestNetwork();
  const traffic = await startCardTraffic(on, random);
  const listeners = listenersOf(traffic.deviceHashes, traffic.merchants);
  const receiver = await startMoodyReceiver((name) => listeners.find((one) => one.name === name)!.moods, random);
  const fetch = async (request: Request) =>
    await on.fetch(request.url, { method: "POST", headers: request.headers, body: await request.text() });
  const rpc = await serveHttp({ hostname: "127.0.0.1", port: 0, idleTimeoutMs: 60_000, fetch });
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
  let aheadMs = 0;
  let log = "";
  let isOver = false;

  const live = (writes = 0) => beginLife({ settings, aheadMs, postsPerLane, writes });
  async function die(gateway: MortalGateway): Promise<void> {
    await gateway.kill();
    log += gateway.log();
  }
  /** One life, until any moment from the first one on; most often one at which something is half done. */
  async function liveAndDie(isLong: boolean): Promise<void> {
    const choice = random.next();
    const gateway = live(!isLong && choice < 0.5 ? Math.ceil(random.between(0, MOST_WRITES)) : 0);
    const span = (ms: number) => pause(random.between(0, ms));
    if (choice < 0.5) {
      if (await gateway.ready !== undefined) burst();
      await Promise.race([gateway.gone, pause(isLong ? LONG_LIFE_MS : 2 * LIFE_MS)]);
    } else if (choice < 0.6) {
      await span(STARTING_MS);
    } else if (choice < 0.8) {
      await gateway.ready;
      await Promise.race([receiver.next(), pause(LIFE_MS)]);
      await span(AFTER_RECEIPT_MS);
    } else {
      await gateway.ready;
      await span(LIFE_MS);
    }
    await die(gateway);
  }
  function burst(): void {
    for (let ledgers = 10; ledgers > 0; ledgers--) traffic.closeLedger();
  }
  async function traffick(): Promise<void> {
    while (!isOver) {
      traffic.closeLedger();
      await pause(random.between(20, LIFE_MS / 2));
    }
  }

  const first = live();
  const api = createClient((await first.ready)!, apiKey);
  for (const { name, filter } of listeners) {
    created(await api.post("/v1/webhooks", { url: `${receiver.url}/${name}`, ...filter }));
  }
  await die(first);

  const trafficking = traffick();
  for (let kill = 1; kill < kills; kill++) {
    aheadMs += Math.round(random.between(0, 3 * LEASE_MS));
    await liveAndDie(kill % LONG_LIFE_EVERY === 0);
  }
  isOver = true;
  await trafficking;

  receiver.calmDown();
  aheadMs += LONGEST_RETRY_MS;
  const happenings = traffic.happenings();
  const last = live();
  const peaceful = createClient((await last.ready)!, apiKey);
  const backlog = await drained(
    peaceful,
    () => listeners.every((one) => missing(one, happenings, receiver.receipts).length === 0),
  );
  const deliveredAt = receiver.receipts.length;
  await die(last);
  aheadMs += LONGEST_RETRY_MS;
  const afterwards = live();
  await afterwards.ready;
  await pause(500);
  await die(afterwards);

  await rpc.stop({ drainMs: 1_000 });
  await receiver.close();
  await on.network.stop();
  rmSync(folder, { recursive: true, force: true });
  return { happenings, listeners, receipts: receiver.receipts, deliveredAt, backlog, log };
}

async function newKey(location: string): Promise<string> {
  const bytes = (length: number) => crypto.getRandomValues(new Uint8Array(length));
  const { key, record } = mintKey({
    name: "kills",
    scopes: ["read", "webhooks"],
    rate: 100_000,
    now: Date.now(),
    random: bytes,
  });
  const store = await openStore(location);
  await store.insertKey(record);
  await store.close();
  return key;
}

function created({ status, body }: Answer): void {
  if (status !== 201) throw new Error(`a webhook could not be created: ${JSON.stringify(body)}`);
}

/** Waits until all has arrived and nothing is owed, at most so long; answers what is. */
async function drained(api: ReturnType<typeof createClient>, isComplete: () => boolean): Promise<KillRun["backlog"]> {
  const deadlineMs = Date.now() + DRAIN_TIMEOUT_MS;
  for (;;) {
    const { pending, dead } = (await api.get("/v1/status")).body.deliveries;
    if ((isComplete() && pending === 0) || Date.now() > deadlineMs) return { pending, dead };
    await pause(50);
  }
}
