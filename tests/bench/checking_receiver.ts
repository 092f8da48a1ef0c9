/*
 * Endpoints that keep account of what came: `/hook/N` is the subscription N's. They answer every POST with 200, and have one in
 * a hundred verified. GET says how many came. POST to `/check`, with the cursor of each subscription as a list, says
 * what is wrong: each event up to the cursor came once, and none beyond. POST to `/reset` begins anew.
 */
import process from "node:process";
import { verifyWebhook } from "../../lib/client/verify_webhook.ts";
import { ledgerOf, secretOf } from "./webhook_load.ts";

const VERIFY_EVERY = 100;

let came = 0;
let verified = 0;
let wrong: string[] = [];
/** How often each event came, by its ledger, of each subscription. */
let times = new Map<number, Uint8Array>();

function count(subscription: number, ledger: number): void {
  let own = times.get(subscription);
  if (own === undefined || ledger >= own.length) {
    const larger = new Uint8Array(2 * Math.max(ledger, 1_024));
    larger.set(own ?? []);
    times.set(subscription, own = larger);
  }
  own[ledger]!++;
  came++;
}

async function verify(request: Request, subscription: number): Promise<void> {
  const body = await request.text();
  const { headers } = request;
  const verification = await verifyWebhook({ body, headers, secret: secretOf(subscription) });
  const { id } = JSON.parse(body).event;
  if (!verification.ok) wrong.push(verification.message);
  else if (id !== headers.get("webhook-id") || id !== verification.id) wrong.push(`the body of ${id} is another's`);
  else verified++;
}

function check(cursors: number[]): string[] {
  const found = [...wrong];
  cursors.forEach((cursor, subscription) => {
    const own = times.get(subscription) ?? [];
    for (let ledger = 1; ledger < Math.max(own.length, cursor + 1); ledger++) {
      const expected = ledger <= cursor ? 1 : 0;
      const came = own[ledger] ?? 0;
      if (came !== expected) found.push(`${ledger} came ${came} times to ${subscription}, whose cursor is ${cursor}`);
    }
  });
  if (verified === 0) found.push("none was verified");
  return found.slice(0, 10);
}

function reset(): void {
  came = verified = 0;
  wrong = [];
  times = new Map();
}

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    const [, place, n] = new URL(request.url).pathname.split("/");
    if (place === "hook") {
      count(Number(n), ledgerOf(request.headers.get("webhook-id")!));
      if (came % VERIFY_EVERY === 0) await verify(request, Number(n));
      return new Response("ok");
    }
    if (place === "check") return Response.json({ wrong: check(await request.json() as number[]) });
    if (place === "reset") reset();
    return Response.json({ came });
  },
});
process.stdout.write(`http://127.0.0.1:${server.port}\n`);
