// Makes POSTs to a local receiver as fast as it can, durable and signed as the gateway makes them, or bare:
//   webhook_sender.ts gateway URL COUNT SUBSCRIPTIONS STORE | bare URL COUNT
// prints how long it took and how much CPU it used.
import { Agent, request } from "node:http";
import process from "node:process";
import { sleep } from "../../lib/clock.ts";
import { publicEvent } from "../../lib/store/event.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { createIngest, eventAt, localWebhooks, subscribe } from "./webhook_load.ts";

const IN_FLIGHT = 64;
const BODY = JSON.stringify({ subscription: "wh_0000000000000000000000", event: publicEvent(eventAt(1)) });

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
  return (await store.deliveries.consumers({ limit: 500 })).every(({ progress }) => progress.cursor === last);
}

async function gateway(url: string, count: number, subscriptions: number, location: string): Promise<void> {
  const store = await openStore(location);
  await store.holdForServing();
  await subscribe(store, url, subscriptions);
  await createIngest(store).appendUpTo(count / subscriptions);
  const webhooks = localWebhooks(store);
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
