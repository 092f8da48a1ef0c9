import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { GatewayError } from "../../lib/errors.ts";
import { cursorAfterEvent, decodeCursor, encodeCursor } from "../../lib/events/cursor.ts";
import { eventId, MAX_LEDGER, positionOf } from "../../lib/events/position.ts";
import { rpcId } from "./simulated_node.ts";

const position = fc.tuple(
  fc.integer({ min: 0, max: 9_999 }),
  fc.integer({ min: 0, max: MAX_LEDGER }),
  fc.integer({ min: 0, max: 0xfffff }),
  fc.integer({ min: 0, max: 0xfff }),
  fc.integer({ min: 0, max: 0xffffffff }),
).map(([epoch, ...place]) => positionOf(epoch, rpcId(...place)));

const refused = (error: unknown) =>
  error instanceof GatewayError && error.code === "invalid_request" &&
  /^(cursor must be one from an earlier answer|Last-Event-ID must be the id of an event), got "/.test(error.message);

describe("cursors", () => {
  test("lead back to the position they were made of", () => {
    fc.assert(fc.property(position, (position) => assert.equal(decodeCursor(encodeCursor(position)), position)));
  });

  test("fit into a URL unescaped and have one length", () => {
    fc.assert(fc.property(position, (position) => assert.match(encodeCursor(position), /^[A-Za-z0-9_-]{24}$/)));
  });

  test("keep their form: one handed out by an earlier version still reads", () => {
    assert.equal(encodeCursor(positionOf(3, rpcId(1_234_567, 3, 1, 1))), "AQADABLWhwAAMAEAAAAB-Pid");
  });

  test("with any one character changed are refused", () => {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const change = fc.record({ at: fc.nat(23), by: fc.integer({ min: 1, max: 63 }) });
    fc.assert(fc.property(position, change, (position, { at, by }) => {
      const cursor = encodeCursor(position);
      const other = alphabet[(alphabet.indexOf(cursor[at]!) + by) % 64];
      assert.throws(() => decodeCursor(cursor.slice(0, at) + other + cursor.slice(at + 1)), refused);
    }));
  });

  test("of any other text are refused", () => {
    fc.assert(fc.property(fc.string(), (text) => assert.throws(() => decodeCursor(text), refused)));
    for (const text of ["", "0", "AAAAAAAAAAAAAAAAAAAAAAAA", "________________________", rpcId(7, 1, 1, 0)]) {
      assert.throws(() => decodeCursor(text), refused);
    }
  });

  test("a long text that is no cursor is not quoted in full", () => {
    assert.throws(() => decodeCursor("x".repeat(10_000)), (error: Error) => error.message.length < 120);
  });

  test("go on after an event by its id, as a stream's Last-Event-ID does", () => {
    const id = rpcId(7, 1, 1, 0);
    assert.equal(decodeCursor(cursorAfterEvent(id)), positionOf(0, id));
    assert.equal(decodeCursor(cursorAfterEvent(eventId(2, id))), positionOf(2, id));
    assert.throws(() => cursorAfterEvent("wh_1"), refused);
  });
});
