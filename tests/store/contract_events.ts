import assert from "node:assert/strict";
import { test } from "node:test";
import { formatEventId, heightOf, type LoggedEvent, type NewEvent, parseEventId } from "../../lib/store/event.ts";
import type { EventQuery } from "../../lib/store/store.ts";
import { append, sampleEvent, sampleEventOf, sampleId, sampleState, sampleUndecoded, watcherLease } from "./samples.ts";
import type { Subject } from "./store_contract.ts";

const ACCOUNT = "GDQERENWDDSQZS7R7WKHZI3BSOYMV3FSWR7TFUYFTKQ447PIX6NREOJM";

export function eventContract({ store, anotherHandle }: Subject): void {
  const read = (query: Partial<EventQuery & { order: "asc" | "desc"; limit: number }> = {}) =>
    store().events.read({ filter: {}, order: "asc", limit: 1_000, ...query });
  const numbered = (...events: NewEvent[]): LoggedEvent[] =>
    events.map((event, index) => ({ ...event, sequence: index + 1 }));

  test("a new store has no watcher state, no events and an empty log", async () => {
    assert.equal(await store().events.watcherState(), undefined);
    assert.deepEqual(await store().events.bounds(), { last: 0, forgotten: 0 });
    assert.deepEqual(await read(), []);
    assert.equal(await store().events.before(0), 0);
    assert.deepEqual(await store().events.undecoded({ limit: 9 }), []);
  });

  test("append assigns sequences from 1 in the order given, in any order of ledgers, and returns the events", async () => {
    const events = [sampleEvent(5), sampleEvent(1), sampleEventOf(3, 2), sampleEvent(4)];
    assert.deepEqual(await append(store(), ...events), numbered(...events));
    assert.deepEqual(await read(), numbered(...events));
    assert.deepEqual(await store().events.bounds(), { last: 4, forgotten: 0 });
  });

  test("an event comes back with exactly the fields that it was appended with", async () => {
    const full = sampleEvent(1, {
      type: "payment.authorized",
      ledgerClosedAt: "2026-11-01T23:59:59Z",
      txHash: "0123456789abcdef".repeat(4),
      deviceHash: "fe".repeat(32),
      agent: ACCOUNT,
      merchant: "CBQHNAXSI55GX2GN6D67GK7BHVPSLJUGZQEU7WJ5LKR5PNUCGLIMAO4K",
      amount: "170141183460469231731687303715884105727",
      asset: "CAS3J7GYLGXMF6TDJBBYYSE3HQ6BBSMLNUQ34T6TZMYMW2EVH34XOWMA",
      knownAt: 1_800_000_000,
      payment: { agent: ACCOUNT, slot: 3, endLedger: 4_294_967_295 },
    });
    const odd = sampleEvent(2, { type: "", deviceHash: "Ü", agent: "", merchant: "g", amount: "", txHash: "" });
    const least = sampleEvent(3);
    const assetOnly = sampleEvent(4, { type: "agent.registered", asset: "C" });
    const oddAmount = sampleEvent(5, { amount: '["1"]', payment: { taken: [{ slot: 1, at: 1_800_000_000 }] } });
    await append(store(), full, odd, { ...least, agent: undefined, amount: undefined }, assetOnly, oddAmount);
    assert.deepEqual(await read(), numbered(full, odd, least, assetOnly, oddAmount));
    assert.deepEqual(await store().events.get(full.id), { ...full, sequence: 1 });
    assert.deepEqual(await store().events.get(least.id), { ...least, sequence: 3 });
  });

  test("ids of every form come back unchanged", async () => {
    const ids = [
      "0000000000000000000-0000000000",
      "9223372036854775807-4294967295",
      "1-0000000000000000001-0000000001",
      "9999-9223372036854775807-4294967295",
      "12-0004612445434712064-0000000003",
    ];
    const events = ids.map((id) => sampleEvent(0, { id, ledger: parseEventId(id)!.ledger }));
    await append(store(), ...events);
    assert.deepEqual(await read(), numbered(...events));
    for (const id of ids) assert.equal((await store().events.get(id))?.id, id);
  });

  test("events.get returns undefined for an unknown id, an undecoded event, and text that is no id", async () => {
    await append(store(), sampleEvent(1), sampleUndecoded(2));
    for (const id of [sampleId(2), sampleId(3), sampleId(1, 1), "", "no id", "x".repeat(5_000)]) {
      assert.equal(await store().events.get(id), undefined);
    }
  });

  test("events and state of a step become visible together, and the state replaces the former one", async () => {
    const lease = await watcherLease(store());
    const place = { epoch: 0, fromLedger: 5, toLedger: 9 };
    const missing = { ...place, contractIds: ["CA", "CB"], detectedAt: "2026-11-01T00:00:00Z" };
    const gap = { ...missing, reason: "pruned" as const };
    const full = sampleState(1_001, {
      epoch: 2,
      rpcCursor: "0004612445434712064-0000000003",
      rescans: [{ ledger: 1_000, closeTime: 1_793_491_190 }],
      checkpoints: [{ ledger: 1_001, hash: "ab".repeat(32), closeTime: 1_793_491_200 }],
      formerCheckpoints: [{ ledger: 60, hash: null, closeTime: 1_793_000_000 }],
      contracts: { CA: { fromLedger: 1, toLedger: 900 }, CB: { fromLedger: 7, toLedger: null } },
      gaps: [gap],
      formerEpochs: [{ epoch: 0, fromLedger: 1, toLedger: 80 }, { epoch: 1, fromLedger: 3, toLedger: 70 }],
    });
    await store().events.append({ lease, events: [sampleEvent(1)], state: full });
    assert.deepEqual(await store().events.watcherState(), full);
    await store().events.append({ lease, events: [], state: sampleState(1_002) });
    assert.deepEqual(await store().events.watcherState(), sampleState(1_002));
    assert.equal((await read()).length, 1);
  });

  test("a repeated step adds nothing, and leaves no hole in the sequences", async () => {
    const lease = await watcherLease(store());
    const events = Array.from({ length: 100 }, (_, n) => n % 7 === 3 ? sampleUndecoded(n) : sampleEvent(n));
    const step = { lease, events, state: sampleState(1_100) };
    assert.equal((await store().events.append(step)).length, 86);
    assert.deepEqual(await store().events.append(step), []);
    const [next] = await append(store(), sampleEvent(4), sampleEvent(200), sampleEvent(200));
    assert.equal(next!.sequence, 87);
    assert.deepEqual((await read()).map(({ sequence }) => sequence), Array.from({ length: 87 }, (_, n) => n + 1));
    assert.equal((await store().events.undecoded({ limit: 100 })).length, 14);
  });

  test("append skips a stored event, except for the decoded form of an undecoded one", async () => {
    await append(store(), sampleEvent(1), sampleUndecoded(2), sampleUndecoded(3));
    const added = await append(store(), sampleUndecoded(1), sampleEvent(2), sampleEvent(1, { amount: "7" }));
    assert.deepEqual(added, [{ ...sampleEvent(2), sequence: 2 }]);
    assert.deepEqual(await read(), numbered(sampleEvent(1), sampleEvent(2)));
    assert.deepEqual(await append(store(), sampleUndecoded(2), sampleUndecoded(3)), []);
    assert.deepEqual(await store().events.undecoded({ limit: 9 }), [sampleUndecoded(3)]);
  });

  test("simultaneous steps of two handles get one sequence each, without holes", async () => {
    const other = await anotherHandle();
    const lease = await watcherLease(store());
    const steps = Array.from({ length: 20 }, (_, n) => {
      const events = [sampleEvent(2 * n), sampleEvent(2 * n + 1, { type: `type ${n}`, contractId: `C${n}` })];
      return (n % 2 ? store() : other).events.append({ lease, events, state: sampleState(1_000 + n) });
    });
    const answered = (await Promise.all(steps)).flat().toSorted((a, b) => a.sequence - b.sequence);
    assert.deepEqual(answered.map(({ sequence }) => sequence), Array.from({ length: 40 }, (_, n) => n + 1));
    assert.deepEqual(await read(), answered);
    assert.deepEqual(await other.events.read({ filter: {}, order: "asc", limit: 100 }), answered);
    const ofType = await store().events.read({ filter: { types: ["type 6", "type 7"] }, order: "asc", limit: 9 });
    assert.equal(ofType.length, 2);
  });

  test("a step of 100 events with every field, each of them in every filter, fits in one commit", async () => {
    const events = Array.from({ length: 100 }, (_, n) =>
      sampleEvent(n, {
        type: `payment.kind${n % 9}`,
        txHash: n.toString(16).padStart(64, "0"),
        deviceHash: (n + 1_000).toString(16).padStart(64, "0"),
        agent: ACCOUNT,
        merchant: `M${n}`,
        amount: "9".repeat(39),
      }));
    await append(store(), ...events);
    assert.deepEqual(await read(), numbered(...events));
  });

  test("pages go by sequence in either direction, between `after` and `upTo`", async () => {
    await append(store(), ...Array.from({ length: 30 }, (_, n) => sampleEvent((n * 7) % 30)));
    const sequences = async (query: Parameters<typeof read>[0]) => (await read(query)).map(({ sequence }) => sequence);
    assert.deepEqual(await sequences({ limit: 3 }), [1, 2, 3]);
    assert.deepEqual(await sequences({ limit: 3, after: 3 }), [4, 5, 6]);
    assert.deepEqual(await sequences({ after: 25, upTo: 28 }), [26, 27, 28]);
    assert.deepEqual(await sequences({ order: "desc", limit: 3 }), [30, 29, 28]);
    assert.deepEqual(await sequences({ order: "desc", limit: 3, after: 4, upTo: 6 }), [6, 5]);
    assert.deepEqual(await sequences({ after: 30 }), []);
    assert.deepEqual(await sequences({ after: 9, upTo: 5 }), []);
    assert.equal(await store().events.count({ filter: {}, limit: 10_000 }), 30);
    assert.equal(await store().events.count({ filter: {}, limit: 7 }), 7);
    assert.equal(await store().events.count({ filter: {}, after: 10, upTo: 15, limit: 7 }), 5);
  });

  test("before returns the highest sequence below every event of a height or above", async () => {
    const heights = [3, 3, 5, 4, 9, 1, 9, 7, 12, 2];
    const events = heights.map((ledger, index) =>
      sampleEvent(0, { id: formatEventId({ epoch: 0, ledger, order: 1, index }), ledger })
    );
    await append(store(), ...events);
    for (let height = 0; height < 15; height++) {
      const first = heights.findIndex((one) => one >= height);
      assert.equal(await store().events.before(height), first < 0 ? heights.length : first, `height ${height}`);
    }
    await append(store(), sampleEventOf(1, 1));
    assert.equal(await store().events.before(heightOf(1, 0)), 10);
    assert.equal(await store().events.before(heightOf(1, 5_000)), 11);
    assert.equal(await store().events.before(heightOf(2, 0)), 11);
  });
}
