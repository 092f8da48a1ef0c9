import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import type { Store } from "../../lib/store/store.ts";
import type { Subject } from "./store_contract.ts";

const MINUTE_MS = 60_000;

/** Raises a number by one; answers it as it is then. */
function count(store: Store, name: string): Promise<number> {
  return store.sharedState.change<number, number>(name, (value = 0) => {
    return { value: value + 1, keepMs: MINUTE_MS, answer: value + 1 };
  });
}

export function registerContract({ store, anotherHandle, reopen, pass, isPersistent }: Subject): void {
  test("sharedState.read returns the last change's value for each name, and undefined before", async () => {
    assert.equal(await store().sharedState.read("a"), undefined);
    const value = { text: "ä\u0000\u{1F680}", list: [1, null, { deep: true }], number: 1.5 };
    const change = (before: unknown) => ({ value, keepMs: MINUTE_MS, answer: before ?? "none" });
    const answer = await store().sharedState.change("a", change);
    assert.equal(answer, "none");
    assert.deepEqual(await store().sharedState.read("a"), value);
    assert.equal(await store().sharedState.read("b"), undefined);
    assert.equal(await count(store(), "b"), 1);
    assert.deepEqual(await store().sharedState.change("a", (before) => ({ keepMs: 0, answer: before })), value);
  });

  test("the store returns any shared JSON value of up to 32 KiB unchanged", async () => {
    for (const piece of ["€", "🚀", 0.1, "", null, {}]) {
      const list: unknown[] = ["é"];
      list.push(...Array(Math.floor((32_768 - 6) / (Buffer.byteLength(JSON.stringify(piece)) + 1))).fill(piece));
      assert.ok(Buffer.byteLength(JSON.stringify(list)) > 32_750);
      const text = `€${"x".repeat(32_763)}`;
      for (const value of [list, text]) {
        await store().sharedState.change("large", () => ({ value, keepMs: MINUTE_MS, answer: undefined }));
        assert.deepEqual(await store().sharedState.read("large"), value);
        const [kept] = await store().sharedState.list({ limit: 9 });
        assert.deepEqual(kept!.value, value);
      }
    }
  });

  test("each of several simultaneous changes gets the value of the change before it", async () => {
    const other = await anotherHandle();
    const counted = await Promise.all(Array.from({ length: 24 }, (_, n) => count(n % 2 ? store() : other, "turns")));
    assert.deepEqual(counted.sort((a, b) => a - b), Array.from({ length: 24 }, (_, n) => n + 1));
    assert.equal(await other.sharedState.read("turns"), 24);
  });

  test("a change without a value, and one that throws, write nothing", async () => {
    await count(store(), "a");
    await store().sharedState.change("a", () => ({ keepMs: 9 * MINUTE_MS, answer: undefined }));
    await assert.rejects(
      store().sharedState.change("a", () => {
        throw new RangeError("no");
      }),
      new RangeError("no"),
    );
    assert.equal(await store().sharedState.read("a"), 1);
    pass(MINUTE_MS);
    assert.equal(await store().sharedState.read("a"), undefined, "its time was not prolonged");
  });

  test("an error that a change throws reaches the caller unchanged", async () => {
    const codes = ["rate_limited", "EPIPE", "40001", undefined];
    for (const error of [...codes.map((code) => Object.assign(new Error("database is locked"), { code })), "no"]) {
      const passedOn = await store().sharedState.change("a", () => {
        throw error;
      }).catch((thrown: unknown) => thrown);
      assert.equal(passedOn, error);
      assert.equal(await store().sharedState.read("a"), undefined);
    }
  });

  test("a change gets the store's time, and its value is absent after keepMs", async () => {
    const timeOf = () => store().sharedState.change<never, number>("a", (_, nowMs) => ({ keepMs: 0, answer: nowMs }));
    const before = await timeOf();
    pass(5_000);
    assert.ok(await timeOf() >= before + 5_000);
    await count(store(), "a");
    pass(MINUTE_MS - 1);
    assert.equal(await store().sharedState.read("a"), 1);
    pass(1);
    assert.equal(await store().sharedState.read("a"), undefined);
    assert.equal(await count(store(), "a"), 1);
  });

  test("sharedState.prune deletes expired values, at most 500 at a call", async () => {
    for (let n = 0; n < 505; n++) await count(store(), `old ${n}`);
    pass(MINUTE_MS);
    await count(store(), "new");
    await count(store(), "old 7");
    const overMs = await store().sharedState.change("time", (_, nowMs) => ({ keepMs: 0, answer: nowMs }));
    assert.equal(await store().sharedState.prune(overMs - 1), 0);
    assert.equal(await store().sharedState.prune(overMs), 500);
    assert.equal(await store().sharedState.prune(overMs + MINUTE_MS), 4);
    assert.equal(await store().sharedState.prune(overMs + MINUTE_MS), 0);
    assert.equal(await store().sharedState.read("new"), 1);
    assert.equal(await store().sharedState.read("old 7"), 1);
  });

  test("the name of a shared value has 1 to 200 characters, its value up to 32 KiB", async () => {
    for (const name of ["", "x".repeat(201)]) {
      await assert.rejects(
        count(store(), name),
        new RangeError(`name must have 1 to 200 characters; got ${name.length}`),
      );
      await assert.rejects(store().sharedState.read(name), RangeError);
    }
    const value = "x".repeat(32_766);
    await store().sharedState.change("y".repeat(200), () => ({ value, keepMs: MINUTE_MS, answer: undefined }));
    assert.equal(await store().sharedState.read("y".repeat(200)), value);
  });

  test("shared values outlive the process", { skip: !isPersistent }, async () => {
    await count(store(), "a");
    await store().close();
    assert.equal(await (await reopen()).sharedState.read("a"), 1);
  });
}
