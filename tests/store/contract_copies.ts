import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleEvent, sampleState, watcherLease } from "./samples.ts";
import type { Subject } from "./store_contract.ts";

/** The methods for copies. */
export function copyContract({ store, reopen, isPersistent }: Subject): void {
  const numbers = [0, 1, 2, 3, 4];

  /** All records of a list, two at a time. */
  async function listed<T>(list: (page: { after?: T; limit: number }) => Promise<T[]>): Promise<T[]> {
    const found: T[] = [];
    for (;;) {
      const page = await list({ after: found.at(-1), limit: 2 });
      if (page.length === 0) return found;
      assert.ok(page.length <= 2);
      found.push(...page);
    }
  }

  test("every submission is listed, with and without an outcome", async () => {
    const { submissions } = store();
    for (const n of numbers) await submissions.record({ hash: `h${n}`, validUntil: n, submittedAtMs: n });
    await submissions.recordOutcome("h1", { status: "success", ledger: 5 });
    const hashes = await listed<string>(async ({ after, limit }) =>
      (await submissions.list({ after, limit })).map(({ hash }) => hash)
    );
    assert.deepEqual(hashes, ["h0", "h1", "h2", "h3", "h4"]);
    const [, one] = await submissions.list({ limit: 9 });
    assert.deepEqual(one, await submissions.get("h1"));
  });

  test("every intent of each kind is listed, with its result and without its claim", async () => {
    const { intents } = store();
    const bounds = { seen: undefined, mostOfKey: 9, mostInAll: 9 };
    for (const n of numbers) {
      const name = {
        keyId: `k${n % 2}`,
        kind: n % 3 === 0 ? "webhook" as const : "replay" as const,
        key: `order-${n}`,
      };
      const claim = await intents.claim({ name, id: `i${n}`, request: "r", durationMs: 60_000, ...bounds });
      assert.ok(typeof claim !== "string");
      if (n > 0) await intents.complete(claim, { request: "done", result: `é${n}` });
    }
    const found = await listed(intents.list);
    assert.deepEqual(found.map(({ id }) => id).sort(), ["i0", "i1", "i2", "i3", "i4"]);
    const of = (id: string) => found.find((one) => one.id === id);
    assert.deepEqual(of("i0"), { keyId: "k0", kind: "webhook", key: "order-0", id: "i0", request: "r" });
    const done = { keyId: "k1", kind: "replay", key: "order-1", id: "i1", request: "done", result: "é1" };
    assert.deepEqual(of("i1"), done);
  });

  test("every intent of a transaction is listed, as it is stored", async () => {
    const { intents } = store();
    const bounds = { seen: undefined, mostOfKey: 9, mostInAll: 9 };
    for (const n of numbers) {
      const envelope = new Uint8Array(n === 1 ? 140_000 : n).fill(n);
      const intent = { request: "r", sequence: String(n), envelope, isRejected: n === 2, envelopes: [] };
      await intents.setTransaction({ name: { keyId: `k${n % 2}`, key: `o${n}` }, version: `v${n}`, intent, ...bounds });
    }
    const found = await listed(intents.transactions);
    assert.deepEqual(found.map(({ version }) => version).sort(), ["v0", "v1", "v2", "v3", "v4"]);
    for (const { keyId, key, ...kept } of found) assert.deepEqual(kept, await intents.transaction({ keyId, key }));
  });

  test("the newest nonce of every agent and device is listed", async () => {
    const { intents } = store();
    for (const n of numbers) {
      await intents.nextNonce({ deviceHash: `d${n % 2}`, agent: `a${n}`, used: "18446744073709551600", validForMs: 5 });
    }
    const found = await listed(intents.nonces);
    assert.deepEqual(found.map(({ agent }) => agent), ["a0", "a2", "a4", "a1", "a3"]);
    assert.deepEqual(new Set(found.map(({ nonce }) => nonce)), new Set(["18446744073709551601"]));
  });

  test("every shared value is listed", async () => {
    const { sharedState } = store();
    for (const n of numbers) await sharedState.change(`r${n}`, () => ({ value: [n], keepMs: n - 1, answer: 0 }));
    const names = await listed<string>(async ({ after, limit }) =>
      (await sharedState.list({ after, limit })).map(({ name }) => name)
    );
    assert.deepEqual(names, ["r0", "r1", "r2", "r3", "r4"]);
  });

  test("an empty log begins after a given sequence, and a log with events continues unchanged", async () => {
    const lease = await watcherLease(store());
    const append = (after: number, ...ledgers: number[]) =>
      store().events.append({ lease, events: ledgers.map((n) => sampleEvent(n)), state: sampleState(1_000), after });
    await append(70);
    assert.deepEqual(await store().events.bounds(), { last: 70, forgotten: 70 });
    assert.deepEqual((await append(90, 5, 3)).map(({ sequence }) => sequence), [71, 72]);
    assert.deepEqual(await store().events.bounds(), { last: 72, forgotten: 70 });
    assert.equal((await store().events.read({ filter: {}, order: "asc", limit: 9 })).length, 2);
  });

  test("a store has the id that it adopts from the next opening on", { skip: !isPersistent }, async () => {
    await store().network.adopt("abcdefghijkl");
    assert.equal((await reopen()).id, "abcdefghijkl");
  });
}
