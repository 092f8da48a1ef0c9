// needs: runtime
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { type Cluster, findPostgres, startCluster } from "../store/postgres_cluster.ts";
import { Deployment, LATEST, LIFE, none, NOW, OF_AGE, PACE, type Payment } from "./expiring_stage.ts";
import { folderForTests } from "../folder.ts";

/** Payments of fifty merchants up to the newest ledger, as in a busy deployment. Each payment is claimed soon. */
function traffic(events: number, from = LATEST - LIFE * 2): Payment[] {
  return Array.from({ length: events }, (_, n): Payment => [
    n % 2 === 1 ? "claimed" : "authorized",
    `M${(n >> 1) % 50}`,
    from + Math.floor(n * (LATEST - from) / events),
  ]);
}

function describeExpiring(name: string, open: () => Promise<Store>): void {
  const opened: Store[] = [];
  const deployment = async () => {
    const store = await open();
    opened.push(store);
    return new Deployment(store);
  };

  describe(`payments that are about to expire, with the log in ${name}`, () => {
    afterEach(async () => {
      for (const store of opened.splice(0)) await store.close();
    });

    test("are found after thousands of later payments, and the gateway asks only for their merchants", async () => {
      const busy = await deployment();
      await busy.log(traffic(600, OF_AGE - 4_000).map(([kind, merchant]) => [kind, merchant, OF_AGE - 4_250]));
      await busy.pay("OLD", LATEST - LIFE + 100);
      await busy.log(traffic(6_000, OF_AGE - 4_000));
      const expected = { payments: 1, merchants: 1, firstAt: NOW + 100 * PACE, complete: true };
      assert.deepEqual(await busy.watch().now(), expected);
      assert.deepEqual(busy.asked, ["OLD"]);
    });

    test("exclude payments that a later claim has collected", async () => {
      const one = await deployment();
      await one.log([["authorized", "M", OF_AGE - 10], ["claimed", "M", OF_AGE - 9]]);
      const expiring = one.watch();
      assert.deepEqual(await expiring.now(), none);
      assert.deepEqual(one.asked, []);
      await one.pay("M", OF_AGE + 5);
      one.latest += 20;
      const firstAt = one.seconds(OF_AGE + 5 + LIFE);
      assert.deepEqual(await expiring.now(), { ...none, payments: 1, merchants: 1, firstAt });
      one.chain.delete("M");
      one.latest += 20;
      assert.deepEqual(await expiring.now(), none);
    });

    test("are found when the log gets them late", async () => {
      const one = await deployment();
      await one.log([["authorized", "M", OF_AGE], ["claimed", "M", OF_AGE + 1]]);
      await one.pay("NEW", LATEST);
      await one.pay("LATE", OF_AGE - 1);
      const { payments, firstAt } = await one.watch().now();
      assert.deepEqual([payments, firstAt], [1, one.seconds(OF_AGE - 1 + LIFE)]);
      assert.deepEqual(one.asked, ["LATE"]);
    });

    test("exclude payments from before a network reset", async () => {
      const one = await deployment();
      await one.log([["authorized", "GONE", OF_AGE]]);
      await one.log([["authorized", "M", OF_AGE - 1], ["claimed", "M", OF_AGE]], 1);
      assert.deepEqual(await one.watch().now(), none);
      assert.deepEqual(one.asked, []);
    });
  });
}

const directory = folderForTests();
let stores = 0;

describeExpiring("sqlite", () => openStore("memory:"));
if (runtimeName === "deno") {
  describeExpiring("Deno KV", () => openStore(`deno-kv:${join(directory, `${++stores}.kv`)}`));
}

const programs = findPostgres();
if (programs === undefined) {
  describe("payments that are about to expire, with the log in PostgreSQL", () =>
    void test("need PostgreSQL's programs", { skip: true }));
} else {
  let cluster: Cluster;
  before(async () => void (cluster = await startCluster(programs)));
  after(() => cluster.remove());
  describeExpiring("PostgreSQL", () => openStore(cluster.setting({ schema: `expiring_${++stores}` })));
}
