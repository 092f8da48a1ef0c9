// Serves in a process of its own, which a test gives few file descriptors. Prints its URL; "slow" takes two seconds, "body" waits for one.
import process from "node:process";
import { serveHttp } from "../../lib/runtime/serve.ts";

// Like a gateway at its start: Deno panics when no descriptor is left for its first signal listener.
process.on("SIGTERM", () => process.exit());

const server = await serveHttp({
  hostname: "127.0.0.1",
  port: 0,
  // Far longer than a test takes: no flood ends by it.
  idleTimeoutMs: 200_000,
  async fetch(request) {
    if (request.url.endsWith("/slow")) await new Promise((resolve) => setTimeout(resolve, 2_000));
    if (request.url.endsWith("/body")) await bodyEnded(request);
    return new Response("answered");
  },
  onProblem: (message) => process.stdout.write(`${message}\n`),
});
process.stdout.write(`${server.url}\n`);

async function bodyEnded({ body }: Request): Promise<void> {
  try {
    for await (const _ of body!);
  } catch {
    // It broke off.
  }
}
