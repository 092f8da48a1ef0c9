// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { stopInOrder } from "../../lib/gateway/stop_steps.ts";
import { fakeClock } from "../stellar/rpc/stub_rpc.ts";

function stopping() {
  const { now, wait } = fakeClock();
  const startMs = now();
  const ended: string[] = [];
  const problems: string[] = [];
  const step = (name: string, stop: () => Promise<unknown>, boundMs = 1_000) => ({
    name,
    boundMs,
    stop: () => (ended.push(name), stop()),
  });
  return {
    ended,
    problems,
    step,
    tookMs: () => now() - startMs,
    run: (steps: ReturnType<typeof step>[]) =>
      stopInOrder(steps, { wait, onProblem: (message, cause) => problems.push(`${message}: ${cause}`) }),
  };
}

describe("stopInOrder", () => {
  test("starts each step after the step before has ended", async () => {
    const { run, step, ended, problems } = stopping();
    let isFirstOver = false;
    const isClean = await run([
      step("first", () => Promise.resolve().then(() => isFirstOver = true)),
      step("second", () => Promise.resolve(assert.ok(isFirstOver))),
    ]);
    assert.deepEqual([isClean, ended, problems], [true, ["first", "second"], []]);
  });

  test("gives up a hanging step after its time limit, reports it, and continues", async () => {
    const { run, step, ended, problems, tookMs } = stopping();
    const isClean = await run([
      step("posts", () => new Promise(() => {}), 3_000),
      step("leases", () => Promise.resolve()),
    ]);
    assert.deepEqual([isClean, ended, tookMs()], [false, ["posts", "leases"], 3_000]);
    assert.deepEqual(problems, ["posts did not stop within 3000 ms: undefined"]);
  });

  test("reports a step that rejects or throws, and continues", async () => {
    const { run, step, ended, problems } = stopping();
    const isClean = await run([
      step("posts", () => Promise.reject(new Error("no"))),
      step("leases", () => {
        throw new Error("never");
      }),
      step("keys", () => Promise.resolve()),
    ]);
    assert.deepEqual([isClean, ended], [false, ["posts", "leases", "keys"]]);
    assert.deepEqual(problems, ["stopping posts failed: Error: no", "stopping leases failed: Error: never"]);
  });
});
