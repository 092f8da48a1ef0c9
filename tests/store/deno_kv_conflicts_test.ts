// needs: runtime
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Lease, Store } from "../../lib/store/store.ts";
import { appendMany, sampleEvent, sampleState, watcherLease } from "./samples.ts";
import {
  dueOf,
  endedOf,
  failedAttempt,
  progressOf,
  sampleFailed,
  START_MS,
  subscribe,
  workerLeases,
} from "./webhook_samples.ts";
import { folderForTests } from "../folder.ts";

const IDS = ["wh_1", "wh_2", "wh_3", "wh_4"];
const STATES = ["retrying", "rejected", "dead"] as const;
const HANDLES = 3;
const STEPS = 80;

const upTo = (most: number) => Math.floor(Math.random() * (most + 1));
const pick = <T>(items: readonly T[]): T => items[upTo(items.length - 1)]!;

interface Count {
  appended: number;
  attempts: number;
}

/** Changes the store, and records the expected contents. */
async function step(store: Store, watcher: Lease, leases: Lease[], count: Count): Promise<void> {
  const id = pick(IDS);
  const { last, forgotten } = await store.events.bounds();
  const failed = () => {
    const state = pick(STATES);
    return sampleFailed(1 + upTo(last - 1), state, state === "retrying" ? { dueAtMs: START_MS + upTo(99) } : {});
  };
  switch (upTo(9)) {
    case 0:
    case 1:
    case 2: {
      const events = Array.from({ length: 1 + upTo(4) }, () => sampleEvent(upTo(5_000)));
      const added = await store.events.append({ lease: watcher, events, state: sampleState(1) });
      count.appended += added.length;
      return;
    }
    case 3: {
      const consumer = (await store.deliveries.consumer(id))!;
      const undelivered = [{ subscriptionId: id, cursor: consumer.progress.cursor, events: 1 }];
      // Refused when the consumer has moved since: nothing is lost by that.
      await store.events.forget({ upTo: Math.min(last, forgotten + upTo(4)), undelivered });
      return;
    }
    case 4:
      await store.deliveries.recordAttempt(id, failedAttempt(1, "retry"));
      count.attempts += 1;
      return;
    default: {
      const settlements = IDS.filter(() => upTo(1) === 1).map((subscriptionId) => ({
        subscriptionId,
        cursor: upTo(last),
        failed: last === 0 ? [] : [failed()],
        attempts: [failedAttempt(1, "retry")],
      }));
      await store.deliveries.settle({ leases, settlements });
      count.attempts += settlements.length;
    }
  }
}

/** The counts of a subscription match its rows. */
async function checkReader(store: Store, id: string): Promise<number> {
  const progress = await progressOf(store, id);
  const retrying = await store.deliveries.failed({ state: "retrying", subscriptionId: id, limit: 200 });
  const due = await dueOf(store, id);
  assert.equal(retrying.length, progress.retrying, `${id} retrying`);
  assert.equal(due.length, progress.retrying, `${id} due`);
  assert.equal(due[0]?.delivery.dueAtMs ?? null, progress.nextDueAtMs, `${id} first due`);
  for (const { delivery } of await endedOf(store, { subscriptionId: id, limit: 200 })) {
    assert.notEqual(delivery.state, "retrying");
  }
  const attempts = await store.deliveries.attempts(id, { limit: 200 });
  const newest = attempts[0]?.ordinal ?? 0;
  assert.deepEqual(attempts.map(({ ordinal }) => ordinal), attempts.map((_, n) => newest - n));
  return newest;
}

function describeConflicts(): void {
  const directory = folderForTests();

  describe("several handles on Deno KV at once", () => {
    test("lose no write when they append, settle, record and delete", async () => {
      const setting = `deno-kv:${join(directory, "gateway.kv")}`;
      const stores: Store[] = [];
      for (let n = 0; n < HANDLES; n++) stores.push(await openStore(setting, { now: () => START_MS }));
      const store = stores[0]!;
      await subscribe(store, ...IDS);
      const [watcher, leases] = [await watcherLease(store), await workerLeases(store, ...IDS)];
      const count: Count = { appended: 0, attempts: 0 };
      const work = async (one: Store) => {
        for (let n = 0; n < STEPS; n++) await step(one, watcher, leases, count);
      };
      await Promise.all([...stores, ...stores].map(work));

      const { last, forgotten } = await store.events.bounds();
      assert.equal(last, count.appended);
      const events = await store.events.read({ filter: {}, order: "asc", limit: 1_000 });
      assert.deepEqual(events.map(({ sequence }) => sequence), events.map((_, n) => forgotten + n + 1));
      assert.equal(events.length, Math.min(1_000, last - forgotten));
      let attempts = 0;
      for (const id of IDS) attempts += await checkReader(store, id);
      assert.equal(attempts, count.attempts);
      for (const one of stores) await one.close();
    });

    test("delete no failed delivery when a consumer moves, also over several commits", async () => {
      const setting = `deno-kv:${join(directory, "several.kv")}`;
      const [store, other] = [await openStore(setting), await openStore(setting)];
      const failing = Array.from({ length: 10 }, (_, n) => `wh_failing_${n}`);
      await subscribe(store, "wh_1", ...failing);
      const leases = await workerLeases(store, "wh_1", ...failing);
      await appendMany(store, 1, 180);
      for (const subscriptionId of failing) {
        const failed = Array.from({ length: 180 }, (_, n) => sampleFailed(n + 1, "retrying"));
        await store.deliveries.settle({ leases, settlements: [{ subscriptionId, cursor: 180, failed, attempts: [] }] });
      }
      const kept = async () => {
        const consumers = await other.deliveries.consumers({ limit: 20 });
        return consumers.reduce((sum, { progress }) => sum + progress.retrying, 0);
      };
      const all = await kept();
      const undelivered = [{ subscriptionId: "wh_1", cursor: 0, events: 180 }];
      const [isDone] = await Promise.all([
        store.events.forget({ upTo: 180, undelivered }),
        (async () => {
          while (await kept() === all);
          await other.deliveries.settle({ leases, settlements: [{ subscriptionId: "wh_1", cursor: 5, attempts: [] }] });
        })(),
      ]);
      assert.deepEqual([await kept(), (await store.events.bounds()).forgotten], isDone ? [0, 180] : [all, 0]);
      await store.close();
      await other.close();
    });
  });
}

if (runtimeName === "deno") describeConflicts();
