// needs: long, once
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { runtimeCommand } from "../bench/processes.ts";
import { run } from "./run.ts";

/** Worlds that run on both runtimes: successive gateways, isolates, card reads and payments. */
const COMPARED = [8, 13, 104, 107, 111];

test("a seed has the same trace on both runtimes", async () => {
  const [other] = (["bun", "deno"] as const).filter((name) => name !== runtimeName);
  const [command, ...args] = [
    ...runtimeCommand(other!),
    fileURLToPath(import.meta.resolve("./simulate.ts")),
    "--these",
    COMPARED.join(),
    "--traces",
  ];
  const there = promisify(execFile)(command!, args);
  const here: string[] = [];
  for (const seed of COMPARED) here.push((await run(seed)).trace);
  const { stdout } = await there;
  assert.deepEqual([...stdout.matchAll(/trace (\w+)/g)].map(([, trace]) => trace), here);
});
