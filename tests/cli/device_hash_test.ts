// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { UsageError } from "../../cli/command.ts";
import { command } from "../../cli/device_hash.ts";
import vectors from "../client/device_hashes.json" with { type: "json" };
import { fakeIo, type FakeIoOptions } from "./fake_io.ts";

async function run(args: string[], options: FakeIoOptions = {}) {
  const io = fakeIo(options);
  return { code: await command.run(args, io), out: io.out, err: io.err };
}

const [first, second] = vectors.map(({ deviceHash }) => deviceHash);
const other = vectors.find(({ uid }) => uid === "DE:AD:BE:EF")!;

test("device-hash prints the hash of each UID, one per line", async () => {
  assert.equal(first, second);
  const { code, out, err } = await run(["04:A2:2B:11:5C:80:01", other.uid]);
  assert.deepEqual([code, out, err], [0, `${first}\n${other.deviceHash}\n`, ""]);
});

test("device-hash - reads UIDs from standard input, and skips empty lines", async () => {
  const { out } = await run(["-"], { stdin: "04a22b115c8001\r\n\n  DE:AD:BE:EF\n" });
  assert.equal(out, `${first}\n${other.deviceHash}\n`);
});

test("device-hash warns of a random UID", async () => {
  const { code, err } = await run(["08:12:34:56"]);
  assert.equal(code, 0);
  assert.match(err, /08:12:34:56 is random/);
});

for (const args of [[], ["04:A2"], ["04:A2:2B:11:5C:80:01", "card"], ["--json", "04:A2:2B:11"]]) {
  test(`device-hash ${args.join(" ")} prints no hash, and names the error`, async () => {
    await assert.rejects(run(args), UsageError);
  });
}
