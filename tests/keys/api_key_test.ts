// needs: neutral
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { hashKey, KeyFieldError, mintKey, type NewKey, parseKey, sameHash } from "../../lib/keys/api_key.ts";
import { encodeBase62, randomBase62 } from "../../lib/random.ts";
import { NOW, random } from "./test_keys.ts";

const wanted: NewKey = { name: "shop", scopes: ["read"], now: NOW, random };

function refusal(changed: Partial<NewKey>): KeyFieldError {
  try {
    mintKey({ ...wanted, ...changed });
  } catch (error) {
    assert.ok(error instanceof KeyFieldError);
    return error;
  }
  assert.fail(`nothing was refused in ${JSON.stringify(changed)}`);
}

describe("mintKey", () => {
  test("makes a key of prefix, id and secret, and a record with its SHA-256 and without the key", () => {
    const { key, record } = mintKey({ ...wanted, rate: 600, expiresAt: "2026-04-01" });
    assert.match(key, /^service_sk_[0-9A-Za-z]{10}_[0-9A-Za-z]{34}$/);
    assert.deepEqual(record, {
      id: key.split("_")[2],
      name: "shop",
      hash: createHash("sha256").update(key).digest("hex"),
      scopes: ["read"],
      rate: 600,
      disabled: false,
      createdAt: "2026-03-01T12:00:00.000Z",
      expiresAt: "2026-04-01T00:00:00.000Z",
    });
    assert.ok(!JSON.stringify(record).includes(key.split("_")[3]!));
  });

  test("omits rate and expiry when the caller gives neither", () => {
    assert.deepEqual(Object.keys(mintKey(wanted).record), ["id", "name", "hash", "scopes", "disabled", "createdAt"]);
  });

  test("makes a new id and a new secret for each key", () => {
    const keys = Array.from({ length: 500 }, () => mintKey(wanted).key);
    assert.equal(new Set(keys.map((key) => key.split("_")[2])).size, 500);
    assert.equal(new Set(keys.map((key) => key.split("_")[3])).size, 500);
  });

  test("lists each scope once, in the order read, write, webhooks", () => {
    const { record } = mintKey({ ...wanted, scopes: ["webhooks", "read", "webhooks"] });
    assert.deepEqual(record.scopes, ["read", "webhooks"]);
  });

  test("trims the name and accepts letters of any script", () => {
    assert.equal(mintKey({ ...wanted, name: " Café 店 №1 " }).record.name, "Café 店 №1");
    assert.equal(mintKey({ ...wanted, name: "😀".repeat(64) }).record.name.length, 128);
  });

  const refused: [string, Partial<NewKey>, KeyFieldError["field"], RegExp][] = [
    ["an empty name", { name: " " }, "name", /1–64 printable characters; got " "/],
    ["a name of 65 characters", { name: "x".repeat(65) }, "name", /1–64/],
    ["a name that moves the cursor", { name: "a\u001b[2Jb" }, "name", /printable/],
    ["a name with a line break", { name: "a\nb" }, "name", /printable/],
    ["a name with a character that reverses the text direction", { name: "a\u202eb" }, "name", /printable/],
    ["no scope", { scopes: [] }, "scopes", /at least one of read, write, webhooks/],
    ["an unknown scope", { scopes: ["read", "admin"] }, "scopes", /some of read, write, webhooks; got "admin"/],
    ["a rate of 0", { rate: 0 }, "rate", /from 1 to 1000000 requests a minute; got 0/],
    ["a fractional rate", { rate: 1.5 }, "rate", /got 1.5/],
    ["a rate above a million", { rate: 1_000_001 }, "rate", /got 1000001/],
    ["an expiry in the past", { expiresAt: "2026-03-01T12:00:00Z" }, "expiresAt", /in the future/],
    ["an expiry without a zone", { expiresAt: "2026-04-01T12:00" }, "expiresAt", /ISO 8601/],
    ["a day that does not exist", { expiresAt: "2027-02-30" }, "expiresAt", /must be a day and time that exist/],
    [
      "an hour that does not exist",
      { expiresAt: "2027-02-28T25:00:00Z" },
      "expiresAt",
      /that exist; got "2027-02-28T25/,
    ],
    [
      "a text that is not a time",
      { expiresAt: "soon" },
      "expiresAt",
      /ISO 8601 date \(2027-01-31\) or time with its zone .*; got "soon"/,
    ],
  ];
  for (const [what, changed, field, message] of refused) {
    test(`refuses ${what}`, () => {
      const error = refusal(changed);
      assert.equal(error.field, field);
      assert.match(error.message, message);
    });
  }
});

