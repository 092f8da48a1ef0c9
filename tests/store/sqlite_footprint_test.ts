// needs: once
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import { openStore } from "../../lib/store/open.ts";
import { packAddress, packHash, unpackAddress, unpackHash } from "../../lib/store/codec.ts";
import { appendMany, sampleEvent, sampleState, watcherLease } from "./samples.ts";
import { sampleAttempt, subscribe, workerLeases } from "./webhook_samples.ts";
import { folderForTests } from "../folder.ts";

const directory = folderForTests();
const hash = fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 64, maxLength: 64 });
const base32 = fc.constantFrom(..."ABCDEFGHIJKLMNOPQRSTUVWXYZ234567");
const address = fc.string({ unit: base32, minLength: 56, maxLength: 56 });

describe("the writes of the sqlite store", () => {
  test("store hashes and addresses as their bytes, and any text comes back unchanged", () => {
    fc.assert(fc.property(hash, (text) => {
      assert.equal(packHash(text).length, 32);
      assert.equal(unpackHash(packHash(text)), text);
    }));
    fc.assert(fc.property(address, (text) => {
      assert.equal(packAddress(text).length, 35);
      assert.equal(unpackAddress(packAddress(text)), text);
    }));
    fc.assert(fc.property(fc.oneof(fc.string(), hash, address), (text) => {
      assert.equal(unpackHash(packHash(text)), text);
      assert.equal(unpackAddress(packAddress(text)), text);
    }));
  });

  test("use at most 600 bytes of the file for a payment event, with all indexes", async () => {
    const path = join(directory, "events.db");
    const store = await openStore(`sqlite:${path}`);
    const empty = statSync(path).size;
    const lease = await watcherLease(store);
    const count = 6_000;
    const drawn = (one: typeof hash, seed: number) => fc.sample(one, { numRuns: count, seed });
    const [hashes, addresses] = [drawn(hash, 1), drawn(address, 2)];
    for (let n = 0; n < count; n += 100) {
      const events = Array.from({ length: 100 }, (_, index) =>
        sampleEvent(n + index, {
          type: index % 2 ? "payment.authorized" : "payment.claimed",
          txHash: hashes[n + index]!,
          deviceHash: hashes[(7 * (n + index)) % 1_000]!,
          agent: addresses[(7 * (n + index)) % 1_000]!,
          merchant: addresses[1_000 + (11 * (n + index)) % 100]!,
          amount: String(1_000_000 + n),
        }));
      await store.events.append({ lease, events, state: sampleState(1_000 + n) });
    }
    await store.close();
    const each = (statSync(path).size - empty) / count;
    assert.ok(each < 600, `${each} bytes`);
  });

  test("change two pages for a delivery at its first attempt", async () => {
    const path = join(directory, "deliveries.db");
    const store = await openStore(`sqlite:${path}`);
    await subscribe(store, "wh_1");
    await appendMany(store, 1, 300);
    const leases = await workerLeases(store, "wh_1");
    const settlement = (n: number) => ({ subscriptionId: "wh_1", cursor: n, attempts: [sampleAttempt(n)] });
    const settle = (n: number) => store.deliveries.settle({ leases, settlements: [settlement(n)] });
    for (let n = 1; n <= 100; n++) await settle(n);
    const side = await openSqlite(path);
    side.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    side.close();
    assert.equal(statSync(`${path}-wal`).size, 0);
    for (let n = 101; n <= 200; n++) await settle(n);
    const pages = statSync(`${path}-wal`).size / 4_120 / 100;
    // Now and then one more, when the attempts fill a page.
    assert.ok(pages < 2.2, `${pages} pages`);
    await store.close();
  });
});
