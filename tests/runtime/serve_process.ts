// Serves in a process of its own, which a test gives few file descriptors. Prints its URL; "slow" takes a second.
import process from "node:process";
import { serveHttp } from "../../lib/runtime/serve.ts";

const server = await serveHttp({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeoutMs: 1_000,
  async fetch(request) {
    if (request.url.endsWith("/slow")) await new Promise((resolve) => setTimeout(resolve, 1_000));
    return new Response("answered");
  },
  onProblem: (message) => process.stdout.write(`${message}\n`),
});
process.stdout.write(`${server.url}\n`);