describe("parseKey", () => {
  test("reads the id of a key", () => {
    const { key, record } = mintKey(wanted);
    assert.deepEqual(parseKey(key), { id: record.id });
  });

  test("reports a checksum error for every change of one character", () => {
    const { key } = mintKey(wanted);
    fc.assert(fc.property(fc.integer({ min: 11, max: key.length - 1 }), fc.constantFrom(..."09AZaz"), (at, digit) => {
      if (key[at] === digit || key[at] === "_") return;
      assert.deepEqual(parseKey(key.slice(0, at) + digit + key.slice(at + 1)), { error: "checksum" });
    }));
  });

  test("reports a checksum error when two neighbouring characters are swapped", () => {
    const { key } = mintKey(wanted);
    for (let at = 22; at < key.length - 1; at++) {
      if (key[at] === key[at + 1]) continue;
      const swapped = key.slice(0, at) + key[at + 1] + key[at] + key.slice(at + 2);
      assert.deepEqual(parseKey(swapped), { error: "checksum" });
    }
  });

  test("reports any other text as malformed", () => {
    const { key } = mintKey(wanted);
    const others = ["", "service_sk_", key + "0", key.slice(0, -1), ` ${key}`.slice(0, -1), key.toUpperCase()];
    others.push(
      key.replace("service", "sirvice"),
      key.slice(0, -1) + "é",
      key.slice(0, -1) + "\n",
      key.replace(/_/g, "-"),
    );
    for (const text of others) assert.deepEqual(parseKey(text), { error: "malformed" }, text);
    fc.assert(fc.property(fc.string(), (text) => assert.deepEqual(parseKey(text), { error: "malformed" })));
  });

  test("accepts a fixed key: keys remain valid across releases", () => {
    const key = "service_sk_0123456789_ABCDEFGHIJKLMNOPQRSTUVWXYZab2npbCf";
    assert.deepEqual(parseKey(key), { id: "0123456789" });
  });
});

describe("the parts of a key", () => {
  test("hashKey is SHA-256 in lower-case hex", () => {
    assert.equal(hashKey("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  });

  test("sameHash compares the whole text", () => {
    const hash = hashKey("abc");
    assert.ok(sameHash(hash, hashKey("abc")));
    assert.ok(!sameHash(hash, hash.slice(0, -1) + "e"));
    assert.ok(!sameHash(hash, "b" + hash));
    assert.ok(!sameHash(hash, ""));
  });

  test("encodeBase62 pads with zeros, and six digits can hold a CRC-32", () => {
    assert.equal(encodeBase62(0, 6), "000000");
    assert.equal(encodeBase62(61, 1), "z");
    assert.equal(encodeBase62(62, 1), "10");
    assert.equal(encodeBase62(0xffffffff, 6).length, 6);
  });

  test("randomBase62 returns each digit equally often: it discards bytes of 248 and above", () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    const counts = new Map<string, number>();
    for (const digit of randomBase62(248, () => bytes)) counts.set(digit, (counts.get(digit) ?? 0) + 1);
    assert.equal(counts.size, 62);
    assert.deepEqual(new Set(counts.values()), new Set([4]));
  });
});

test("SECURITY.md shows the pattern of keys, and an example key with a valid checksum", () => {
  const page = readFileSync(join(import.meta.dirname!, "../../SECURITY.md"), "utf8");
  const pattern = new RegExp(`^${/`(service_sk_\S+)`/.exec(page)![1]}$`);
  const example = /^service_sk_\w+$/m.exec(page)![0];
  for (const key of [example, mintKey(wanted).key]) assert.match(key, pattern);
  assert.deepEqual(parseKey(example), { id: "EXAMPLE000" });
});
