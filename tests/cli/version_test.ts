// needs: neutral
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import notices from "../../cli/notices.json" with { type: "json" };
import { UsageError } from "../../cli/command.ts";
import { command } from "../../cli/version.ts";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { packagesInside, ROOT } from "../../compile/notices.ts";
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

test("version --licenses names each package and crate inside, and has the text of each license", async () => {
  const io = fakeIo();
  await command.run(["--licenses"], io);
  assert.match(io.out, /^gateway \S+: Apache-2\.0\n\nIts runtime is (bun|deno) [\d.]+: MIT, with /);
  for (const { name, version, license, texts } of [...notices.packages, ...notices.reference, ...notices.crates]) {
    assert.ok(
      io.out.includes(`  ${name} ${version}: ${license}${texts.map((index) => ` [${index + 1}]`).join("")}\n`),
      name,
    );
    // The Unlicense asks for no notice, and comes without one.
    assert.ok(
      (texts.length > 0 || license === "Unlicense") && texts.every((index) => notices.texts[index]!.length > 10),
      name,
    );
  }
  for (
    const name of [
      "@stellar/stellar-sdk",
      "hono",
      "zod",
      "@scalar/api-reference",
      "vue",
      "soroban-env-host",
      "soroban-sdk",
    ]
  ) {
    assert.ok(io.out.includes(`\n  ${name} `), name);
  }
  const asJson = fakeIo();
  await command.run(["--licenses", "--json"], asJson);
  assert.deepEqual(JSON.parse(asJson.out), notices);
});

test("cli/notices.json names the installed packages, else run ./compile.sh notices", () => {
  assert.deepEqual(
    notices.packages.map(({ name, version, license }) => `${name} ${version} ${license}`),
    packagesInside().map(({ name, version, license }) => `${name} ${version} ${license}`),
  );
});

test("cli/notices.json names the crates of the engine's and the contracts' lock files", () => {
  const locked = ["engine/protocol_27", "engine/protocol_28", "contracts"].map((part) =>
    readFileSync(join(ROOT, "lib/sandbox", part, "Cargo.lock"), "utf8")
  ).join("\n");
  const gone = notices.crates.filter(({ name, version }) =>
    !locked.includes(`name = "${name}"\nversion = "${version}"\n`)
  );
  assert.deepEqual(gone, [], "run ./compile.sh notices");
});

test("version rejects other arguments", async () => {
  for (const args of [["--short"], ["now"]]) await assert.rejects(command.run(args, fakeIo()), UsageError);
});
