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

  test("the store lists every submission, with and without an outcome", async () => {
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

  test("the store lists every shared value", async () => {
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
