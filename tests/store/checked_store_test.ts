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
  const observed: [string, number, string | undefined][] = [];
  let nowMs = 0;
  const store = checkedStore({ ...driver, ...changes(driver) }, () => nowMs += 7);
  store.observe({ called: (...[method, durationMs, failure]) => void observed.push([method, durationMs, failure]) });
  return { store, observed };
}

describe("checkedStore", () => {
  test("lets the driver turn an error of its database into a message, and reports its kind", async () => {
    const { store, observed } = await storeOn((driver) => ({
      keys: { ...driver.keys, version: () => Promise.reject(new Error("SQLITE_FULL")) },
      toStoreError: (error) => new StoreError("full", `memory: ${(error as Error).message}`, { cause: error }),
    }));
    await assert.rejects(store.keys.version(), storeError("full", "SQLITE_FULL"));
    assert.deepEqual(observed, [["keys.version", 7, "full"]]);
    await store.close();
  });

  test("passes an error of another origin on, and counts it as unavailable", async () => {
    const { store, observed } = await storeOn((driver) => ({
      keys: {
        ...driver.keys,
        version() {
          throw new TypeError("a mistake of ours");
        },
      },
    }));
    await assert.rejects(store.keys.version(), new TypeError("a mistake of ours"));
    assert.deepEqual(observed, [["keys.version", 7, "unavailable"]]);
    await store.close();
  });

  test("locks the store once for two concurrent calls, and retries after a rejection", async () => {
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

  test("closes the driver once, after the last call, and rejects new calls", async () => {
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
