// Makes POSTs to a local receiver as fast as it can, durable and signed as the gateway makes them, or bare:
//   webhook_sender.ts gateway URL COUNT SUBSCRIPTIONS STORE | bare URL COUNT
// prints how long it took and how much CPU it used.
import { Agent, request } from "node:http";
import process from "node:process";
import { sleep, systemClock } from "../../lib/clock.ts";
import { randomBase62 } from "../../lib/random.ts";
import { type NewEvent, publicEvent } from "../../lib/store/event.ts";
import { openStore } from "../../lib/store/open.ts";
import { type Store, WATCHER_LEASE } from "../../lib/store/store.ts";
import { createSecret } from "../../lib/webhooks/delivery/signature.ts";
import { createPoster } from "../../lib/webhooks/post/post.ts";
import { createSecretBox } from "../../lib/webhooks/secrets/secrets.ts";
import { createTargetPolicy } from "../../lib/webhooks/targets/policy.ts";
import { createWebhooks } from "../../lib/webhooks/webhooks.ts";

const IN_FLIGHT = 64;
const BODY = JSON.stringify({ subscription: "wh_0000000000000000000000", event: publicEvent(eventAt(1)) });
const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));

function eventAt(ledger: number): NewEvent {
  return {
    id: `${String(BigInt(ledger) << 32n).padStart(19, "0")}-0000000001`,
    type: "payment.authorized",
    contractId: "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX",
    ledger,
    ledgerClosedAt: "2026-01-01T00:00:00Z",
    txHash: "cd".repeat(32),
    deviceHash: "ab".repeat(32),
    merchant: "GAAZI4TCR3TY5OJHCTJC2A4QSY6CJWJH5IAJTGKIN2ER7LBNVKOCCWN7",
    amount: "40000",
    knownAt: 1_767_225_600,
  };
}

async function measured(work: () => Promise<void>): Promise<void> {
  const before = process.cpuUsage();
  const startedMs = performance.now();
  await work();
  const seconds = (performance.now() - startedMs) / 1000;
  const { user, system } = process.cpuUsage(before);
  process.stdout.write(`${JSON.stringify({ seconds, cpuMicroseconds: user + system })}\n`);
}

/** The reference: a bare loop of keep-alive posts. */
async function bare(url: string, count: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT });
  const { hostname, port } = new URL(url);
  const headers = { "content-type": "application/json", "content-length": BODY.length };
  let left = count;
  const post = () =>
    new Promise<void>((resolve, reject) => {
      const sent = request({ agent, hostname, port, method: "POST", path: "/hook", headers }, (response) => {
        response.on("end", resolve);
        response.resume();
      });
      sent.on("error", reject);
      sent.end(BODY);
    });
  await measured(async () => {
    await Promise.all(Array.from({ length: IN_FLIGHT }, async () => {
      while (left-- > 0) await post();
    }));
  });
}

async function isDelivered(store: Store): Promise<boolean> {
  const { last } = await store.events.bounds();
  return (await store.deliveries.readers({ limit: 500 })).every(({ progress }) => progress.cursor === last);
}

async function gateway(url: string, count: number, subscriptions: number, location: string): Promise<void> {
  const store = await openStore(location);
  const policy = createTargetPolicy({ resolve: () => Promise.reject(new Error("none")), allowLoopbackHttp: true });
  const webhooks = createWebhooks({
    store,
    targets: policy,
    poster: createPoster({ policy, now: Date.now }),
    secrets: createSecretBox(undefined),
    isKeyEnabled: () => Promise.resolve(true),
    startHeight: () => Promise.resolve(1),
    randomBytes: random,
    randomText: (length) => randomBase62(length, random),
    clock: systemClock,
    onAttempt: () => {},
    onProblem: (message, cause) => process.stderr.write(`${message}: ${cause}\n`),
  });
  await store.holdForServing();
  for (let n = 0; n < subscriptions; n++) {
    const id = `wh_${String(n).padStart(22, "0")}`;
    await store.subscriptions.insert({
      id,
      keyId: `key${n}`,
      url: `${url}/hook`,
      types: null,
      deviceHash: null,
      merchant: null,
      secret: createSecret(random),
      previousSecret: null,
      createdAt: new Date().toISOString(),
      ordered: false,
      startHeight: 1,
    }, 100);
  }
  const ledgers = count / subscriptions;
  const lease = (await store.leases.acquire({ name: WATCHER_LEASE, holder: "bench", durationMs: 60_000 }))!;
  const state = { epoch: 0, latestLedger: ledgers, latestLedgerCloseTime: 1_767_225_600, checkedLedger: 0 };
  for (let ledger = 1; ledger <= ledgers; ledger += 100) {
    const events = Array.from({ length: Math.min(100, ledgers - ledger + 1) }, (_, n) => eventAt(ledger + n));
    const scannedLedger = ledger + events.length - 1;
    await store.events.append({
      lease,
      events,
      state: { ...state, scannedLedger, contracts: {}, gaps: [], formerEpochs: [] },
    });
  }
  await measured(async () => {
    webhooks.start();
    while (!(await isDelivered(store))) await sleep(50);
  });
  await webhooks.stop();
  await store.close();
}

const [mode, url, count, subscriptions, location] = process.argv.slice(2);
if (mode === "bare") await bare(url!, Number(count));
else await gateway(url!, Number(count), Number(subscriptions), location!);
process.exit(0);
