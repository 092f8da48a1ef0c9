// needs: runtime
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, before, test } from "node:test";
import { GatewayError } from "../../../lib/errors.ts";
import { createLog } from "../../../lib/log.ts";
import { systemClock } from "../../../lib/clock.ts";
import { createRpcClient } from "../../../lib/stellar/rpc/client.ts";
import { createHead } from "../../../lib/stellar/head.ts";

/** Takes connections and drops them at once. */
const dropping = createServer((socket) => socket.destroy());
let droppingPort = 0;
let closedPort = 0;
before(async () => {
  const listening = createServer();
  for (const server of [dropping, listening]) {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  }
  [droppingPort, closedPort] = [dropping, listening].map((server) => (server.address() as { port: number }).port) as [
    number,
    number,
  ];
  await new Promise((resolve) => listening.close(resolve));
});
after(() => new Promise((resolve) => dropping.close(resolve)));

/** The log line of a question to this URL, asked with the runtime's own fetch. */
async function logged(url: string): Promise<string> {
  let lines = "";
  const log = createLog({ level: "debug", format: "json", write: (line) => lines += line, now: () => 0 });
  const rpc = createRpcClient({
    urls: [url],
    timeoutMs: 60_000,
    head: createHead({ clock: systemClock }),
    fetch,
    clock: systemClock,
    onProblem: (problem) => log.warn("problem", { ...problem }),
  });
  await assert.rejects(rpc.getHealth(), (error) => {
    assert.ok(error instanceof GatewayError);
    log.warn(error.message, { cause: error });
    return true;
  });
  return lines;
}

test("an unreachable node is reported with the reason, and without the token of its URL", async () => {
  const reasons: [string, RegExp][] = [
    [`http://127.0.0.1:${closedPort}/path-token?key=query-token`, /could not be reached: the connection was refused/],
    [`http://user:hunter2@node.invalid/path-token?key=query-token`, /could not be reached: its name was not found/],
    [`http://127.0.0.1:${droppingPort}/path-token?key=query-token`, /could not be reached/],
  ];
  for (const [url, reason] of reasons) {
    const lines = await logged(url);
    assert.match(lines, reason);
    for (const secret of ["path-token", "query-token", "hunter2"]) assert.ok(!lines.includes(secret), lines);
  }
});
