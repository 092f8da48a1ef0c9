// needs: long, once
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { runtimeCommand } from "../bench/processes.ts";

/** These worlds ran before, so a new failure in them comes from a new change. */
const WORLDS = ["--from", "10000", "--seeds", "900"];
const SECONDS = Number(process.env.SIMULATE_SECONDS ?? 300);

const [command, ...args] = [...runtimeCommand(runtimeName), fileURLToPath(import.meta.resolve("./simulate.ts"))];
const simulate = (...flags: string[]) => promisify(execFile)(command!, [...args, ...flags], { maxBuffer: 1 << 26 });

test(
  `all invariants hold in ${SECONDS} seconds of simulated worlds`,
  { timeout: 3 * SECONDS * 1_000 + 600_000 },
  async () => {
    const { stdout, stderr } = await simulate(...WORLDS, "--seconds", String(SECONDS)).catch((error) => error);
    // A complete run prints the last line, after the broken worlds and the commands to repeat them.
    assert.match(stdout, /; 0 failed\n$/, `${stdout}${stderr}`);
    console.log(stdout.trimEnd());
  },
);

test("the simulation rejects a mistyped flag with exit code 2 and names --help", async () => {
  assert.match((await simulate("--help")).stdout, /--seeds N/);
  for (const flags of [["--seeds", "1O"], ["--these", "1,"], ["--sedes", "4"], ["--focus", "x"]]) {
    await assert.rejects(simulate(...flags), { code: 2, stderr: /See: simulate.ts --help/ });
  }
});
