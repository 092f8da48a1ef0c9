import assert from "node:assert/strict";
import { test } from "node:test";
import { formatEventId, type UndecodedEvent } from "../../lib/store/event.ts";
import { append, sampleEvent, sampleId, sampleUndecoded } from "./samples.ts";
import type { Subject } from "./store_contract.ts";

export function undecodedContract({ store }: Subject): void {
  const log = () => store().events.read({ filter: {}, order: "asc", limit: 1_000 });

  test("the store keeps undecoded events unchanged, outside of the log", async () => {
    const one = sampleUndecoded(1, { raw: { topics: [], value: "AAAACg==" } });
    assert.deepEqual(await append(store(), one, sampleEvent(2)), [{ ...sampleEvent(2), sequence: 1 }]);
    assert.deepEqual(await store().events.undecoded({ limit: 9 }), [one]);
    assert.deepEqual(await store().events.bounds(), { last: 1, forgotten: 0 });
  });

  test("undecoded returns undecoded events only, in pages ascending by epoch and position", async () => {
    const inOrder: UndecodedEvent[] = [
      sampleUndecoded(1),
      sampleUndecoded(1, { id: formatEventId({ epoch: 0, ledger: 1_001, order: 4_097, index: 2 }) }),
      sampleUndecoded(3),
      sampleUndecoded(0, { id: sampleId(0, 2) }),
      sampleUndecoded(9, { id: sampleId(9, 2) }),
      sampleUndecoded(0, { id: sampleId(0, 10) }),
    ];
    const ids = inOrder.map(({ id }) => id);
    await append(store(), ...inOrder.toReversed(), sampleEvent(2));
    assert.deepEqual(await store().events.undecoded({ limit: 100 }), inOrder);
    for (let n = 0; n < ids.length; n++) {
      const page = await store().events.undecoded({ after: ids[n], limit: 2 });
      assert.deepEqual(page.map(({ id }) => id), ids.slice(n + 1, n + 3));
    }
    assert.deepEqual((await store().events.undecoded({ after: sampleId(2), limit: 1 }))[0]?.id, sampleId(3));
  });

  test("a step of 100 undecoded events as large as the network allows fits in one commit", async () => {
    const value = "A".repeat(22_000);
    const events = Array.from({ length: 100 }, (_, n) => sampleUndecoded(n, { raw: { topics: ["AAAA"], value } }));
    await append(store(), ...events);
    assert.deepEqual(await store().events.undecoded({ limit: 100 }), events);
  });

  test("an undecoded event of 300 kB, larger than any value that a network allows today, fits", async () => {
    const large = sampleUndecoded(1, { raw: { topics: ["AAAA"], value: "A".repeat(300_000) } });
    await append(store(), large);
    assert.deepEqual(await store().events.undecoded({ limit: 1 }), [large]);
    assert.equal((await append(store(), sampleEvent(1))).length, 1);
    assert.deepEqual(await store().events.undecoded({ limit: 1 }), []);
  });

  test("append moves decoded events to the end of the log, in the order given", async () => {
    await append(store(), sampleUndecoded(1), sampleUndecoded(2), sampleEvent(3));
    const decoded = sampleEvent(2, { type: "payment.claimed", merchant: "GM", amount: "5" });
    const answered = await append(store(), decoded, sampleEvent(1));
    assert.deepEqual(answered, [{ ...decoded, sequence: 2 }, { ...sampleEvent(1), sequence: 3 }]);
    assert.deepEqual(await log(), [{ ...sampleEvent(3), sequence: 1 }, ...answered]);
    assert.deepEqual(await store().events.undecoded({ limit: 9 }), []);
    const filter = { merchant: "GM", types: ["payment.claimed"], toHeight: 1_002 };
    assert.deepEqual(await store().events.read({ filter, order: "asc", limit: 9 }), [answered[0]]);
    assert.deepEqual(await append(store(), sampleEvent(1)), [], "it is held");
  });

  test("forgetUndecoded deletes events closed before a time, at most 200 at a call, and returns their number", async () => {
    const at = (n: number) => new Date(Date.parse("2026-11-01T00:00:00Z") + n * 1_000).toISOString().slice(0, 19) + "Z";
    for (let n = 0; n < 300; n += 100) {
      const one = (n: number) => sampleUndecoded(n, { ledgerClosedAt: at(n) });
      const step = Array.from({ length: 100 }, (_, index) => one(n + index));
      await append(store(), ...step);
    }
    assert.equal(await store().events.forgetUndecoded(at(0)), 0);
    assert.equal(await store().events.forgetUndecoded(at(250)), 200);
    assert.equal(await store().events.forgetUndecoded(at(250)), 50);
    assert.equal(await store().events.forgetUndecoded(at(250)), 0);
    const left = await store().events.undecoded({ limit: 100 });
    assert.deepEqual(left.map(({ id }) => id), Array.from({ length: 50 }, (_, n) => sampleId(250 + n)));
  });

  test("forgetUndecoded compares times and not their texts, so an event far in the future stays", async () => {
    const closedAt = ["+010000-01-01T00:00:00Z", "2026-11-01T00:00:05Z", "-000001-01-01T00:00:00Z"];
    await append(store(), ...closedAt.map((ledgerClosedAt, n) => sampleUndecoded(n, { ledgerClosedAt })));
    assert.equal(await store().events.forgetUndecoded("2026-11-01T00:00:05Z"), 1);
    const left = await store().events.undecoded({ limit: 9 });
    assert.deepEqual(left.map(({ ledgerClosedAt }) => ledgerClosedAt), closedAt.slice(0, 2));
  });
}
