// needs: runtime
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, test } from "node:test";
import { openKv } from "../../lib/runtime/kv.ts";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { isLong } from "../tier.ts";
import { callContract } from "./contract_calls.ts";
import { fileContract } from "./contract_file.ts";
import { intentContract } from "./contract_intents.ts";
import { leaseContract } from "./contract_leases.ts";
import { append, appendMany, sampleEvent, sampleState, sampleUndecoded, storeError, watcherLease } from "./samples.ts";
import { describeStore } from "./store_contract.ts";
import {
  dueOf,
  endedOf,
  failedAttempt,
  progressOf,
  sampleFailed,
  sampleSubscription,
  settle,
  START_MS,
  subscribe,
  workerLeases,
} from "./webhook_samples.ts";
import { folderForTests } from "../folder.ts";

function describeDenoKv(): void {
  const directory = folderForTests();
  const opened: Store[] = [];

  /** The store in this file of the test's folder. */
  async function open(name: string): Promise<Store> {
    const store = await openStore(`deno-kv:${join(directory, name)}`);
    opened.push(store);
    return store;
  }

  /** How many entries there are under a prefix. */
  async function entries(name: string, prefix: string): Promise<number> {
    const kv = await openKv(join(directory, name));
    let found = 0;
    for await (const _ of kv.list({ prefix: [prefix] })) found++;
    kv.close();
    return found;
  }

  describe("the Deno KV store", () => {
    afterEach(async () => {
      for (const store of opened.splice(0)) await store.close();
    });
    test("rejects a database of a newer version", async () => {
      const kv = await openKv(join(directory, "newer.kv"));
      await kv.set(["schema"], 99);
      kv.close();
      await assert.rejects(open("newer.kv"), storeError("newer_schema", "newer.kv", "99", "newer version"));
    });

    test("rejects another program's database", async () => {
      const kv = await openKv(join(directory, "foreign.kv"));
      await kv.set(["theirs"], 1);
      kv.close();
      await assert.rejects(open("foreign.kv"), storeError("unavailable", "foreign.kv", "another program"));
    });

    test("rejects a file of the sqlite store, and leaves it unchanged", async () => {
      const path = join(directory, "gateway.db");
      await (await openStore(`sqlite:${path}`)).close();
      const before = readFileSync(path);
      await assert.rejects(open("gateway.db"), storeError("unavailable", path, "not one of Deno KV"));
      assert.deepEqual(readFileSync(path), before);
    });

    test("makes files that the sqlite store rejects", async () => {
      await (await open("gateway.kv")).close();
      const path = join(directory, "gateway.kv");
      await assert.rejects(openStore(`sqlite:${path}`), storeError("unavailable", path, "another program"));
    });

    test("writes nothing of a step with a value that Deno KV rejects", async () => {
      const store = await open("too-large.kv");
      const events = [sampleEvent(1), sampleEvent(2, { amount: "9".repeat(70_000) })];
      await assert.rejects(append(store, ...events), storeError("unavailable", "too large"));
      assert.deepEqual(await store.events.bounds(), { last: 0, forgotten: 0 });
      assert.equal(await store.events.watcherState(), undefined);
    });

    test("writes the largest settlement, with new, changed and ended deliveries, in one commit", async () => {
      const store = await open("settle.kv");
      const id = `wh_${"x".repeat(40)}`;
      await appendMany(store, 1, 400);
      await subscribe(store, id);
      const body = "\u{10FFFF}".repeat(256);
      const attempts = Array.from({ length: 99 }, (_, n) => ({ ...failedAttempt(n, "retry"), responseBody: body }));
      const failed = (from: number, state: "retrying" | "dead") =>
        Array.from({ length: 100 }, (_, n) => sampleFailed(from + n, state));
      await settle(store, { subscriptionId: id, failed: failed(1, "retrying"), attempts });
      await settle(store, { subscriptionId: id, failed: failed(1, "dead"), attempts });
      await settle(store, {
        subscriptionId: id,
        failed: failed(1, "retrying").map((one) => ({ ...one, dueAtMs: START_MS + one.sequence })),
        attempts,
      });
      const progress = await progressOf(store, id);
      assert.deepEqual([progress.retrying, progress.dead, progress.nextDueAtMs], [100, 0, START_MS + 1]);
      const due = await dueOf(store, id);
      assert.deepEqual(due.map(({ delivery }) => delivery.sequence), Array.from({ length: 100 }, (_, n) => n + 1));
      await settle(store, { subscriptionId: id, delivered: due.map(({ delivery }) => delivery.sequence), attempts });
      for (const prefix of ["failed", "failed_of", "due"]) assert.equal(await entries("settle.kv", prefix), 0, prefix);
    });

    test("ends a lease that was acquired by a clock a year ahead", async () => {
      let nowMs = START_MS + 365 * 86_400_000;
      const location = `deno-kv:${join(directory, "ahead.kv")}`;
      const store = await openStore(location, { now: () => nowMs });
      opened.push(store);
      const acquire = (holder: string) => store.leases.acquire({ name: "watcher", holder, durationMs: 30_000 });
      assert.equal((await acquire("one"))?.term, 1);
      nowMs -= 1_000;
      assert.equal(await acquire("another"), undefined, "clocks differ a little");
      nowMs = START_MS;
      assert.equal((await acquire("another"))?.term, 2);
    });

    test("settles hundreds of subscriptions in one call", async () => {
      const store = await open("many.kv");
      await appendMany(store, 1, 200);
      const ids = Array.from({ length: 500 }, (_, n) => `wh_${String(n).padStart(4, "0")}`);
      await Promise.all(ids.map((id) => store.subscriptions.insert(sampleSubscription(id, { keyId: id }), 1)));
      const settlements = ids.map((subscriptionId, n) => ({
        subscriptionId,
        cursor: 201,
        failed: n < 50 ? [sampleFailed(n + 1, "dead")] : [],
        attempts: n < 30 ? [failedAttempt(n, "dead")] : [],
      }));
      await settle(store, ...settlements);
      await settle(store, ...settlements.map((one) => ({ ...one, cursor: 202 })));
      const consumers = await store.deliveries.consumers({ after: "wh_0048", limit: 500 });
      assert.deepEqual(consumers.map(({ progress }) => progress.cursor), Array.from({ length: 451 }, () => 202));
      assert.equal(consumers[0]!.progress.dead, 1);
    });

    test("forgets more failed deliveries than fit in one commit", async () => {
      const store = await open("forget.kv");
      await appendMany(store, 1, 200);
      await subscribe(store, "wh_1", "wh_2", "wh_3");
      const failed = Array.from({ length: 200 }, (_, n) => sampleFailed(n + 1, n % 2 === 0 ? "retrying" : "rejected"));
      for (const subscriptionId of ["wh_1", "wh_2"]) await settle(store, { subscriptionId, failed });
      const undelivered = [{ subscriptionId: "wh_3", cursor: 200, events: 7 }];
      assert.equal(await store.events.forget({ upTo: 150, undelivered }), true);
      const { retrying, rejected, dead } = await progressOf(store, "wh_1");
      assert.deepEqual({ retrying, rejected, dead }, { retrying: 25, rejected: 100, dead: 75 });
      assert.equal((await progressOf(store, "wh_3")).dead, 7);
      assert.equal((await endedOf(store, { subscriptionId: "wh_2", limit: 200 })).length, 25);
      assert.equal(await entries("forget.kv", "failed"), 100);
      assert.equal(await store.events.forget({ upTo: 200, undelivered: [] }), true);
      for (const prefix of ["failed", "failed_of", "due", "event", "by", "by_type", "id", "late"]) {
        assert.equal(await entries("forget.kv", prefix), 0, prefix);
      }
      assert.equal((await progressOf(store, "wh_1")).nextDueAtMs, null);
    });

    test("hides events that a killed forget left, and deletes them at the next forget", async () => {
      const store = await open("left.kv");
      await appendMany(store, 1, 9);
      const kv = await openKv(join(directory, "left.kv"));
      await kv.set(["forgotten"], 5);
      kv.close();
      const read = async (filter = {}) =>
        (await store.events.read({ filter, order: "desc", limit: 9 })).map(({ sequence }) => sequence);
      assert.deepEqual(await read(), [9, 8, 7, 6]);
      assert.deepEqual(await read({ types: ["escrow.funded"] }), [9, 8, 7, 6]);
      assert.equal(await store.events.get(sampleEvent(5).id), undefined);
      await store.events.forget({ upTo: 6, undelivered: [] });
      assert.equal(await entries("left.kv", "event"), 3);
    });

    test("keeps nothing of an undecoded event after its decoding or deletion", async () => {
      const store = await open("undecoded.kv");
      const raw = { topics: ["A".repeat(100_000)], value: "B" };
      await append(store, ...[1, 2, 3].map((n) => sampleUndecoded(n, { raw })));
      assert.ok(await entries("undecoded.kv", "undecoded_raw") > 9);
      await append(store, sampleEvent(2));
      assert.deepEqual((await store.events.undecoded({ limit: 9 })).map((event) => event.raw), [raw, raw]);
      assert.equal(await store.events.forgetUndecoded("2026-12-01T00:00:00Z"), 2);
      for (const prefix of ["undecoded", "undecoded_raw"]) {
        assert.equal(await entries("undecoded.kv", prefix), 0, prefix);
      }
    });

    test("stores a watcher state with more gaps than fit in one value, and a smaller one after it", async () => {
      const store = await open("state.kv");
      const lease = await watcherLease(store);
      const missing = { epoch: 0, fromLedger: 1, toLedger: 2, contractIds: ["C".repeat(56)] };
      const gap = { ...missing, detectedAt: "2026-11-01T00:00:00Z", reason: "pruned" as const };
      for (const gaps of [Array.from({ length: 1_000 }, () => gap), [gap]]) {
        await store.events.append({ lease, events: [], state: sampleState(9, { gaps }) });
        assert.deepEqual(await store.events.watcherState(), sampleState(9, { gaps }));
      }
    });

    test("counts all simultaneous settlements and attempts of two handles", async () => {
      const store = await open("at-once.kv");
      const other = await open("at-once.kv");
      await appendMany(store, 1, 40);
      await subscribe(store, "wh_1");
      const leases = await workerLeases(store, "wh_1");
      await Promise.all(Array.from({ length: 40 }, async (_, n) => {
        const one = n % 2 === 0 ? store : other;
        if (n % 4 === 3) return await one.deliveries.recordAttempt("wh_1", failedAttempt(n, "retry"));
        const failed = [sampleFailed(n + 1, "retrying")];
        const settlement = { subscriptionId: "wh_1", failed, attempts: [failedAttempt(n, "retry")] };
        return await one.deliveries.settle({ leases, settlements: [settlement] });
      }));
      assert.equal((await progressOf(store, "wh_1")).retrying, 30);
      const attempts = await store.deliveries.attempts("wh_1", { limit: 200 });
      assert.deepEqual(attempts.map(({ ordinal }) => ordinal), Array.from({ length: 40 }, (_, n) => 40 - n));
    });
  });

  describeStore("deno-kv", true, (name) => `deno-kv:${name}/gateway.kv`);
  // A shared store differs only in its lock and its leases.
  const ofSharing = isLong ? undefined : [callContract, intentContract, leaseContract, fileContract];
  describeStore("deno-kv that gateways share", true, (name) => `deno-kv:${name}/gateway.kv`, {
    isShared: true,
    parts: ofSharing,
  });
}

if (runtimeName === "deno") describeDenoKv();
