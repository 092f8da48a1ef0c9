import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import { UsageError } from "../../cli/command.ts";
import { command } from "../../cli/version.ts";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import packageJson from "../../package.json" with { type: "json" };
import { fakeIo } from "./fake_io.ts";

const runtimeVersion = process.versions[runtimeName];

test("version names the program's version, its runtime and the platform; from sources there is no commit", async () => {
  const io = fakeIo();
  assert.equal(await command.run([], io), 0);
  assert.ok(
    io.out.startsWith(`${packageJson.version} (${runtimeName} ${runtimeVersion}, ${process.platform}-`),
    io.out,
  );
});

test("version --json prints one line", async () => {
  const io = fakeIo();
  await command.run(["--json"], io);
  assert.deepEqual(JSON.parse(io.out), {
    version: packageJson.version,
    commit: null,
    runtime: runtimeName,
    runtimeVersion,
    platform: `${process.platform}-${process.arch}`,
  });
});

test("version takes nothing else", () => {
  for (const args of [["--short"], ["now"]]) assert.throws(() => command.run(args, fakeIo()), UsageError);
});
