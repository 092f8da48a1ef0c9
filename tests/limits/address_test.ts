// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createAddressLimiter } from "../../lib/limits/address_limiter.ts";
import { clientAddress } from "../../lib/limits/client_address.ts";
import { addressGroup } from "../../lib/limits/ip_address.ts";

const NOW = Date.parse("2026-03-01T12:00:00.000Z");

describe("addressGroup", () => {
  const groups: [string, string | undefined][] = [
    ["192.0.2.7", "192.0.2.7"],
    ["192.000.002.007", "192.0.2.7"],
    ["255.255.255.255", "255.255.255.255"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::", "2001:db8:1:2::/64"],
    ["2001:0DB8:0001:0002:ffff::1", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["::", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["::ffff:c000:207", "192.0.2.7"],
    ["0:0:0:0:0:FFFF:192.0.2.7", "192.0.2.7"],
    ["64:ff9b::192.0.2.7", "64:ff9b:0:0::/64"],
    ["1:2:3:4:5:6:7::", "1:2:3:4::/64"],
    ["1:2:3:4:5:6:7::8", undefined],
    ["1:2:3:4:5:6:7", undefined],
    ["1:2:3:4:5:6:7:8:9", undefined],
    ["1::2::3", undefined],
    [":1:2:3:4:5:6:7", undefined],
    ["12345::", undefined],
    ["::192.0.2.256", undefined],
    ["192.0.2.1::", undefined],
    ["192.0.2", undefined],
    ["192.0.2.", undefined],
    ["192.0.2.1.", undefined],
    ["192.0.2.1.5", undefined],
    ["256.0.0.1", undefined],
    ["localhost", undefined],
    ["", undefined],
  ];
  for (const [text, group] of groups) {
    test(`counts ${JSON.stringify(text)} as ${group ?? "no address"}`, () => assert.equal(addressGroup(text), group));
  }

  test("counts any form of an IPv6 address under the same /64", () => {
    const words = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });
    fc.assert(fc.property(words, (groups) => {
      const long = groups.map((group) => group.toString(16).padStart(4, "0")).join(":");
      // A URL's hostname is the canonical short form.
      const short = new URL(`http://[${long}]/`).hostname.slice(1, -1);
      assert.equal(addressGroup(short), addressGroup(long));
      assert.equal(addressGroup(long)?.split(":").length, 6);
    }));
  });
});

describe("clientAddress", () => {
  const from = (forwarded: string | undefined, hops: number) =>
    clientAddress(new Headers(forwarded === undefined ? {} : { "X-Forwarded-For": forwarded }), "10.0.0.1", hops);

  test("ignores X-Forwarded-For when no proxy is trusted", () => {
    assert.equal(from("203.0.113.9", 0), "10.0.0.1");
  });

  test("counts X-Forwarded-For entries from the right, one for each trusted proxy", () => {
    const forwarded = "198.51.100.66, 203.0.113.9,192.0.2.1";
    assert.equal(from(forwarded, 1), "192.0.2.1");
    assert.equal(from(forwarded, 2), "203.0.113.9");
    assert.equal(from(forwarded, 3), "198.51.100.66");
  });

  test("ignores entries that the caller added to X-Forwarded-For itself", () => {
    assert.equal(from("1.1.1.1, 2.2.2.2, 203.0.113.9", 1), "203.0.113.9");
  });

  test("joins several X-Forwarded-For headers in their order", () => {
    const headers = new Headers();
    headers.append("x-forwarded-for", "198.51.100.66");
    headers.append("x-forwarded-for", "203.0.113.9");
    assert.equal(clientAddress(headers, "10.0.0.1", 1), "203.0.113.9");
    assert.equal(clientAddress(headers, "10.0.0.1", 2), "198.51.100.66");
  });

  test("accepts entries with a port", () => {
    assert.equal(from("203.0.113.9:4711", 1), "203.0.113.9");
    assert.equal(from("[2001:db8::1]:4711", 1), "2001:db8::1");
    assert.equal(from("2001:db8::1", 1), "2001:db8::1");
  });

  for (const forwarded of [undefined, "", "unknown", "203.0.113.9,", ",", "203.0.113.9, _hidden", "203.0.113.300"]) {
    test(`falls back to the socket's address for ${JSON.stringify(forwarded)}`, () => {
      assert.equal(from(forwarded, 1), "10.0.0.1");
    });
  }

  test("falls back to the socket's address when there are fewer entries than proxies", () => {
    assert.equal(from("203.0.113.9", 2), "10.0.0.1");
    assert.equal(from(", 203.0.113.9", 2), "10.0.0.1");
    assert.equal(from("203.0.113.9", 10), "10.0.0.1");
  });
});

describe("the limit by address", () => {
  test("gives each IPv4 address and each /64 its own bucket, and callers without an address one shared bucket", () => {
    const limiter = createAddressLimiter({ monotonicNow: () => NOW, rate: 2 });
    assert.equal(limiter.take("192.0.2.1").remaining, 1);
    assert.equal(limiter.take("192.0.2.2").remaining, 1);
    assert.equal(limiter.take("::ffff:192.0.2.1").remaining, 0);
    assert.equal(limiter.take("192.0.2.1").allowed, false);
    assert.equal(limiter.take("2001:db8:1:2::a").remaining, 1);
    assert.equal(limiter.take("2001:db8:1:2:ffff::b").remaining, 0);
    assert.equal(limiter.take("2001:db8:1:3::a").remaining, 1);
    assert.equal(limiter.take("").remaining, 1);
    assert.equal(limiter.take("unix:/run/gateway.sock").remaining, 0);
  });

  test("peek takes no token, and needs no address while the limiter holds no bucket", () => {
    const limiter = createAddressLimiter({ monotonicNow: () => NOW, rate: 2 });
    const seen = limiter.peek(() => assert.fail("asked"));
    assert.deepEqual(seen, { allowed: true, limit: 2, remaining: 2, resetSeconds: 30, retryAfterSeconds: 0 });
    limiter.take("192.0.2.1");
    assert.equal(limiter.peek(() => "192.0.2.1").remaining, 1);
    assert.equal(limiter.peek(() => "192.0.2.2").remaining, 2);
    assert.equal(limiter.size, 1);
  });

  test("keeps an address refused when 5000 other addresses arrive, and holds at most 100 buckets", () => {
    const limiter = createAddressLimiter({ monotonicNow: () => NOW, rate: 2, maxAddresses: 100 });
    while (limiter.take("192.0.2.1").allowed);
    let crowd = 0;
    for (let i = 0; i < 5_000; i++) if (limiter.take(`10.0.${i >> 8}.${i & 255}`).allowed) crowd++;
    assert.equal(limiter.take("192.0.2.1").allowed, false);
    assert.equal(limiter.size, 100);
    assert.equal(crowd, 99 + 2, "one request for each place in the table, and the shared bucket's");
  });

  test("keeps a bucket until the bucket is full again, and then drops it", () => {
    let nowMs = NOW;
    const limiter = createAddressLimiter({ monotonicNow: () => nowMs, rate: 2, maxAddresses: 100 });
    for (let i = 0; i < 99; i++) limiter.take(`10.0.0.${i}`);
    nowMs += 59_999;
    while (limiter.take("10.0.1.1").allowed);
    nowMs += 1;
    assert.equal(limiter.take("10.0.1.1").allowed, false);
    for (let i = 0; i < 5; i++) limiter.take(`10.0.2.${i}`);
    assert.equal(limiter.size, 100);
    assert.equal(limiter.peek(() => "10.0.1.1").remaining, 0);
    nowMs += 60_000;
    for (let i = 0; i < 99; i++) assert.equal(limiter.take(`10.0.3.${i}`).remaining, 1);
    assert.equal(limiter.peek(() => "10.0.1.1").remaining, 2);
    nowMs += 60_000;
    limiter.peek(() => "");
    nowMs += 60_000;
    limiter.peek(() => "");
    assert.equal(limiter.size, 0);
  });
});
