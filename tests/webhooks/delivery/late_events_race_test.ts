import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setImmediate as othersTurn } from "node:timers/promises";
import { endOfLedger } from "../../../lib/events/position.ts";
import { runtimeName } from "../../../lib/runtime/runtime.ts";
import { openStore } from "../../../lib/store/open.ts";
import type { Store } from "../../../lib/store/store.ts";
import { createFanOut } from "../../../lib/webhooks/delivery/fan_out.ts";
import { createSubscriptionSet } from "../../../lib/webhooks/delivery/subscription_set.ts";
import { createFixture } from "../../events/parts.ts";
import { CONTRACT, createSimulatedNode, decodeSimulated } from "../../events/simulated_node.ts";
import { seededRandom } from "../../faults/seeded_random.ts";
import { insert, START_MS, subscriptionOf } from "../parts.ts";

const OTHER_CONTRACT = "CB4DPMGOA374JIB2ZVD4AHW5GJKQUYNOFGRYNOJ75EFH2KCJSMHOWIRA";
const SEEDS = 40;
const directory = mkdtempSync(join(tmpdir(), "late-events-"));
const signal = new AbortController().signal;
after(() => rmSync(directory, { recursive: true }));

/** The same store, each of whose calls lets others go first a few times. */
function hesitant(store: Store, random: () => number): Store {
  return new Proxy(store, {
    get(target, name) {
      const method = Reflect.get(target, name);
      if (typeof method !== "function") return method;
      return async (...args: unknown[]) => {
        for (let turns = Math.floor(random() * 4); turns > 0; turns--) await othersTurn();
        return await method.apply(store, args);
      };
    },
  });
}

/** Takes what is owed to anybody, as a courier does; answers what it was. */
async function takeAll(store: Store): Promise<string[]> {
  const heard: string[] = [];
  for (const lease of await store.leaseSubscriptions({ nowMs: START_MS, leaseMs: 1_000, limit: 10 })) {
    const { subscriptionId } = lease;
    const due = await store.dueDeliveries({ subscriptionId, nowMs: START_MS, limit: 200 });
    await store.settle(
      due.slice(0, 100).map(({ delivery: { id }, event }) => {
        heard.push(`${subscriptionId} ${event.id}`);
        const outcome = { outcome: "delivered" as const, statusCode: 200, error: null, responseBody: null };
        const times = { number: 1, atMs: START_MS, durationMs: 1, nextAttemptAtMs: null };
        const attempt = { id, subscriptionId, deliveryId: id, eventId: event.id, eventType: "t", ...outcome, ...times };
        return { lease, deliveryId: id, attempt };
      }),
    );
    await store.releaseLease(lease);
  }
  return heard;
}

async function run(setting: string, seed: number): Promise<void> {
  const random = seededRandom(seed).next;
  const bare = await openStore(setting);
  const store = hesitant(bare, random);
  const newFanOut = () =>
    createFanOut({
      store,
      subscriptions: createSubscriptionSet(store),
      endOfLedger,
      now: () => START_MS,
      onDeliveries: () => {},
    });
  const filters = [{}, { types: ["escrow.swept"] }, { types: ["escrow.funded"] }];
  for (const [n, filter] of filters.entries()) {
    await insert(bare, subscriptionOf(`wh_${n}`, { startPosition: endOfLedger(0, 1_002), ...filter }));
  }
  const node = createSimulatedNode();
  const fanOuts = [newFanOut(), newFanOut()];
  const heard: string[] = [];
  let [watchesBoth, isUpgraded, isOver] = [false, false, false];

  async function watch(): Promise<void> {
    for (let round = 0; round < 8; round++) {
      for (let ledger = Math.floor(random() * 6); ledger >= 0; ledger--) {
        node.close(...Array.from({ length: Math.floor(random() * 3) }, () => ({
          contractId: random() < 0.5 ? CONTRACT : OTHER_CONTRACT,
          type: random() < 0.3 ? "escrow.swept" : "escrow.funded",
          deviceHash: random() < 0.3 ? "new" : "known",
        })));
      }
      watchesBoth ||= round === 7 || random() < 0.3;
      isUpgraded ||= round === 7 || random() < 0.3;
      const knowsAll = isUpgraded;
      // A watcher of its own each time, as after a restart.
      const { watcher, problems } = await createFixture(node, {
        store,
        contractIds: watchesBoth ? [CONTRACT, OTHER_CONTRACT] : [CONTRACT],
        decode: (event) => {
          const decoded = decodeSimulated(event);
          return decoded?.deviceHash === "new" && !knowsAll ? undefined : decoded;
        },
        sliceEvents: 1 + Math.floor(random() * 4),
        pageEvents: 1 + Math.floor(random() * 20),
      });
      while ((await watcher.turn()).outcome === "behind");
      assert.ok(!problems.some(({ kind }) => kind === "store_failed" || kind === "internal"));
    }
  }
  async function fanOutAndDeliver(n: number): Promise<void> {
    for (let isLast = false; !isLast;) {
      isLast = isOver;
      if (random() < 0.1) fanOuts[n] = newFanOut();
      while (await fanOuts[n]!.step(signal));
      if (random() < 0.2) await fanOuts[n]!.save();
      heard.push(...await takeAll(store));
      await othersTurn();
    }
  }
  await Promise.all([watch().finally(() => isOver = true), fanOutAndDeliver(0), fanOutAndDeliver(1)]);
  heard.push(...await takeAll(bare));

  const events = (await bare.readEvents({ limit: 1_000 })).filter(({ ledger }) => ledger > 1_002);
  const expected = filters.flatMap(({ types }, n) =>
    events.filter(({ type }) => types?.includes(type!) ?? true).map(({ id }) => `wh_${n} ${id}`)
  );
  assert.deepEqual(heard.toSorted(), expected.toSorted(), `seed ${seed}`);
  assert.deepEqual(await bare.lateEvents(100), []);
  await bare.close();
}

for (const kind of runtimeName === "deno" ? ["memory", "deno-kv"] : ["memory"]) {
  test(`on ${kind}, whatever becomes known when, two fan-outs owe each event once to each who hears it`, async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      await run(kind === "memory" ? "memory:" : `deno-kv:${join(directory, `${seed}.kv`)}`, seed);
    }
  });
}
