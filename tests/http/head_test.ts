// needs: runtime
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { type HttpServer, serveHttp } from "../../lib/runtime/serve.ts";
import { gatewayOfFile, METRICS_TOKEN } from "./test_gateway.ts";

const { api } = gatewayOfFile({ started: false, settings: { metricsToken: METRICS_TOKEN } });
let server: HttpServer;
before(async () => {
  server = await serveHttp({ hostname: "127.0.0.1", port: 0, idleTimeoutMs: 60_000, fetch: api.gateway.fetch });
});
after(() => server.stop({ drainMs: 1_000 }));

interface Wire {
  status: string;
  /** The value of `Content-Length`. */
  length: string | undefined;
  body: string;
}

/** Sends a request over a socket and returns the raw answer. */
async function sent(method: string, path: string, { token = api.apiKey, body = "" } = {}): Promise<Wire> {
  const headers = [`Authorization: Bearer ${token}`, `Content-Length: ${body.length}`, "Host: a", "Connection: close"];
  const socket = connect(server.port, "127.0.0.1");
  socket.write(`${[`${method} ${path} HTTP/1.1`, ...headers].join("\r\n")}\r\n\r\n${body}`);
  let text = "";
  socket.setEncoding("latin1").on("data", (part) => text += part);
  await new Promise((resolve) => socket.once("close", resolve));
  const [head = "", rest = ""] = text.split("\r\n\r\n");
  return { status: head.split(" ")[1]!, length: /^content-length: (\d+)\r?$/im.exec(head)?.[1], body: rest };
}

test("HEAD gets the status and Content-Length of GET, and no body", async () => {
  for (const path of ["/v1/health", "/v1/network", "/v1/events", "/openapi.json", "/docs", "/v1/events?limit=x"]) {
    const { status, length } = await sent("GET", path);
    for (const body of ["", "{}"]) {
      assert.deepEqual(await sent("HEAD", path, { body }), { status, length, body: "" }, path);
    }
  }
});

test("HEAD of the metrics has a Content-Length, and HEAD of the stream has none", async () => {
  const metrics = await sent("HEAD", "/metrics", { token: METRICS_TOKEN });
  assert.ok(Number(metrics.length) > 1_000, `${metrics.length}`);
  assert.deepEqual(await sent("HEAD", "/v1/events/stream"), { status: "200", length: undefined, body: "" });
});
