import assert from "node:assert/strict";
import { test } from "node:test";
import type { LoggedEvent } from "../../lib/store/event.ts";
import type { GivenReference } from "../../lib/store/reference.ts";
import { append, sampleEvent } from "./samples.ts";
import type { Subject } from "./store_contract.ts";

export function referenceContract({ store, anotherHandle, isShared }: Subject): void {
  const hashOf = (n: number) => n.toString(16).padStart(64, "0");
  const given = (n: number, fields: Partial<GivenReference> = {}): GivenReference => ({
    hash: hashOf(n),
    keyId: "k1",
    reference: `order ${n}`,
    preparedAtMs: 1_000 + n,
    ...fields,
  });
  const byKey = (all: GivenReference[]) => all.toSorted((a, b) => a.keyId < b.keyId ? -1 : 1);

  test("references.find returns what each key gave for these transactions", async () => {
    const { references } = store();
    const other = given(1, { keyId: "k2", reference: "of k2" });
    for (const one of [given(1), other, given(2), given(3)]) await references.record(one);
    assert.deepEqual(byKey(await references.find([hashOf(1), hashOf(9)])), [given(1), other]);
    assert.deepEqual(await references.find([hashOf(2)]), [given(2)]);
    assert.deepEqual(await references.find([]), []);
    assert.equal((await references.find(Array.from({ length: 1_000 }, (_, n) => hashOf(n)))).length, 4);
  });

  test("references.record keeps the first record of a hash and a key", async () => {
    const { references } = store();
    await references.record(given(1));
    await references.record(given(1, { reference: "another", preparedAtMs: 1 }));
    assert.deepEqual(await references.find([hashOf(1)]), [given(1)]);
    await Promise.all([1, 2, 3].map((n) => references.record(given(5, { reference: `r${n}`, preparedAtMs: n }))));
    const [kept, ...more] = await references.find([hashOf(5)]);
    assert.deepEqual([kept!.reference, more], [`r${kept!.preparedAtMs}`, []]);
  });

  test("references.copy records what all keys gave under the hash of a fee bump, too", async () => {
    const { references } = store();
    await references.record(given(1));
    await references.record(given(1, { keyId: "k2", reference: "two" }));
    await references.copy(hashOf(1), hashOf(7));
    await references.copy(hashOf(1), hashOf(7));
    await references.copy(hashOf(3), hashOf(8));
    const copies = [given(1, { hash: hashOf(7) }), given(1, { hash: hashOf(7), keyId: "k2", reference: "two" })];
    assert.deepEqual(byKey(await references.find([hashOf(7), hashOf(8)])), copies);
    assert.equal((await references.find([hashOf(1)])).length, 2);
  });

  test("references.isAny is true from the first record", async () => {
    const { references } = store();
    assert.equal(await references.isAny(), false);
    await references.record(given(2));
    assert.equal(await references.isAny(), true);
    assert.equal(await references.prune(2_000), 1);
    assert.equal(await references.isAny(), false);
  });

  test("references.list returns every record, or those from before a time, by time, hash and key", async () => {
    const { references } = store();
    const all = [3, 1, 2].flatMap((n, at) => ["k1", "k2"].map((keyId) => given(n, { keyId, preparedAtMs: 10 * at })));
    all.push(given(4, { preparedAtMs: 20 }));
    for (const one of all.toReversed()) await references.record(one);
    for (const [preparedBeforeMs, wanted] of [[undefined, all], [20, all.slice(0, 4)], [21, all], [0, []]] as const) {
      const listed: GivenReference[] = [];
      for (let page; (page = await references.list({ after: listed.at(-1), preparedBeforeMs, limit: 3 })).length > 0;) {
        assert.ok(page.length <= 3);
        listed.push(...page);
      }
      assert.deepEqual(listed, wanted);
    }
  });

  test("references.ofReference returns what a key prepared with a reference, by time and hash, in both orders", async () => {
    const { references } = store();
    const mine = Array.from({ length: 7 }, (_, n) => given(n, { reference: "one", preparedAtMs: 1_000 + (n >> 1) }));
    const others = [given(1, { keyId: "k2", reference: "one" }), given(8, { reference: "on" }), given(9)];
    for (const one of [...mine.toReversed(), ...others]) await references.record(one);
    for (const order of ["asc", "desc"] as const) {
      const found: GivenReference[] = [];
      const query = { keyId: "k1", reference: "one", order, limit: 3 };
      for (let page; (page = await references.ofReference({ ...query, after: found.at(-1) })).length > 0;) {
        assert.ok(page.length <= 3);
        found.push(...page);
      }
      assert.deepEqual(found, order === "asc" ? mine : mine.toReversed());
    }
    assert.deepEqual(await references.ofReference({ keyId: "k3", reference: "one", order: "asc", limit: 9 }), []);
  });

  test("references.keysOf returns the keys that gave a reference, by id", async () => {
    const { references } = store();
    for (const keyId of ["k2", "k1", "k10"]) {
      for (const n of [1, 2, 3]) await references.record(given(n, { keyId, reference: "one" }));
    }
    await references.record(given(4, { keyId: "k3" }));
    assert.deepEqual(await references.keysOf({ reference: "one", limit: 9 }), ["k1", "k10", "k2"]);
    assert.deepEqual(await references.keysOf({ reference: "one", limit: 2 }), ["k1", "k10"]);
    assert.deepEqual(await references.keysOf({ reference: "on", limit: 9 }), []);
    await references.delete([1, 2, 3].map((n) => given(n, { keyId: "k1", reference: "one" })));
    assert.deepEqual(await references.keysOf({ reference: "one", limit: 9 }), ["k10", "k2"]);
  });

  test("references.delete deletes these records and no others", async () => {
    const { references } = store();
    const all = Array.from({ length: 230 }, (_, n) => given(n, { reference: "same" }));
    await Promise.all(all.map((one) => references.record(one)));
    await references.record(given(1, { keyId: "k2" }));
    await references.delete(all.slice(1));
    await references.delete([]);
    assert.deepEqual(await references.list({ limit: 9 }), [all[0], given(1, { keyId: "k2" })]);
    const query = { keyId: "k1", reference: "same", order: "asc", limit: 9 } as const;
    assert.deepEqual(await references.ofReference(query), [all[0]]);
  });

  test("references.ofKey returns what one key gave, with one read, and without one while there is none", async () => {
    const { references } = store();
    const calls: string[] = [];
    store().observe({ called: (method) => void calls.push(method) });
    const ofKey = async () => Object.fromEntries(await references.ofKey("k1", [hashOf(1), hashOf(1), hashOf(2)]));
    assert.deepEqual([await ofKey(), await ofKey()], [{}, {}]);
    assert.deepEqual(calls, isShared ? ["references.find", "references.find"] : ["references.isAny"]);
    for (const one of [given(1), given(1, { keyId: "k2" }), given(3)]) await references.record(one);
    calls.length = 0;
    assert.deepEqual(await ofKey(), { [hashOf(1)]: "order 1" });
    assert.deepEqual(calls, ["references.find"]);
  });

  test("references.prune deletes records from before the time, 500 at a call, and returns their number", async () => {
    const { references } = store();
    await Promise.all(Array.from({ length: 612 }, (_, n) => references.record(given(n))));
    assert.deepEqual([await references.prune(1_610), await references.prune(1_610)], [500, 110]);
    assert.equal(await references.prune(1_610), 0);
    assert.deepEqual(await references.list({ limit: 9 }), [given(610), given(611)]);
    await references.record(given(5, { reference: "again" }));
    assert.equal((await references.find([hashOf(5)]))[0]!.reference, "again");
  });

  const logged = () => store().events.read({ filter: {}, order: "asc", limit: 99 });
  const shown = (events: LoggedEvent[]) => events.map(({ references = new Map() }) => Object.fromEntries(references));

  const appended = (...numbers: number[]) =>
    append(store(), ...numbers.map((n) => sampleEvent(n, { txHash: hashOf(n) })));

  test("references.attach sets the references of each key, with one find for all events", async () => {
    await appended(1, 2, 3);
    const [first] = await logged();
    for (const keyId of ["k1", "k2"]) {
      await store().references.record({ hash: first!.txHash, keyId, reference: `of ${keyId}`, preparedAtMs: 1 });
    }
    const calls: string[] = [];
    store().observe({ called: (method) => void calls.push(method) });
    const events = await logged();
    await store().references.attach(events);
    assert.deepEqual(shown(events), [{ k1: "of k1", k2: "of k2" }, {}, {}]);
    assert.deepEqual(calls, ["events.read", "references.find"]);
  });

  test("references.attach reads nothing while there is no reference, and finds the first one", async () => {
    await appended(1, 2);
    const calls: string[] = [];
    store().observe({ called: (method) => void calls.push(method) });
    const attached = async () => {
      const events = await logged();
      calls.length = 0;
      await store().references.attach(events);
      return shown(events);
    };
    await attached();
    for (let n = 0; n < 3; n++) assert.deepEqual([await attached(), calls], [[{}, {}], []]);
    const other = isShared ? await anotherHandle() : store();
    await other.references.record(given(3, { reference: "first" }));
    await appended(3);
    assert.deepEqual(await attached(), [{}, {}, { k1: "first" }]);
  });
}
