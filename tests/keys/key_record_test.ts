// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { KeyRecordsError, parseKeyRecords } from "../../lib/keys/key_record.ts";
import { keySourceFromText } from "../../lib/keys/key_source.ts";
import { testKey } from "./test_keys.ts";

const one = testKey({ rate: 600, expiresAt: "2027-01-01T00:00:00.000Z" }).record;
const two = testKey().record;
const line = JSON.stringify;

function refusal(text: string): string {
  try {
    parseKeyRecords(text);
  } catch (error) {
    assert.ok(error instanceof KeyRecordsError);
    return error.message;
  }
  assert.fail("nothing was refused");
}

describe("parseKeyRecords", () => {
  const forms: [string, string][] = [
    ["a JSON array", line([one, two])],
    ["an array over several lines", JSON.stringify([one, two], null, 2)],
    ["one record per line", `${line(one)}\n${line(two)}\n`],
    ["lines with Windows line ends and empty lines between", `${line(one)}\r\n\r\n${line(two)}\r\n`],
    ["lines that end in commas", `${line(one)},\n${line(two)},\n`],
    ["records with commas between, on one line", `${line(one)},${line(two)}`],
  ];
  for (const [what, text] of forms) {
    test(`reads ${what}`, () => assert.deepEqual(parseKeyRecords(text), [one, two]));
  }

  test("reads one record over several lines, and returns an empty list for a text without records", () => {
    assert.deepEqual(parseKeyRecords(JSON.stringify(one, null, 2)), [one]);
    assert.deepEqual(parseKeyRecords(" \n"), []);
    assert.deepEqual(parseKeyRecords("[]"), []);
  });

  test("reads a record without the field disabled as enabled", () => {
    const { disabled: _, ...bare } = one;
    assert.equal(parseKeyRecords(line(bare))[0]!.disabled, false);
  });

  const refused: [string, Record<string, unknown>, RegExp][] = [
    ["a misspelt field", { disabeld: true }, /record 2: unknown field "disabeld"/],
    ["a disabled field that is not a boolean", { disabled: "yes" }, /record 2: disabled must be true or false/],
    ["an unknown scope", { scopes: ["read", "raed"] }, /record 2: scopes\.1 must be one of read, write, webhooks/],
    ["a rate of 0", { rate: 0 }, /record 2: rate must be an integer from 1 to 1000000/],
    ["a rate that is a string", { rate: "5" }, /record 2: rate must be an integer/],
    ["a short hash", { hash: "abc" }, /record 2: hash must be 64 lower-case hex digits/],
    ["a missing name", { name: undefined }, /record 2: name must be a string/],
    ["an id with an underscore", { id: "a_b" }, /record 2: id must be 1–32 letters and digits/],
    ["a time without a zone", { expiresAt: "2027-01-01T00:00:00" }, /record 2: expiresAt must be an ISO 8601 time/],
    ["an id that another record has", { id: one.id }, /record 2 must have its own id; got \w+ of an earlier record/],
  ];
  for (const [what, changed, message] of refused) {
    test(`refuses ${what}, naming record and field`, () => {
      assert.match(refusal(line([one, { ...two, ...changed }])), message);
    });
  }

  test("refuses an entry that is not a record, and names its number", () => {
    assert.match(refusal(`${line(one)}\nnonsense`), /^key record 2 must be valid JSON$/);
    assert.match(refusal("[3]"), /^key record 1: must be an object$/);
    assert.match(refusal("[{"), /^must be JSON, as an array of key records or a record on each line; got 2 characters/);
    assert.match(refusal("{"), /^must be JSON, .*; got 1 character without a record$/);
    assert.match(refusal("foo\nbar"), /^must be JSON, .*; got 7 characters/);
  });

  test("quotes no hash and no key in an error message", () => {
    const { key } = testKey();
    for (const text of [`${line(one)}\n${key}`, line([{ ...two, hash: key }]), `[${line(one)}, ${key}]`, key]) {
      const message = refusal(text);
      assert.ok(!message.includes(key.slice(-20)) && !message.includes(one.hash.slice(0, 8)), message);
    }
  });
});

describe("keySourceFromText", () => {
  test("returns the keys of SERVICE_API_KEYS, and its version never changes", async () => {
    const source = keySourceFromText(`${line(one)}\n${line(two)}`);
    assert.deepEqual(await source.get(two.id), two);
    assert.equal(await source.get("other"), undefined);
    assert.deepEqual([await source.version(), await source.version()], [0, 0]);
    assert.equal(await source.isEmpty(), false);
    assert.equal(await keySourceFromText("").isEmpty(), true);
  });

  test("names the setting SERVICE_API_KEYS when a record is invalid", () => {
    assert.throws(() => keySourceFromText("[1]"), {
      name: "KeyRecordsError",
      message: "SERVICE_API_KEYS: key record 1: must be an object",
    });
  });
});
