// needs: long, once
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

const MANIFEST = ["--quiet", "--locked", "--manifest-path", "lib/sandbox/contracts/Cargo.toml"];

/** Without symbols for a debugger, which take long to build. */
const cargo = (...args: string[]) =>
  spawnSync("cargo", args, { encoding: "utf8", env: { ...process.env, CARGO_PROFILE_DEV_DEBUG: "0" } });

const fetched = cargo("fetch", ...MANIFEST);
const skip = fetched.status === 0 ? false : `cargo is missing, or cannot fetch the crates: ${fetched.stderr ?? ""}`;

test("the contracts pass their own tests in Rust", { skip }, () => {
  const { status, stdout, stderr } = cargo("test", ...MANIFEST);
  assert.equal(status, 0, `${stdout}\n${stderr}`);
  assert.match(stdout, /test result: ok\. [1-9]/);
});
