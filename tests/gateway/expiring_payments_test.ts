import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { createExpiringPayments, type Expiring } from "../../lib/escrow/reads/expiring_payments.ts";
import type { PendingAnswer } from "../../lib/escrow/reads/reads.ts";
import { paymentLogOf } from "../../lib/gateway/event_log.ts";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { formatEventId, type NewEvent } from "../../lib/store/event.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { type Cluster, findPostgres, startCluster } from "../store/postgres_cluster.ts";
import { CONTRACT, sampleEvent, sampleState, watcherLease } from "../store/samples.ts";

const LIFE = 17_280;
const LATEST = 100_000;
/** The newest ledger whose payments are in the last quarter of their life. */
const OF_AGE = LATEST - LIFE * 3 / 4;
const NOW = 1_800_000_000;
/** How long a ledger takes. */
const PACE = 5;

type Kind = "authorized" | "claimed";
type Payment = [kind: Kind, merchant: string, ledger: number];

/** A store's log, and a chain on which every payment is pending that the test says is. */
class Deployment {
  readonly store: Store;
  readonly chain = new Map<string, { ledger: number; life?: number }[]>();
  readonly asked: string[] = [];
  latest = LATEST;
  #events = 0;

  constructor(store: Store) {
    this.store = store;
  }

  /** Appends events in this order, whatever their ledgers. */
  async log(payments: Payment[], epoch = 0): Promise<void> {
    const lease = await watcherLease(this.store);
    for (let from = 0; from < payments.length; from += 100) {
      const events = payments.slice(from, from + 100).map(([kind, merchant, ledger]): NewEvent => {
        const id = formatEventId({ epoch, ledger, order: 4_097, index: this.#events++ });
        return sampleEvent(0, { id, ledger, type: `payment.${kind}`, merchant, amount: "1" });
      });
      await this.store.events.append({ lease, events, state: sampleState(this.latest, { epoch }) });
    }
  }

  /** A payment in the log and on the chain. */
  async pay(merchant: string, ledger: number, life = LIFE): Promise<void> {
    this.chain.set(merchant, [...this.chain.get(merchant) ?? [], { ledger, life }]);
    await this.log([["authorized", merchant, ledger]]);
  }

  seconds(ledger: number): number {
    return NOW + (ledger - LATEST) * PACE;
  }

  pending = (merchant: string): Promise<PendingAnswer> => {
    this.asked.push(merchant);
    const payments = (this.chain.get(merchant) ?? []).map(({ ledger, life = LIFE }) => ({
      deviceHash: "ab".repeat(32),
      amount: "1",
      authorizedAt: this.seconds(ledger),
      expiresAt: this.seconds(ledger + life),
    }));
    return Promise.resolve({ pending: "1", payments });
  };

  watch(pending = this.pending, wait = untilAborted) {
    return createExpiringPayments({
      log: paymentLogOf(this.store, CONTRACT),
      reads: { pending },
      shortestLife: () => Promise.resolve(LIFE),
      latestLedger: () => this.latest,
      nowMs: () => this.seconds(this.latest) * 1_000,
      wait,
    });
  }
}

/** As long as it takes. */
function untilAborted(_ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));
}

/** As many payments of fifty merchants as a busy deployment has, each claimed soon, up to the newest ledger. */
function traffic(events: number, from = LATEST - LIFE * 2): Payment[] {
  return Array.from({ length: events }, (_, n): Payment => [
    n % 2 === 1 ? "claimed" : "authorized",
    `M${(n >> 1) % 50}`,
    from + Math.floor(n * (LATEST - from) / events),
  ]);
}

const none: Expiring = { payments: 0, merchants: 0, firstAt: null, complete: true };

function describeExpiring(name: string, open: () => Promise<Store>): void {
  const opened: Store[] = [];
  const deployment = async () => {
    const store = await open();
    opened.push(store);
    return new Deployment(store);
  };

  describe(`payments that are about to expire, of the log in ${name}`, () => {
    afterEach(async () => {
      for (const store of opened.splice(0)) await store.close();
    });

    test("are found however much was paid since, and only their merchants are asked for", async () => {
      const busy = await deployment();
      await busy.log(traffic(600, OF_AGE - 4_000).map(([kind, merchant]) => [kind, merchant, OF_AGE - 4_250]));
      await busy.pay("OLD", LATEST - LIFE + 100);
      await busy.log(traffic(6_000, OF_AGE - 4_000));
      assert.deepEqual(await busy.watch().now(), {
        payments: 1,
        merchants: 1,
        firstAt: NOW + 100 * PACE,
        complete: true,
      });
      assert.deepEqual(busy.asked, ["OLD"]);
    });

    test("are those that no claim has collected since", async () => {
      const one = await deployment();
      await one.log([["authorized", "M", OF_AGE - 10], ["claimed", "M", OF_AGE - 9]]);
      const expiring = one.watch();
      assert.deepEqual(await expiring.now(), none);
      assert.deepEqual(one.asked, []);
      await one.pay("M", OF_AGE + 5);
      one.latest += 20;
      assert.deepEqual(await expiring.now(), {
        ...none,
        payments: 1,
        merchants: 1,
        firstAt: one.seconds(OF_AGE + 5 + LIFE),
      });
      one.chain.delete("M");
      one.latest += 20;
      assert.deepEqual(await expiring.now(), none);
    });

    test("are found when they became known late", async () => {
      const one = await deployment();
      await one.log([["authorized", "M", OF_AGE], ["claimed", "M", OF_AGE + 1]]);
      await one.pay("NEW", LATEST);
      await one.pay("LATE", OF_AGE - 1);
      const { payments, firstAt } = await one.watch().now();
      assert.deepEqual([payments, firstAt], [1, one.seconds(OF_AGE - 1 + LIFE)]);
      assert.deepEqual(one.asked, ["LATE"]);
    });

    test("are not those of a network that was reset", async () => {
      const one = await deployment();
      await one.log([["authorized", "GONE", OF_AGE]]);
      await one.log([["authorized", "M", OF_AGE - 1], ["claimed", "M", OF_AGE]], 1);
      assert.deepEqual(await one.watch().now(), none);
      assert.deepEqual(one.asked, []);
    });
  });
}

