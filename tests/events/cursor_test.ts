// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { GatewayError } from "../../lib/errors.ts";
import { type CursorParts, decodeCursor, encodeCursor, markOf } from "../../lib/events/cursor.ts";
import { MAX_LEDGER } from "../../lib/ledger_numbers.ts";
import { heightOf } from "../../lib/store/event.ts";

const parts: fc.Arbitrary<CursorParts> = fc.record({
  storeId: fc.stringMatching(/^[0-9A-Za-z]{12}$/),
  sequence: fc.oneof(fc.nat(), fc.integer({ min: 0, max: 2 ** 48 - 1 })),
  floor: fc.oneof(fc.constant(0), fc.tuple(fc.nat(9_999), fc.nat(MAX_LEDGER)).map((args) => heightOf(...args))),
  ceiling: fc.constant(0),
  mark: fc.nat(2 ** 24 - 1),
  order: fc.constantFrom("asc", "desc"),
}, { noNullPrototype: true });

const refused = (error: unknown) =>
  error instanceof GatewayError && error.code === "invalid_request" && error.message.startsWith("cursor ");

describe("cursors", () => {
  test("decode to their fields", () => {
    fc.assert(fc.property(parts, (parts) => assert.deepEqual(decodeCursor(encodeCursor(parts)), parts)));
  });

  test("fit into a URL unescaped and have one length", () => {
    fc.assert(fc.property(parts, (parts) => assert.match(encodeCursor(parts), /^[A-Za-z0-9_-]{44}$/)));
  });

  test("with an upper ledger decode to it, and have a length of 52 characters", () => {
    const height = fc.tuple(fc.nat(9_999), fc.integer({ min: 1, max: MAX_LEDGER })).map((args) => heightOf(...args));
    fc.assert(fc.property(parts, height, (parts, ceiling) => {
      const cursor = encodeCursor({ ...parts, ceiling });
      assert.match(cursor, /^[A-Za-z0-9_-]{52}$/);
      assert.deepEqual(decodeCursor(cursor), { ...parts, ceiling });
    }));
  });

  const place = { storeId: "0123456789ab", sequence: 1_234_567, floor: heightOf(3, 50_000), ceiling: 0 };
  const known = { ...place, order: "desc" } as const;

  test("have a fixed encoding, so that a cursor from an earlier version still works", () => {
    assert.equal(encodeCursor({ ...known, mark: 0xabcdef }), "AQEwMTIzNDU2Nzg5YWIAAAAS1ocAAwAAw1Crze8-kPhB");
    const bounded = encodeCursor({ ...known, ceiling: heightOf(3, 60_000), mark: 0xabcdef });
    assert.equal(bounded, "AgEwMTIzNDU2Nzg5YWIAAAAS1ocAAwAAw1Crze8AAwAA6mC7Z3Q_");
  });

  test("contain a mark that depends on the id and transaction of the event at their position", () => {
    const event = { id: "0000000001234567890-0000000001", txHash: "ab".repeat(32) };
    const mark = markOf(event);
    assert.ok(mark > 0 && mark < 2 ** 24);
    assert.equal(markOf({ ...event }), mark);
    assert.notEqual(markOf({ ...event, id: "0000000001234567890-0000000002" }), mark);
    assert.notEqual(markOf({ ...event, txHash: "cd".repeat(32) }), mark);
  });

  test("with any one character changed are refused", () => {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const change = fc.record({ at: fc.nat(43), by: fc.integer({ min: 1, max: 63 }) });
    fc.assert(fc.property(parts, change, (parts, { at, by }) => {
      const cursor = encodeCursor(parts);
      const other = alphabet[(alphabet.indexOf(cursor[at]!) + by) % 64];
      assert.throws(() => decodeCursor(cursor.slice(0, at) + other + cursor.slice(at + 1)), refused);
    }));
  });

  test("that are any other text are refused", () => {
    fc.assert(fc.property(fc.string(), (text) => assert.throws(() => decodeCursor(text), refused)));
    const runs = [40, 44, 52].flatMap((length) => ["A".repeat(length), "_".repeat(length)]);
    for (const text of ["", "0", ...runs]) assert.throws(() => decodeCursor(text), refused);
  });

  test("that are long invalid texts are not quoted in full in the error", () => {
    assert.throws(() => decodeCursor("x".repeat(10_000)), (error: Error) => error.message.length < 120);
  });
});
