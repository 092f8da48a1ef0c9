// needs: once
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import process from "node:process";
import { test } from "node:test";
import { environment, sourceCommand } from "../e2e/sandbox_process.ts";

/** Replaces a sandbox and its gateway: answers with `answer`, and records the requests. */
async function standIn(answer: (method: string, asked: number) => [status: number, body: unknown]) {
  const asked: string[] = [];
  let looks = 0;
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    const { method = "", url = "" } = request;
    asked.push(`${method} ${url}`);
    const { port } = server.address() as { port: number };
    const gateway = `http://127.0.0.1:${port}`;
    const [status, body] = url === "/sandbox"
      ? [200, { gateway, rpc: gateway, apiKey: "service_sk_x" }]
      : method === "POST"
      ? [201, { id: "wh_1", secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" }]
      : answer(method, ++looks);
    response.writeHead(status, { "content-type": "application/json", "retry-after": "1" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${port}`, asked, stop: () => server.close() };
}

const busy = { error: { code: "rate_limited", message: "the key's rate is used up", retry: "same" } };

test("listen waits while the rate of its key is used up, and deletes its webhook at the end", async () => {
  const enough = Promise.withResolvers<void>();
  let deletes = 0;
  const sandbox = await standIn((method, looks) => {
    if (method === "DELETE") return ++deletes === 1 ? [429, busy] : [200, { deleted: true }];
    if (looks === 3) enough.resolve();
    return looks < 3 ? [429, busy] : [200, { id: "wh_1" }];
  });
  const [program, ...source] = sourceCommand();
  const child = spawn(program!, [...source, "listen", "--json", "--sandbox", sandbox.url], { env: environment() });
  const ended = once(child, "exit");
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => errors += text);
  child.stdout.resume();
  await Promise.race([enough.promise, ended]);
  assert.equal(child.exitCode, null, errors);
  process.kill(child.pid!, "SIGINT");
  assert.deepEqual(await ended, [0, null], errors);
  assert.equal(deletes, 2, sandbox.asked.join("\n"));
  sandbox.stop();
});
