import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { EventFilter, LoggedEvent, NewEvent } from "../../lib/store/event.ts";
import { formatEventId, heightOf, matches } from "../../lib/store/event.ts";
import { forTier } from "../tier.ts";
import { append, sampleEvent } from "./samples.ts";
import type { Subject } from "./store_contract.ts";

/** Few of each, so that filters meet and miss; one that no event has. */
const TYPES = ["escrow.funded", "payment.claimed", "payment.expired"];
const HASHES = ["ab", "cd"].map((digits) => digits.repeat(32));
const ADDRESSES = ["A", "B"].map((letter) => `G${letter.repeat(55)}`);
const [NO_HASH, NO_ADDRESS] = ["ef".repeat(32), "C".repeat(56)];
const EPOCHS = 2;
const LEDGERS = 12;

const optional = (values: string[]) => fc.option(fc.constantFrom(...values), { nil: undefined });
const height = fc.tuple(fc.nat(EPOCHS), fc.nat(LEDGERS + 1)).map(([epoch, ledger]) => heightOf(epoch, ledger));

const anEvent = fc.record({
  epoch: fc.nat(EPOCHS - 1),
  ledger: fc.integer({ min: 1, max: LEDGERS }),
  type: fc.constantFrom(...TYPES),
  txHash: fc.constantFrom(...HASHES),
  deviceHash: optional(HASHES),
  agent: optional(ADDRESSES),
  merchant: optional(ADDRESSES),
});

const aFilter: fc.Arbitrary<EventFilter> = fc.record({
  types: fc.subarray([...TYPES, "no.such"]),
  deviceHash: fc.constantFrom(...HASHES, NO_HASH),
  merchant: fc.constantFrom(...ADDRESSES, NO_ADDRESS),
  agent: fc.constantFrom(...ADDRESSES, NO_ADDRESS),
  txHash: fc.constantFrom(...HASHES, NO_HASH),
  fromHeight: height,
  toHeight: height,
}, { requiredKeys: [] });

const aQuery = fc.record({
  filter: aFilter,
  after: fc.option(fc.nat(60), { nil: undefined }),
  upTo: fc.option(fc.nat(60), { nil: undefined }),
  order: fc.constantFrom("asc" as const, "desc" as const),
  limit: fc.constantFrom(1, 3, 10, 1_000),
  withOwn: fc.constantFrom(undefined, undefined, true as const),
});

export function filterContract({ store }: Subject): void {
  test("a query finds the matching events for every filter, with late events and several epochs", async () => {
    const log: LoggedEvent[] = [];
    let index = 0;

    const grow = async (drawn: (typeof anEvent extends fc.Arbitrary<infer Drawn> ? Drawn : never)[]) => {
      const events = drawn.map(({ epoch, ...event }): NewEvent => {
        const id = formatEventId({ epoch, ledger: event.ledger, order: 4_097, index: index++ });
        return sampleEvent(0, { ...event, id });
      });
      log.push(...await append(store(), ...events));
    };
    await grow(fc.sample(anEvent, { numRuns: 30, seed: 1 }));

    await fc.assert(
      fc.asyncProperty(fc.array(anEvent, { maxLength: 1 }), aQuery, async (more, query) => {
        if (log.length < 60) await grow(more);
        const { filter, after = 0, upTo = Infinity, order, limit, withOwn } = query;
        const types = ({ type }: LoggedEvent) => filter.types ?? (withOwn ? [type] : undefined);
        const all = log.filter((event) =>
          event.sequence > after && event.sequence <= upTo && matches({ ...filter, types: types(event) }, event)
        );
        const expected = (order === "asc" ? all : all.toReversed()).slice(0, limit);
        assert.deepEqual(await store().events.read(query), expected);
        assert.equal(await store().events.count(query), Math.min(limit, all.length));
      }),
      { numRuns: forTier({ test: 120, all: 400 }), seed: 20_261_121 },
    );
  });

  test("a filter without matches finds nothing, and an empty list of types matches nothing", async () => {
    await append(store(), sampleEvent(1));
    for (
      const filter of [{ types: [] }, { types: ["x"] }, { agent: "" }, { txHash: "" }, { types: ["x".repeat(9_000)] }]
    ) {
      assert.deepEqual(await store().events.read({ filter, order: "asc", limit: 9 }), []);
      assert.equal(await store().events.count({ filter, limit: 9 }), 0);
    }
  });

  test("conditions that are undefined count as absent", async () => {
    await append(store(), sampleEvent(1));
    const filter = { types: undefined, deviceHash: undefined, fromHeight: undefined, toHeight: undefined };
    assert.equal((await store().events.read({ filter, order: "asc", limit: 9 })).length, 1);
  });

  test("a type, address or hash does not match another with the same beginning", async () => {
    const long = "G".repeat(56);
    const [first, second] = [{ agent: long, type: "a" }, { agent: `${long}A`, type: "ab" }];
    await append(store(), sampleEvent(1, first), sampleEvent(2, second));
    const found = async (filter: EventFilter) =>
      (await store().events.read({ filter, order: "asc", limit: 9 })).map(({ sequence }) => sequence);
    assert.deepEqual(await found({ agent: long }), [1]);
    assert.deepEqual(await found({ agent: `${long}A` }), [2]);
    assert.deepEqual(await found({ types: ["a"] }), [1]);
    assert.deepEqual(await found({ types: ["ab", "ab"] }), [2]);
  });
}
