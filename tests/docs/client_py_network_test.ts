// needs: once
import assert from "node:assert/strict";
import { test } from "node:test";
import { cut, json, python, skip } from "./client_py_stage.ts";

test("an answer that breaks off is asked for again", { skip }, async () => {
  const { told } = await python(
    `told = refusal(lambda: gateway.request("GET", "/v1/network"))`,
    [cut(json({ latestLedger: 7 })), json({ latestLedger: 7 })],
  );
  assert.deepEqual(told, { latestLedger: 7 });
});

test("what is created is asked for again as the same thing, and another call is another thing", { skip }, async () => {
  const made = json({ id: "wh_1" }, "201 Created");
  const { told, keys } = await python(
    `create = lambda *headers: gateway.request("POST", "/v1/webhooks", {"url": "https://shop.example/"}, *headers)
told = [create(), create(), create({"Idempotency-Key": "mine"}), gateway.request("GET", "/v1/webhooks")]`,
    [cut(made), made],
  );
  assert.deepEqual(told, Array(4).fill({ id: "wh_1" }));
  const [lost, again, another, own, read] = keys;
  assert.ok(lost);
  assert.equal(again, lost, "a second webhook would have every event sent twice");
  assert.notEqual(another, lost);
  assert.deepEqual([own, read], ["mine", undefined]);
});

test("a replay is asked for again as the same one", { skip }, async () => {
  const begun = json({ id: "rp_1", deliveries: 7 }, "202 Accepted");
  const { told, keys: [lost, again] } = await python(
    `told = gateway.request("POST", "/v1/webhooks/wh_1/replay", {"fromLedger": 7})`,
    [cut(begun), begun],
  );
  assert.deepEqual(told, { id: "rp_1", deliveries: 7 });
  assert.ok(lost);
  assert.equal(again, lost, "all would be sent twice");
});

test("the events go on where a gateway was killed in the middle of a stream", { skip }, async () => {
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const stream = (...chunks: string[]) =>
    `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n${
      chunks.map(chunk).join("")
    }`;
  const event = (id: string) => `id: ${id}\ndata: {"id":"${id}"}\n\n`;
  const { told, asked } = await python(
    `told = []
def read():
    for event, cursor in gateway.events():
        told.append(cursor)
        if cursor == "c2": return "both"
told.append(refusal(read))`,
    [cut(stream(event("c1"), event("lost"))), stream(event("c2"))],
  );
  assert.deepEqual(told, ["c1", "c2", "both"]);
  assert.match(asked[1]!, /cursor=c1/);
});

test("who reads the events is told where some may be missing", { skip }, async () => {
  const stream = 'event: gap\ndata: {"reason":"history"}\n\nevent: caught_up\nid: c1\ndata: {"latestLedger":9}\n\n';
  const { told } = await python(
    `told = []
list(gateway.events(live=False, on_gap=told.append))`,
    [`HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n${stream}`],
  );
  assert.deepEqual(told, [{ reason: "history" }]);
});

test("whatever answers in the gateway's place, what goes wrong is a GatewayError", { skip }, async () => {
  for (
    const answer of [
      json({ error: "Bad Gateway" }, "400 Bad Request"),
      json({ message: "no" }, "400 Bad Request", "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n"),
      json([1], "400 Bad Request"),
    ]
  ) {
    const { told } = await python(
      `told = [refusal(lambda: gateway.request("GET", "/v1/network")), refusal(lambda: list(gateway.events()))]`,
      [answer],
    );
    assert.deepEqual(told, ["GatewayError not_a_gateway", "GatewayError not_a_gateway"], answer);
  }
});

test("amounts lose no digit, however many they have", { skip }, async () => {
  const { told } = await python(
    `told = [to_units("12345678901.123456789012345678", 18), to_units("17014118346046923173168730371588.4105727")]`,
    [""],
  );
  assert.deepEqual(told, ["12345678901123456789012345678", "170141183460469231731687303715884105727"]);
});

test("a signature of any characters is wrong, and nothing worse", { skip }, async () => {
  const { told } = await python(
    `told = [refusal(lambda: receive(b"{}", "t=1,v1=\\u00e9", "whsec_x")), refusal(lambda: receive(b"{}", None, "whsec_x"))]`,
    [""],
  );
  assert.deepEqual(told, [null, null]);
});

test("an API key that no header can carry is not repeated, and nothing is asked for a minute", { skip }, async () => {
  const { told, asked } = await python(
    `def told_of(key):
    one = Gateway(gateway.base_url, key, patience=5)
    try:
        return list(one.events(live=False)) if events else one.request("GET", "/v1/network")
    except Exception as error:
        return [getattr(error, "reason", type(error).__name__), getattr(error, "retry", None), "service_sk" in str(error)]
told = []
for events in (False, True):
    told += [told_of("service_sk_x\\ny"), told_of("\\u201cservice_sk_x\\u201d")]
events = False
told.append(told_of("service_sk_x\\n"))`,
    [json({ latestLedger: 7 })],
  );
  const refused = ["invalid_request", "never", false];
  assert.deepEqual(told, [refused, refused, refused, refused, { latestLedger: 7 }]);
  assert.equal(asked.length, 1);
});

test("an address without http:// is said at once", { skip }, async () => {
  const { told } = await python(
    `told = []
for url in ("localhost:8787", "gateway.example.com"):
    try:
        Gateway(url, "service_sk_x").request("GET", "/v1/network")
    except GatewayError as error:
        told.append(error.retry)`,
    [""],
  );
  assert.deepEqual(told, ["never", "never"]);
});

test("the API key is not sent on to where a redirect points", { skip }, async () => {
  const { told } = await python(
    `import http.server, threading
seen = []
class Elsewhere(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        seen.append(self.headers.get("Authorization"))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")
    def log_message(self, *_): pass
elsewhere = http.server.HTTPServer(("127.0.0.1", 0), Elsewhere)
threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
gateway.patience = 1
try:
    gateway.request("GET", f"/v1/network?to={elsewhere.server_port}")
except GatewayError:
    pass
told = seen`,
    [(asked: string) =>
      `HTTP/1.1 302 Found\r\nLocation: http://localhost:${
        /to=(\d+)/.exec(asked)![1]
      }/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`],
  );
  assert.deepEqual((told as unknown[]).filter((key) => key !== null), []);
});
