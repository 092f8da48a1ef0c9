// needs: once
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { skip } from "./client_py_stage.ts";

const DOCS = join(import.meta.dirname!, "../../docs");
const run = promisify(execFile);

/** Runs a script and returns its output. Kills the script after `timeout` ms. */
async function python(lines: string[], timeout = 8_000): Promise<string> {
  const script = [`import sys; sys.path.insert(0, ${JSON.stringify(DOCS)})`, "from client import *", ...lines];
  const { stdout } = await run("python3", ["-B", "-c", script.join("\n")], { timeout });
  return stdout.trim();
}

test("an OSError that on_gap raises reaches the caller of events()", { skip }, async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end('id: c1\nevent: gap\ndata: {"reason":"history"}\n\nid: c2\nevent: caught_up\ndata: {}\n\n');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const output = await python([
      "def lose(gap): raise OSError('the gap cannot be noted')",
      "try:",
      `    for event in Gateway("${url}", "key").events(live=False, on_gap=lose): pass`,
      "    print('all is well')",
      "except OSError as problem: print(problem)",
    ]);
    assert.equal(output, "the gap cannot be noted");
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test("the Python client fails at once on an invalid URL instead of retrying it", { skip }, async () => {
  for (const use of ["next(gateway.events())", 'gateway.request("GET", "/v1/devices/a b")']) {
    const output = await python([
      `gateway = Gateway("http://127.0.0.1:1${use.startsWith("next") ? "/ " : ""}", "key", patience=60)`,
      "try:",
      `    ${use}`,
      "except Exception as problem: print(type(problem).__name__)",
    ]).catch(() => "still asking");
    assert.notEqual(output, "still asking", use);
  }
});
