// needs: runtime
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { environment, sourceCommand } from "../../e2e/sandbox_process.ts";

test("a gateway still serves, and stops cleanly, after the reader of its log is gone", async () => {
  const folder = mkdtempSync(join(tmpdir(), "no-reader-"));
  const [program, ...args] = sourceCommand();
  const settings = ["--store", `sqlite:${join(folder, "gateway.db")}`, "--rpc-url", "http://127.0.0.1:9"];
  const gateway = spawn(program!, [...args, "serve", "--port", "0", "--log", "json", ...settings], {
    stdio: ["ignore", "ignore", "pipe"],
    env: environment(),
  });
  const ended = once(gateway, "exit");
  const url = await new Promise<string>((resolve) => {
    let log = "";
    gateway.stderr!.setEncoding("utf8").on("data", (text: string) => {
      log += text;
      const listening = log.split("\n").find((line) => line.endsWith("}") && line.includes("gateway is listening"));
      if (listening !== undefined) resolve(JSON.parse(listening).url);
    });
  });
  gateway.stderr!.destroy();
  for (let n = 0; n < 3; n++) assert.equal((await fetch(`${url}/v1/network`)).status, 401);
  process.kill(gateway.pid!, "SIGTERM");
  assert.deepEqual((await ended)[0], 0);
  rmSync(folder, { recursive: true });
});
