// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type EventFilter, matches } from "../../../lib/store/event.ts";
import { createMatcher } from "../../../lib/webhooks/delivery/matching.ts";
import { eventAt } from "../parts.ts";

test("the matcher finds exactly whom looking at every listener finds", () => {
  const types = ["t1", "t2", "t3"];
  const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
  const filter: fc.Arbitrary<EventFilter> = fc.record({
    types: optional(fc.subarray(types, { minLength: 1 })),
    deviceHash: optional(fc.constantFrom("d1", "d2")),
    merchant: optional(fc.constantFrom("m1", "m2")),
    fromHeight: optional(fc.constantFrom(1, 3, 5)),
  });
  const anEvent = fc.record({
    type: fc.constantFrom(...types),
    deviceHash: optional(fc.constantFrom("d1", "d2")),
    merchant: optional(fc.constantFrom("m1", "m2")),
    ledger: fc.constantFrom(2, 4, 6),
  }).map(({ ledger, ...fields }) => eventAt(ledger, 1, fields));
  fc.assert(fc.property(fc.array(filter, { maxLength: 30 }), anEvent, (filters, event) => {
    const matcher = createMatcher<number>();
    filters.forEach((one, index) => matcher.add(one, index));
    const expected = filters.flatMap((one, index) => matches(one, event) ? [index] : []);
    assert.deepEqual(matcher.matching(event).sort((a, b) => a - b), expected);
  }));
});
