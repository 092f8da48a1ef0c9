// needs: neutral
import { strict as assert } from "node:assert";
import { describe, test } from "node:test";
import { beforeLedger, endOfLedger, parseEventCursor } from "../../../lib/sandbox/rpc/event_cursor.ts";

describe("an event cursor", () => {
  test("is parsed to its ledger and to an id of full width", () => {
    const id = "0000000021474840576-0000000003";
    assert.deepEqual(parseEventCursor(id), { ledger: 5, id });
    assert.deepEqual(parseEventCursor("21474840576-3"), { ledger: 5, id });
  });

  test("at the end of a ledger is the highest one in that ledger", () => {
    assert.equal(endOfLedger(5), "0000000025769803775-4294967295");
    assert.deepEqual(parseEventCursor(endOfLedger(5)), { ledger: 5, id: endOfLedger(5) });
    assert.ok("0000000021474840576-0000000003" < endOfLedger(5));
  });

  test("before a ledger sorts between that ledger and the previous one", () => {
    assert.ok(beforeLedger(5) < "0000000021474836480-0000000000");
    assert.ok("0000000021474832384-0000000009" < beforeLedger(5));
    assert.equal(beforeLedger(0), "0000000000000000000-4294967295");
  });

  const MALFORMED = [
    "",
    "5",
    "abc",
    "5-",
    "-5-1",
    "+5-1",
    "5-1-2",
    "5 -1",
    "9223372036854775808-0",
    "1-4294967296",
    "1-x",
  ];
  for (const text of MALFORMED) {
    test(`'${text}' is refused with -32602`, () => {
      const message = `invalid parameters: invalid event id ${text}`;
      assert.throws(() => parseEventCursor(text), { code: -32602, message });
    });
  }
});
