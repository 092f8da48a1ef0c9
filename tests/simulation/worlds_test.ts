// needs: long, once
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { runtimeCommand } from "../bench/processes.ts";

/** What a change breaks in these shows at once: they were lived through before. */
const WORLDS = ["--from", "10000", "--seeds", "900"];
const SECONDS = Number(process.env.SIMULATE_SECONDS ?? 300);

const [command, ...args] = [...runtimeCommand(runtimeName), fileURLToPath(import.meta.resolve("./simulate.ts"))];
const simulate = (...flags: string[]) => promisify(execFile)(command!, [...args, ...flags], { maxBuffer: 1 << 26 });

test(
  `everything holds in ${SECONDS} seconds of simulated worlds`,
  { timeout: 3 * SECONDS * 1_000 + 600_000 },
  async () => {
    const { stdout, stderr } = await simulate(...WORLDS, "--seconds", String(SECONDS)).catch((error) => error);
    // The last line is there when it came to its end: before it stands which worlds broke, and how to repeat them.
    assert.match(stdout, /; 0 failed\n$/, `${stdout}${stderr}`);
    console.log(stdout.trimEnd());
  },
);

test("who mistypes a flag of the simulation is told, instead of hearing that none of 0 worlds failed", async () => {
  assert.match((await simulate("--help")).stdout, /--seeds N/);
  for (const flags of [["--seeds", "1O"], ["--these", "1,"], ["--sedes", "4"], ["--focus", "x"]]) {
    await assert.rejects(simulate(...flags), { code: 2, stderr: /See: simulate.ts --help/ });
  }
});