const directory = mkdtempSync(join(tmpdir(), "expiring-"));
after(() => rmSync(directory, { recursive: true }));
let stores = 0;

describeExpiring("sqlite", () => openStore("memory:"));
if (runtimeName === "deno") {
  describeExpiring("Deno KV", () => openStore(`deno-kv:${join(directory, `${++stores}.kv`)}`));
}

const programs = findPostgres();
if (programs === undefined) {
  describe("payments that are about to expire, of the log in PostgreSQL", () =>
    void test("needs its programs", { skip: true }));
} else {
  let cluster: Cluster;
  before(async () => void (cluster = await startCluster(programs)));
  after(() => cluster.remove());
  describeExpiring("PostgreSQL", () => openStore(cluster.setting({ schema: `expiring_${++stores}` })));
}

describe("whoever is shown payments that are about to expire", () => {
  let one: Deployment;
  beforeEach(async () => void (one = new Deployment(await openStore("memory:"))));
  afterEach(() => one.store.close());

  test("is told while not all of the log was looked at, and of the oldest meanwhile", async () => {
    await one.pay("FIRST", LATEST - LIFE + 50);
    await one.log(Array.from({ length: 25_000 }, (_, n): Payment => ["authorized", `M${n}`, OF_AGE - 1]));
    await one.pay("LAST", OF_AGE - 1);
    await one.log(Array.from({ length: 25_001 }, (_, n): Payment => ["claimed", `M${n}`, OF_AGE]));
    const expiring = one.watch();
    const seen: [number, boolean][] = [];
    for (let look = 0; look < 3; look += 1) {
      const { payments, complete } = await expiring.now();
      seen.push([payments, complete]);
      one.latest += 1;
    }
    assert.deepEqual(seen, [[1, false], [1, false], [2, true]]);
  });

  test("is told while there are more merchants than are asked at once", async () => {
    for (let n = 0; n < 150; n += 1) await one.pay(`M${n}`, OF_AGE - 1);
    const expiring = one.watch();
    const seen: Expiring[] = [];
    for (let look = 0; look < 2; look += 1) {
      seen.push(await expiring.now());
      one.latest += 12;
    }
    assert.deepEqual(seen.map(({ merchants, complete }) => [merchants, complete]), [[100, false], [150, true]]);
    assert.equal(new Set(one.asked).size, 150);
  });

  test("is told when the node does not tell a merchant's payments, or not how long they live", async () => {
    await one.pay("M", OF_AGE - 1);
    const incomplete = { ...none, complete: false };
    assert.deepEqual(await one.watch(() => Promise.reject(new Error("the node failed"))).now(), incomplete);
    assert.deepEqual(await one.watch(() => Promise.resolve({ pending: "1", payments: null })).now(), incomplete);
    const payments = [{ deviceHash: "ab".repeat(32), amount: "1", authorizedAt: NOW, expiresAt: null }];
    assert.deepEqual(await one.watch(() => Promise.resolve({ pending: "1", payments })).now(), incomplete);
  });

  test("is told at once where the node takes long, and what it says when it has", async () => {
    await one.pay("M", OF_AGE - 1);
    let answer = () => {};
    const hung = new Promise<void>((resolve) => answer = resolve);
    const slow = one.watch(async (merchant) => await hung.then(() => one.pending(merchant)), () => Promise.resolve());
    assert.deepEqual(await slow.now(), { ...none, complete: false });
    answer();
    while (!(await slow.now()).complete) await yieldToOthers();
    assert.deepEqual(await slow.now(), {
      payments: 1,
      merchants: 1,
      firstAt: one.seconds(OF_AGE - 1 + LIFE),
      complete: true,
    });
  });

  test("is told of payments that live longer when their own last quarter comes", async () => {
    await one.pay("M", OF_AGE - 1, LIFE * 2);
    const expiring = one.watch();
    assert.deepEqual(await expiring.now(), none);
    one.latest += LIFE * 3 / 4 - 100;
    assert.deepEqual(await expiring.now(), none);
    one.latest += 100;
    assert.equal((await expiring.now()).payments, 1);
    one.latest += LIFE / 2;
    assert.equal((await expiring.now()).payments, 0);
  });
});
