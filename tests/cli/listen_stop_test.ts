// needs: runtime
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { test } from "node:test";
import { environment, sourceCommand } from "../e2e/sandbox_process.ts";
import { longOnly } from "../tier.ts";

for (const [command, skip] of [["listen", false], ["tail", longOnly]] as const) {
  test(`${command} that waits for a sandbox ends with Ctrl-C`, { skip }, async () => {
    const [program, ...source] = sourceCommand();
    const child = spawn(program!, [...source, command, "--sandbox", "http://127.0.0.1:1"], { env: environment() });
    const ended = once(child, "exit");
    let errors = "";
    await new Promise<void>((resolve) => {
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        errors += text;
        if (errors.includes("waiting for the sandbox")) resolve();
      });
    });
    process.kill(child.pid!, "SIGINT");
    assert.deepEqual(await ended, [null, "SIGINT"], errors);
  });
}
