// Makes POSTs to a local receiver as fast as it can, durable and signed as the gateway makes them, or bare:
//   webhook_sender.ts gateway URL COUNT SUBSCRIPTIONS STORE | bare URL COUNT
// prints how long it took and how much CPU it used.
import { Agent, request } from "node:http";
import process from "node:process";
import { endOfLedger, positionOf } from "../../lib/events/position.ts";
import { publicEvent } from "../../lib/events/public_event.ts";
import { randomBase62 } from "../../lib/random.ts";
import { sleep } from "../../lib/clock.ts";
import { openStore } from "../../lib/store/open.ts";
import type { StoredEvent } from "../../lib/store/store.ts";
import { createFanOut } from "../../lib/webhooks/delivery/fan_out.ts";
import { createPoster } from "../../lib/webhooks/post/post.ts";
import { createSecretBox } from "../../lib/webhooks/secrets/secrets.ts";
import { createSecret } from "../../lib/webhooks/delivery/signature.ts";
import { createSubscriptionSet } from "../../lib/webhooks/delivery/subscription_set.ts";
import { createTargetPolicy } from "../../lib/webhooks/targets/policy.ts";
import { createWebhooks } from "../../lib/webhooks/webhooks.ts";

const IN_FLIGHT = 64;
const BODY = JSON.stringify({ subscription: "wh_0000000000000000000000", event: publicEvent(eventAt(1)) });
const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));

function eventAt(ledger: number): StoredEvent {
  const id = `${String(BigInt(ledger) << 32n).padStart(19, "0")}-0000000001`;
  return {
    position: positionOf(0, id),
    id,
    type: "payment.authorized",
    contractId: "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX",
    ledger,
    ledgerClosedAt: "2026-01-01T00:00:00Z",
    txHash: "cd".repeat(32),
    deviceHash: "ab".repeat(32),
    merchant: "GAAZI4TCR3TY5OJHCTJC2A4QSY6CJWJH5IAJTGKIN2ER7LBNVKOCCWN7",
    amount: "40000",
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
        response.on("data", () => {});
        response.on("end", resolve);
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

async function gateway(url: string, count: number, subscriptions: number, location: string): Promise<void> {
  const store = await openStore(location);
  const policy = createTargetPolicy({ resolve: () => Promise.reject(new Error("none")), allowLoopbackHttp: true });
  const webhooks = createWebhooks({
    store,
    targets: policy,
    poster: createPoster({ policy, now: Date.now }),
    secrets: createSecretBox(undefined),
    isKeyEnabled: () => Promise.resolve(true),
    tip: () => Promise.resolve({ epoch: 0, sequence: 0 }),
    endOfLedger,
    publicEvent,
    randomBytes: random,
    randomText: (length) => randomBase62(length, random),
    historyDays: 0,
    attemptDays: 0,
    now: Date.now,
    wait: sleep,
    onProblem: (message, cause) => process.stderr.write(`${message}: ${cause}\n`),
  });
  for (let n = 0; n < subscriptions; n++) {
    const id = `wh_${String(n).padStart(22, "0")}`;
    await store.insertSubscription({
      id,
      keyId: `key${n}`,
      url: `${url}/hook`,
      types: null,
      deviceHash: null,
      merchant: null,
      secret: createSecret(random),
      previousSecret: null,
      createdAt: new Date().toISOString(),
      startPosition: endOfLedger(0, 0),
    }, 100);
  }
  const ledgers = count / subscriptions;
  const state = { epoch: 0, contractIds: "", oldestLedger: 1, latestLedgerCloseTime: 0, latestLedger: ledgers };
  for (let ledger = 1; ledger <= ledgers; ledger += 100) {
    const events = Array.from({ length: Math.min(100, ledgers - ledger + 1) }, (_, n) => eventAt(ledger + n));
    await store.commitEvents({ events, state: { ...state, scannedLedger: ledger + events.length - 1 } });
  }
  // What is measured is the delivering: all of it is owed before.
  const fanOut = createFanOut({
    store,
    subscriptions: createSubscriptionSet(store),
    endOfLedger,
    now: Date.now,
    onDeliveries: () => {},
  });
  while (await fanOut.step(new AbortController().signal));
  if ((await store.backlog()).pending !== count) throw new Error("void: not all of it is owed");
  await measured(async () => {
    webhooks.start();
    while ((await store.backlog()).pending > 0) await sleep(20);
  });
  await webhooks.stop();
  await store.close();
}

const [mode, url, count, subscriptions, location] = process.argv.slice(2);
if (mode === "bare") await bare(url!, Number(count));
else await gateway(url!, Number(count), Number(subscriptions), location!);
process.exit(0);
