import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { runtimeCommand } from "../bench/processes.ts";
import { run } from "./run.ts";

/** More of them: `deno task simulate`. */
const SEEDS = [1, 2, 3];

for (const seed of SEEDS) {
  test(`everything holds in the simulated world of seed ${seed}`, async () => {
    const { broken, events, deliveries, logged } = await run(seed);
    assert.deepEqual(broken, [], logged.join("\n"));
    assert.ok(events > 0 && deliveries > 0, "nothing happened in it");
  });
}

test("a seed has one trace, on either runtime", async () => {
  const [other] = (["bun", "deno"] as const).filter((name) => name !== runtimeName);
  const [command, ...args] = [
    ...runtimeCommand(other!),
    fileURLToPath(import.meta.resolve("./simulate.ts")),
    "--seeds",
    "1",
    "--from",
    "4",
  ];
  const there = promisify(execFile)(command!, args);
  const here = await run(4);
  const { stdout } = await there;
  assert.equal(/trace (\w+)/.exec(stdout)?.[1], here.trace);
});
