// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { deviceHash, isRandomUid } from "../../lib/client/device_hash.ts";
import vectors from "./device_hashes.json" with { type: "json" };

for (const { uid, deviceHash: expected } of vectors) {
  test(`the UID ${JSON.stringify(uid)} ${expected === null ? "is refused" : `is ${expected.slice(0, 8)}…`}`, async () => {
    if (expected !== null) assert.equal(await deviceHash(uid), expected);
    else await assert.rejects(deviceHash(uid), { name: "RangeError", message: /^uid must be 4, 7 or 10 bytes/ });
  });
}

test("the bytes and the digits of a UID have the same hash", async () => {
  const bytes = Uint8Array.of(0x04, 0xa2, 0x2b, 0x11, 0x5c, 0x80, 0x01);
  assert.equal(await deviceHash(bytes), vectors[0]!.deviceHash);
  await assert.rejects(deviceHash(bytes.subarray(1)), /got 6 bytes/);
});

test("a UID of four bytes that begins with 08 is random", () => {
  const uids = ["08:12:34:56", "08123456", "18:12:34:56", "08:A2:2B:11:5C:80:01"];
  assert.deepEqual(uids.map(isRandomUid), [true, true, false, false]);
});
