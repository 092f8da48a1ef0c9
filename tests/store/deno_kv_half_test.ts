// needs: runtime
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { openKv } from "../../lib/runtime/kv.ts";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { eventKey, rawKey, subscriptionKey } from "../../lib/store/deno_kv/schema.ts";
import { openStore } from "../../lib/store/open.ts";
import { append, appendMany, sampleUndecoded, storeError } from "./samples.ts";
import { sampleFailed, subscribe, workerLeases } from "./webhook_samples.ts";
import { folderForTests } from "../folder.ts";

function describeHalves(): void {
  describe("a Deno KV store in which a part of a record is missing", () => {
    const directory = folderForTests();
    test("reports that at the read, instead of an endless retry", async () => {
      const file = join(directory, "half.kv");
      const store = await openStore(`deno-kv:${file}`);
      await appendMany(store, 1, 3);
      const undecoded = sampleUndecoded(4);
      await append(store, undecoded);
      await subscribe(store, "wh_1", "wh_2");
      const leases = await workerLeases(store, "wh_1");
      const failed = [sampleFailed(1, "retrying")];
      await store.deliveries.settle({ leases, settlements: [{ subscriptionId: "wh_1", failed, attempts: [] }] });
      const kv = await openKv(file);
      await kv.delete(eventKey(1));
      await kv.delete([...rawKey(undecoded.id), 0]);
      await kv.delete(subscriptionKey("wh_2"));
      kv.close();
      const late = new Promise((resolve) => setTimeout(resolve, 20_000));
      const asked = await Promise.allSettled([
        store.deliveries.failed({ state: "retrying", subscriptionId: "wh_1", limit: 10 }),
        store.deliveries.consumers({ limit: 10 }),
        store.subscriptions.list({ keyId: "key", limit: 10 }),
        store.events.undecoded({ limit: 10 }),
      ].map((one) => Promise.race([one, late])));
      for (const one of asked) assert.ok(one.status === "rejected" && storeError("locked", "is missing")(one.reason));
      await store.close();
    });
  });
}

if (runtimeName === "deno") describeHalves();
else describe("a Deno KV store in which a part of a record is missing", () => void test("needs Deno", { skip: true }));
