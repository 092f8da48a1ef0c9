import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import {
  endOfLedger,
  eventId,
  ledgerOfPosition,
  ledgerOfRpcId,
  MAX_LEDGER,
  positionOf,
  positionOfEventId,
} from "../../lib/events/position.ts";
import { rpcId } from "./simulated_node.ts";

const epoch = fc.integer({ min: 0, max: 9_999 });
const place = fc.tuple(
  fc.integer({ min: 1, max: MAX_LEDGER }),
  fc.integer({ min: 0, max: 0xfffff }),
  fc.integer({ min: 0, max: 0xfff }),
  fc.integer({ min: 0, max: 0xffffffff }),
);

describe("positions", () => {
  test("a known event id of the network gives its ledger (SEP-35)", () => {
    // Ledger 1 234 567, transaction 3, operation 1, second event.
    assert.equal(rpcId(1_234_567, 3, 1, 1), "0005302424889733121-0000000001");
    assert.equal(ledgerOfRpcId("0005302424889733121-0000000001"), 1_234_567);
  });

  test("sort as text like epoch, ledger, transaction, operation and index", () => {
    fc.assert(fc.property(epoch, place, epoch, place, (epochA, a, epochB, b) => {
      const numbers = [[epochA, ...a], [epochB, ...b]] as const;
      const differs = numbers[0].findIndex((number, i) => number !== numbers[1][i]);
      const expected = differs < 0 ? 0 : Math.sign(numbers[0][differs]! - numbers[1][differs]!);
      const [one, two] = [positionOf(epochA, rpcId(...a)), positionOf(epochB, rpcId(...b))];
      assert.equal(one < two ? -1 : one > two ? 1 : 0, expected);
    }));
  });

  test("the end of a ledger lies after all of it and before all that follows", () => {
    fc.assert(fc.property(fc.integer({ min: 0, max: 9_998 }), place, (epoch, [ledger, ...rest]) => {
      const position = positionOf(epoch, rpcId(ledger, ...rest));
      assert.ok(position <= endOfLedger(epoch, ledger));
      assert.ok(position > endOfLedger(epoch, ledger - 1));
      assert.ok(position < endOfLedger(epoch + 1, 0));
      assert.equal(ledgerOfPosition(position), ledger);
    }));
  });

  test("an event id leads back to its position, in every epoch", () => {
    fc.assert(fc.property(epoch, place, (epoch, place) => {
      assert.equal(positionOfEventId(eventId(epoch, rpcId(...place))), positionOf(epoch, rpcId(...place)));
    }));
  });

  test("in the first epoch an event's id is the RPC's own", () => {
    assert.equal(eventId(0, rpcId(7, 1, 1, 0)), rpcId(7, 1, 1, 0));
  });

  for (
    const text of [
      "",
      "latest",
      "5302424889733121-1",
      "0005302424889733121-0000000001 ",
      "9999999999999999999-0000000001",
      "0005302424889733121-9999999999",
      "0-0005302424889733121-0000000001",
      "10000-0005302424889733121-0000000001",
    ]
  ) {
    test(`${JSON.stringify(text)} is no event id`, () => assert.equal(positionOfEventId(text), undefined));
  }
});
