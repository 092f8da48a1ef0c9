// needs: long, once
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { runtimeCommand } from "../bench/processes.ts";

const HALF_AN_HOUR_MS = 1_800_000;

test("the simulated worlds find each planted bug", { timeout: HALF_AN_HOUR_MS }, async () => {
  const [command, ...args] = [...runtimeCommand(runtimeName), fileURLToPath(import.meta.resolve("./planted.ts"))];
  const { stdout, stderr } = await promisify(execFile)(command!, args, { maxBuffer: 1 << 26 }).catch((error) => error);
  // One line for each bug: the world that shows it, or "not found".
  assert.match(stdout, / planted bugs, 0 not found\n$/, `${stdout}${stderr}`);
  console.log(stdout.trimEnd());
});
