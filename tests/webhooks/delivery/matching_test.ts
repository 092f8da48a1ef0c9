import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Filter, indexSubscriptions, type Listener, matches } from "../../../lib/webhooks/delivery/matching.ts";

const event = { position: "0000/5", type: "payment.authorized", deviceHash: "aa", merchant: "GA" };
const all: Filter = { types: null, deviceHash: null, merchant: null };

test("a filter lets through what it names, and everything when it names nothing", () => {
  assert.equal(matches(all, event), true);
  assert.equal(matches({ ...all, types: ["escrow.funded", "payment.authorized"] }, event), true);
  assert.equal(matches({ ...all, types: ["escrow.funded"] }, event), false);
  assert.equal(matches({ ...all, deviceHash: "aa" }, event), true);
  assert.equal(matches({ ...all, deviceHash: "bb" }, event), false);
  assert.equal(matches({ types: ["payment.authorized"], deviceHash: "aa", merchant: "GB" }, event), false);
});

test("an event without a field does not match a filter on it", () => {
  const claimed = { type: "payment.claimed", merchant: "GA" };
  assert.equal(matches({ ...all, deviceHash: "aa" }, claimed), false);
  assert.equal(matches({ ...all, merchant: "GA" }, claimed), true);
  assert.equal(matches({ ...all, merchant: "GA" }, { type: "device.revoked", deviceHash: "aa" }), false);
});

test("nobody hears an event at or before the start of its subscription", () => {
  const listener = (id: string, startPosition: string): Listener => ({ id, startPosition, ...all });
  const index = indexSubscriptions([listener("c", "0000/4"), listener("b", "0000/5"), listener("a", "0000/0")]);
  assert.deepEqual(index.matching(event), ["a", "c"]);
  assert.equal(index.firstStart, "0000/0");
});

test("the index finds exactly whom looking at every subscription finds, ascending", () => {
  const types = ["t1", "t2", "t3"];
  const filter = fc.record({
    types: fc.option(fc.subarray(types, { minLength: 1 })),
    deviceHash: fc.option(fc.constantFrom("d1", "d2")),
    merchant: fc.option(fc.constantFrom("m1", "m2")),
    startPosition: fc.constantFrom("1", "3", "5"),
  });
  const anEvent = fc.record({
    type: fc.constantFrom(...types),
    deviceHash: fc.option(fc.constantFrom("d1", "d2"), { nil: undefined }),
    merchant: fc.option(fc.constantFrom("m1", "m2"), { nil: undefined }),
    position: fc.constantFrom("2", "4", "6"),
  });
  fc.assert(fc.property(fc.array(filter, { maxLength: 30 }), anEvent, (filters, event) => {
    const listeners = filters.map((fields, n) => ({ ...fields, id: `wh_${(n * 7919) % 1000}-${n}` }));
    const expected = listeners.filter((one) => one.startPosition < event.position && matches(one, event));
    assert.deepEqual(indexSubscriptions(listeners).matching(event), expected.map(({ id }) => id).sort());
  }));
});
