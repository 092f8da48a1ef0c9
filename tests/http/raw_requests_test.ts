// needs: runtime
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { type HttpServer, serveHttp } from "../../lib/runtime/serve.ts";
import { gatewayOfFile, type GatewayUnderTest, startGateway } from "./test_gateway.ts";

const { on, api } = gatewayOfFile({ started: false, bodyTimeoutMs: 300 });
let server: HttpServer;
before(async () => void (server = await serve(api)));
after(() => server.stop({ drainMs: 1_000 }));

const serve = ({ gateway }: GatewayUnderTest) =>
  serveHttp({ hostname: "127.0.0.1", port: 0, idleTimeoutMs: 60_000, fetch: gateway.fetch });

interface RawAnswer {
  status: number;
  // deno-lint-ignore no-explicit-any
  body: any;
}

/**
 * Sends bytes as they are and reads until the other side closes; `breakOff`: closes itself after a moment; `enough`: when
 * there is an error's answer.
 */
async function send(
  lines: string[],
  { body = "", breakOff = false, enough = false, port = server.port } = {},
): Promise<RawAnswer | undefined> {
  const socket = connect(port, "127.0.0.1");
  socket.write([...lines, "", body].join("\r\n"));
  let text = "";
  socket.setEncoding("utf8").on("data", (part) => {
    text += part;
    if (enough && text.endsWith("}}")) socket.destroy();
  });
  socket.on("error", () => {});
  if (breakOff) setTimeout(() => socket.destroy(), 100);
  await new Promise((resolve) => socket.once("close", resolve));
  const [head = "", answer = ""] = text.split("\r\n\r\n");
  if (head === "") return undefined;
  return { status: Number(head.split(" ")[1]), body: answer.startsWith("{") ? JSON.parse(answer) : answer };
}

const key = () => `Authorization: Bearer ${api.apiKey}`;
const close = "Connection: close";

test("the health check answers HTTP/1.0 without Host, as load balancers send it, and an empty Host", async () => {
  const checks = [
    ["GET /v1/health HTTP/1.0"],
    ["GET /v1/health HTTP/1.0", "Host:"],
    ["GET /v1/health HTTP/1.1", "Host:", close],
    ["GET /v1/health?at=1 HTTP/1.0"],
    ["GET /v1/health HTTP/1.0", "User-Agent: check", close],
    ["GET http://elsewhere/v1/health HTTP/1.1", "Host: elsewhere", close],
  ];
  for (const lines of checks) {
    const answer = await send(lines);
    assert.deepEqual([answer?.status, answer?.body], [200, { ok: true }], lines.join(" | "));
  }
  const head = await send(["HEAD /v1/health HTTP/1.0"]);
  assert.equal(head?.status, 200);
});

test("the gateway takes the path from the request target, also without Host", async () => {
  const found = await send(["GET /x/v1/network HTTP/1.0", key()]);
  assert.equal(found?.status, 404);
  const network = await send(["GET /v1/network HTTP/1.0", key()]);
  assert.equal(network?.body.networkPassphrase, on.network.passphrase);
  const events = await send(["GET /v1/events?limit=ten HTTP/1.0", key()]);
  assert.match(events?.body.error.message, /^limit must be/);
  assert.equal((await send(["GET /v1/health/ HTTP/1.1", "Host: a", close]))?.status, 404);
  assert.equal((await send(["GET //a/v1/health HTTP/1.1", "Host: a", close]))?.status, 404);
});

test("an invalid Host gets 400 and never changes the path", async () => {
  const hosts = [
    "a/openapi.json#",
    "a/openapi.json?",
    "a/v1",
    "a:99999999",
    "a:b",
    "a@b",
    "a b",
    "a,b",
    "[::1",
    "a/",
    "a\\b",
  ];
  for (const host of hosts) {
    for (const path of ["/v1/health", "/health", "/v1/network?limit=1"]) {
      const answer = await send([`GET ${path} HTTP/1.1`, `Host: ${host}`, key(), close]);
      assert.equal(answer?.status, 400, `${host} ${path}`);
      if (answer?.body !== "") assert.match(answer?.body.error.message, /Host/);
    }
  }
  for (const host of ["a", "A.example:8787", "127.0.0.1:80", "[::1]:8787", "under_score.internal", "a:"]) {
    const answer = await send(["GET /v1/health HTTP/1.1", `Host: ${host}`, close]);
    assert.equal(answer?.status, 200, host);
  }
});

test("a client that breaks off its body causes no 5xx in the log", async () => {
  // On a busy machine the client may break off later than the 300 ms of the other gateway's time-out.
  const patient = await startGateway(on, { started: false });
  const patientServer = await serve(patient);
  const head = [
    `Authorization: Bearer ${patient.apiKey}`,
    "Host: a",
    "Content-Type: application/json",
    "Content-Length: 1000",
  ];
  const cut = { breakOff: true, port: patientServer.port };
  await send(["POST /v1/payments/check HTTP/1.1", ...head], { ...cut, body: '{"deviceHash":' });
  await send(["POST /v1/webhooks/wh_nobody/secret HTTP/1.1", ...head], { ...cut, body: "{" });
  while (patient.log().split("closed before the end").length < 3) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.doesNotMatch(patient.log(), /"status":5/);
  await patientServer.stop({ drainMs: 1_000 });
  await patient.stop();
});

test("a body that never ends gets 408 after its time-out", async () => {
  for (const [method, path] of [["POST", "/v1/payments/check"], ["DELETE", "/v1/webhooks/wh_nobody"]]) {
    const head = [`${method} ${path} HTTP/1.1`, key(), "Host: a", "Content-Type: application/json"];
    for (const rest of [["Content-Length: 1000"], ["Transfer-Encoding: chunked"]]) {
      const body = rest[0]!.startsWith("T") ? "2\r\n{ \r\n" : "{ ";
      // Deno keeps the connection open although the answer closes it.
      const answer = await send([...head, ...rest], { body, enough: true });
      assert.deepEqual([answer?.status, answer?.body.error], [408, {
        code: "invalid_request",
        message: "the body must arrive within 0.3 s: send it again",
        retry: "same",
      }]);
    }
  }
});
