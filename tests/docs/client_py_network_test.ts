// needs: once
import assert from "node:assert/strict";
import { test } from "node:test";
import { cut, json, python, skip } from "./client_py_stage.ts";

test("the Python client retries a read whose answer breaks off", { skip }, async () => {
  const { result } = await python(
    `result = refusal(lambda: gateway.request("GET", "/v1/network"))`,
    [cut(json({ latestLedger: 7 })), json({ latestLedger: 7 })],
  );
  assert.deepEqual(result, { latestLedger: 7 });
});

test("the Python client retries a creation with the same Idempotency-Key, and uses a new key for another call", {
  skip,
}, async () => {
  const made = json({ id: "wh_1" }, "201 Created");
  const { result, keys } = await python(
    `create = lambda *headers: gateway.request("POST", "/v1/webhooks", {"url": "https://shop.example/"}, *headers)
result = [create(), create(), create({"Idempotency-Key": "mine"}), gateway.request("GET", "/v1/webhooks")]`,
    [cut(made), made],
  );
  assert.deepEqual(result, Array(4).fill({ id: "wh_1" }));
  const [lost, again, another, own, read] = keys;
  assert.ok(lost);
  assert.equal(again, lost, "a second webhook would have every event sent twice");
  assert.notEqual(another, lost);
  assert.deepEqual([own, read], ["mine", undefined]);
});

test("the Python client retries a replay with the same Idempotency-Key", { skip }, async () => {
  const begun = json({ id: "rp_1", deliveries: 7 }, "202 Accepted");
  const { result, keys: [lost, again] } = await python(
    `result = gateway.request("POST", "/v1/webhooks/wh_1/replay", {"fromLedger": 7})`,
    [cut(begun), begun],
  );
  assert.deepEqual(result, { id: "rp_1", deliveries: 7 });
  assert.ok(lost);
  assert.equal(again, lost, "all would be sent twice");
});

test("events() resumes at the last cursor after a stream breaks off", { skip }, async () => {
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const stream = (...chunks: string[]) =>
    `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n${
      chunks.map(chunk).join("")
    }`;
  const event = (id: string) => `id: ${id}\ndata: {"id":"${id}"}\n\n`;
  const { result, asked } = await python(
    `result = []
def read():
    for event, cursor in gateway.events():
        result.append(cursor)
        if cursor == "c2": return "both"
result.append(refusal(read))`,
    [cut(stream(event("c1"), event("lost"))), stream(event("c2"))],
  );
  assert.deepEqual(result, ["c1", "c2", "both"]);
  assert.match(asked[1]!, /cursor=c1/);
});

test("events() passes each gap to on_gap", { skip }, async () => {
  const stream = 'event: gap\ndata: {"reason":"history"}\n\nevent: caught_up\nid: c1\ndata: {"latestLedger":9}\n\n';
  const { result } = await python(
    `result = []
list(gateway.events(live=False, on_gap=result.append))`,
    [`HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n${stream}`],
  );
  assert.deepEqual(result, [{ reason: "history" }]);
});

test("an answer from another server than the gateway raises GatewayError not_a_gateway", { skip }, async () => {
  for (
    const answer of [
      json({ error: "Bad Gateway" }, "400 Bad Request"),
      json({ message: "no" }, "400 Bad Request", "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n"),
      json([1], "400 Bad Request"),
    ]
  ) {
    const { result } = await python(
      `result = [refusal(lambda: gateway.request("GET", "/v1/network")), refusal(lambda: list(gateway.events()))]`,
      [answer],
    );
    assert.deepEqual(result, ["GatewayError not_a_gateway", "GatewayError not_a_gateway"], answer);
  }
});

test("to_units converts amounts of any length without losing a digit", { skip }, async () => {
  const { result } = await python(
    `result = [to_units("12345678901.123456789012345678", 18), to_units("17014118346046923173168730371588.4105727")]`,
    [""],
  );
  assert.deepEqual(result, ["12345678901123456789012345678", "170141183460469231731687303715884105727"]);
});

test("receive returns None for a non-ASCII signature and for a missing one", { skip }, async () => {
  const { result } = await python(
    `result = [refusal(lambda: receive(b"{}", "t=1,v1=\\u00e9", "whsec_x")), refusal(lambda: receive(b"{}", None, "whsec_x"))]`,
    [""],
  );
  assert.deepEqual(result, [null, null]);
});

test(
  "the Python client refuses an API key that no header can carry: at once, without a request, without showing the key",
  { skip },
  async () => {
    const { result, asked } = await python(
      `def result_of(key):
    one = Gateway(gateway.base_url, key, patience=5)
    try:
        return list(one.events(live=False)) if events else one.request("GET", "/v1/network")
    except Exception as error:
        return [getattr(error, "reason", type(error).__name__), getattr(error, "retry", None), "service_sk" in str(error)]
result = []
for events in (False, True):
    result += [result_of("service_sk_x\\ny"), result_of("\\u201cservice_sk_x\\u201d")]
events = False
result.append(result_of("service_sk_x\\n"))`,
      [json({ latestLedger: 7 })],
    );
    const refused = ["invalid_request", "never", false];
    assert.deepEqual(result, [refused, refused, refused, refused, { latestLedger: 7 }]);
    assert.equal(asked.length, 1);
  },
);

test("the Python client refuses a base URL without http:// at once", { skip }, async () => {
  const { result } = await python(
    `result = []
for url in ("localhost:8787", "gateway.example.com"):
    try:
        Gateway(url, "service_sk_x").request("GET", "/v1/network")
    except GatewayError as error:
        result.append(error.retry)`,
    [""],
  );
  assert.deepEqual(result, ["never", "never"]);
});

test("the Python client does not send the API key to the target of a redirect", { skip }, async () => {
  const { result } = await python(
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
result = seen`,
    [(asked: string) =>
      `HTTP/1.1 302 Found\r\nLocation: http://localhost:${
        /to=(\d+)/.exec(asked)![1]
      }/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`],
  );
  assert.deepEqual((result as unknown[]).filter((key) => key !== null), []);
});
