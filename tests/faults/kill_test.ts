// needs: runtime
import assert from "node:assert/strict";
import process from "node:process";
import { describe, test } from "node:test";
import { WORKER_LIMITS } from "../../lib/webhooks/delivery/post_queue.ts";
import { isLong, longOnly } from "../tier.ts";
import { type KillRun, type Moment, runKills } from "./kill_run.ts";
import { hears, type Listener, missing } from "./listener.ts";
import { assertNone, assertReceipts } from "./receipts.ts";

/*
 * A gateway in its own process, on a store file, is killed at random moments, again and again, while cards pay on a
 * network that keeps running, and endpoints answer 200, 500, 429, nothing, or hang. The short form kills it once at each of the
 * most critical moments. FAULT_KILLS: how often it is killed (in both tests together), FAULT_SEED: repeats the choices of an
 * earlier run.
 */
const MOMENTS: Moment[] = ["leases.acquire", "events.append", "deliveries.settle", "posting", "starting"];
const isShort = !isLong && process.env.FAULT_KILLS === undefined;
const KILLS = isShort ? MOMENTS.length + 2 : Number(process.env.FAULT_KILLS ?? 24);
const SEED = Number(process.env.FAULT_SEED ?? Date.now() % 1_000_000_000);
const TIMEOUT_MS = 600_000 + KILLS * 20_000;
const OWN_DRIVER = "deno" in process.versions ? "deno-kv" : "sqlite";

/** For each first receipt, how many earlier events of the subscription had not arrived by then; the most of them. */
function mostOvertaken(listener: Listener, { happenings, receipts }: KillRun): number {
  const order = new Map(happenings.filter((one) => hears(listener, one)).map(({ txHash }, index) => [txHash, index]));
  const arrived = new Set<number>();
  let most = 0;
  for (const { event } of receipts.filter((one) => one.listener === listener.name)) {
    const index = order.get(event.txHash)!;
    if (arrived.has(index)) continue;
    let earlier = 0;
    for (const other of arrived) if (other < index) earlier++;
    most = Math.max(most, index - earlier);
    arrived.add(index);
  }
  return most;
}

function assertKept(run: KillRun, mostOvertakenAllowed: number): void {
  const { happenings, listeners, receipts, backlog, deliveredAt } = run;
  // Each process has a clock ahead of the network's, and reports it.
  const said = run.log.split("\n").filter((line) => !line.includes('"kind":"clock_disagrees"'));
  assert.deepEqual(said, [""]);
  assert.ok(happenings.length > KILLS, "cards were busy");
  for (const listener of listeners) {
    assertNone(missing(listener, happenings, receipts), `were not received by ${listener.name}`);
    const overtaken = mostOvertaken(listener, run);
    // Retries and new events each have their own order.
    const isInOrder = listener.isLate || overtaken <= mostOvertakenAllowed;
    assert.ok(isInOrder, `${listener.name}: first attempts overtake ${overtaken} others`);
  }
  assertReceipts(run);
  assert.deepEqual(backlog, { pending: 0, dead: 0 });
  assertNone(receipts.slice(deliveredAt), "came again after they were delivered");
}

describe(`a gateway that is killed ${KILLS} times`, () => {
  const runs = [
    { what: "with many posts at once", driver: OWN_DRIVER, postsPerEndpoint: WORKER_LIMITS.postsPerEndpoint },
    { what: "with one post at a time", driver: "sqlite", postsPerEndpoint: 1, skip: isShort && longOnly },
  ];
  for (const [index, { what, driver, postsPerEndpoint, skip }] of runs.entries()) {
    test(`delivers every event in order, ${what} (${driver})`, { timeout: TIMEOUT_MS, skip }, async () => {
      const seed = SEED + index;
      console.log(`FAULT_SEED=${SEED}: ${driver}, ${postsPerEndpoint} at a time`);
      const startedMs = Date.now();
      const moments = isShort ? MOMENTS : undefined;
      const run = await runKills({ seed, kills: Math.ceil(KILLS / runs.length), moments, driver, postsPerEndpoint });
      const { happenings, receipts, listeners } = run;
      const most = Math.max(...listeners.filter((one) => !one.isLate).map((listener) => mostOvertaken(listener, run)));
      const seconds = Math.round((Date.now() - startedMs) / 1000);
      console.log(`${happenings.length} events, ${receipts.length} posts, ${most} overtaken, ${seconds} s`);
      // Parallel posts may overtake one another, more so when one of them has to connect first.
      assertKept(run, 2 * (postsPerEndpoint - 1));
    });
  }
});
