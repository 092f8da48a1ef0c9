// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkedStore, type StoreDriver } from "../../lib/store/checked_store.ts";
import { openMemoryDriver } from "../../lib/store/sqlite/open.ts";
import { StoreError } from "../../lib/store/store.ts";
import { sampleKey, storeError } from "./samples.ts";

/** A real driver, of which something is replaced. */
async function storeOn(changes: (driver: StoreDriver) => Partial<StoreDriver>) {
  const driver = await openMemoryDriver();
  const told: [string, number, string | undefined][] = [];
  let nowMs = 0;
  const store = checkedStore({ ...driver, ...changes(driver) }, () => nowMs += 7);
  store.observe({ called: (...[method, durationMs, failure]) => void told.push([method, durationMs, failure]) });
  return { store, told };
}

describe("checkedStore", () => {
  test("has the driver say what a fault of its database is, and tells the kind", async () => {
    const { store, told } = await storeOn((driver) => ({
      keys: { ...driver.keys, version: () => Promise.reject(new Error("SQLITE_FULL")) },
      toStoreError: (error) => new StoreError("full", `memory: ${(error as Error).message}`, { cause: error }),
    }));
    await assert.rejects(store.keys.version(), storeError("full", "SQLITE_FULL"));
    assert.deepEqual(told, [["keys.version", 7, "full"]]);
    await store.close();
  });

  test("lets an error that is no fault of the database through, and counts it as unavailable", async () => {
    const { store, told } = await storeOn((driver) => ({
      keys: {
        ...driver.keys,
        version() {
          throw new TypeError("a mistake of ours");
        },
      },
    }));
    await assert.rejects(store.keys.version(), new TypeError("a mistake of ours"));
    assert.deepEqual(told, [["keys.version", 7, "unavailable"]]);
    await store.close();
  });

  test("takes the hold once, also when asked twice at once, and again when it was refused", async () => {
    let holds = 0;
    const { store } = await storeOn((driver) => ({
      holdForServing() {
        holds += 1;
        return holds === 1 ? Promise.reject(new StoreError("locked", "held")) : driver.holdForServing();
      },
    }));
    await assert.rejects(Promise.all([store.holdForServing(), store.holdForServing()]), storeError("locked"));
    assert.equal(holds, 1);
    await Promise.all([store.holdForServing(), store.holdForServing()]);
    await store.holdForServing();
    assert.equal(holds, 2);
    await store.close();
  });

  test("closes the driver once, when nothing is under way any more, and lets nothing new begin", async () => {
    const order: string[] = [];
    let finish = () => {};
    const { store } = await storeOn((driver) => ({
      buckets: {
        ...driver.buckets,
        prune: () => new Promise<void>((resolve) => finish = resolve).then(() => void order.push("pruned")),
      },
      close: () => {
        order.push("closed");
        return driver.close();
      },
    }));
    const pruning = store.buckets.prune(1);
    const closing = Promise.all([store.close(), store.close()]);
    await assert.rejects(store.keys.insert(sampleKey("a")), storeError("unavailable", "closed"));
    assert.deepEqual(order, []);
    finish();
    await Promise.all([pruning, closing]);
    assert.deepEqual(order, ["pruned", "closed"]);
  });
});
