// needs: runtime
import { strict as assert } from "node:assert";
import { connect } from "node:net";
import process from "node:process";
import { test } from "node:test";
import { serveHttp } from "../../lib/runtime/serve.ts";

const isDeno = "deno" in process.versions;

const refusing = {
  hostname: "127.0.0.1",
  port: 0,
  idleTimeoutMs: 70_000,
  fetch: () => new Response("no key", { status: 401 }),
};

test("stop does not wait for the rest of a body after the request's answer", async () => {
  for (const rest of ["Content-Length: 100\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n2\r\n{ \r\n"]) {
    const server = await serveHttp(refusing);
    // A client that lost its network in the middle of its body: it sends neither more bytes nor an end.
    const gone = connect(server.port, "127.0.0.1", () => gone.write(`POST /x HTTP/1.1\r\nHost: a\r\n${rest}`));
    gone.on("error", () => {});
    await new Promise((resolve) => gone.once("data", resolve));
    const startedAt = performance.now();
    assert.equal(await server.stop({ drainMs: 10_000 }), true, "everything was answered");
    assert.ok(performance.now() - startedAt < 6_000);
    gone.destroy();
  }
});

test("stop waits until a slow reader has received its whole answer", async () => {
  const size = 12_000_000;
  const server = await serveHttp({ ...refusing, fetch: () => new Response("x".repeat(size)) });
  const slow = connect(server.port, "127.0.0.1", () => slow.write("GET /x HTTP/1.1\r\nHost: a\r\n\r\n")).pause();
  let received = 0;
  slow.on("error", () => {}).on("data", (bytes: Uint8Array) => received += bytes.length).pause();
  await new Promise((resolve) => setTimeout(resolve, 200));
  const stopped = server.stop({ drainMs: 60_000 });
  await new Promise((resolve) => setTimeout(resolve, 300));
  const closed = new Promise((resolve) => slow.once("close", resolve));
  slow.resume();
  assert.equal(await stopped, true);
  await closed;
  assert.ok(received > size, `${received} bytes received`);
});

// Bun reads and drops the body in native code, which is cheap, and offers no way to stop it.
test("the server cuts off a body that never ends after the request's answer", { skip: !isDeno }, async () => {
  const server = await serveHttp(refusing);
  const piece = `10000\r\n${"x".repeat(65_536)}\r\n`;
  const client = connect(server.port, "127.0.0.1");
  client.on("error", () => {}).write("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  const more = () => {
    while (client.write(piece));
  };
  client.on("drain", more);
  more();
  await new Promise((resolve) => client.once("data", resolve));
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  assert.ok(client.bytesWritten < 64 * 1_048_576, `${client.bytesWritten} bytes were taken`);
  client.destroy();
  await server.stop({ drainMs: 10_000 });
});
