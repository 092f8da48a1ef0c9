import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { promisify } from "node:util";
import { isInstalled } from "./tools.ts";

const DOCS = join(import.meta.dirname!, "../../docs");
const RUN_MS = 30_000;
const skip = isInstalled("python3") ? false : "needs python3";

const run = promisify(execFile);

/** As it is, or made from the first line of the request. */
type Answer = string | ((asked: string) => string);

/**
 * Runs lines of Python beside docs/client.py against a server that answers these texts, one a connection, as they are.
 * `keys`: the `Idempotency-Key` of each request.
 */
async function python(lines: string, answers: Answer[]): Promise<{ told: unknown; asked: string[]; keys: unknown[] }> {
  const asked: string[] = [];
  const keys: unknown[] = [];
  const server = createServer((socket: Socket) => {
    socket.on("error", () => {});
    socket.once("data", (data) => {
      asked.push(String(data).split("\r\n")[0]!);
      keys.push(/^Idempotency-Key: (.+)\r$/im.exec(String(data))?.[1]);
      const answer = answers[Math.min(asked.length, answers.length) - 1]!;
      socket.end(typeof answer === "string" ? answer : answer(asked.at(-1)!));
      socket.resume();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const script = `import json, sys
sys.path.insert(0, ${JSON.stringify(DOCS)})
import client
from client import *
gateway = Gateway("http://127.0.0.1:${port}", "service_sk_x", patience=5)
def refusal(act):
    try:
        return act()
    except GatewayError as error:
        return "GatewayError " + error.reason
    except Exception as error:
        return type(error).__name__
${lines}
print(json.dumps(told))
`;
  try {
    const env = { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: "1" };
    const { stdout } = await run("python3", ["-c", script], { env, timeout: RUN_MS });
    return { told: JSON.parse(stdout), asked, keys };
  } finally {
    server.close();
  }
}

const json = (body: unknown, status = "200 OK", more = "") => {
  const text = JSON.stringify(body);
  return `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\n${more}Content-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`;
};
const cut = (answer: string) => answer.slice(0, -5);

/** A write with an envelope of no meaning: this machine may have no stellar-sdk. */
const WRITE = `class Envelope:
    signatures = []
    def sign(self, _key): self.signatures = [1]
    def hash_hex(self): return "ab" * 32
    def to_xdr(self): return "AAAA"
class Key:
    public_key = "G"
client.checked_envelope = lambda *_: Envelope()
told = refusal(lambda: gateway.write({"kind": "claim"}, Key()))`;
const PREPARED = json({ xdr: "AAAA", validUntil: 99_999_999_999, operation: {} });

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

test("a write whose answer breaks off goes on until it is known what came of it", { skip }, async () => {
  const { told, asked } = await python(
    WRITE,
    [
      PREPARED,
      cut(json({ hash: "ab".repeat(32), ledger: 9 })),
      json({ hash: "ab".repeat(32), ledger: 9 }),
    ],
  );
  assert.deepEqual(told, { hash: "ab".repeat(32), ledger: 9 }, JSON.stringify(asked));
});

test("a write is not confirmed, nor failed, by what else answers with 200", { skip }, async () => {
  const made = { hash: "ab".repeat(32), ledger: 9 };
  for (const others of [[{ status: "ok" }, { status: "success", ledger: 7 }], [[], { status: "failed" }], ["no", []]]) {
    const { told } = await python(WRITE, [PREPARED, ...others.map((other) => json(other)), json(made)]);
    assert.deepEqual(told, made);
  }
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

test("a key that ends in the middle of a write leaves its outcome unknown, and does not say that nothing happened", {
  skip,
}, async () => {
  const refused = json(
    { error: { code: "unauthorized", message: "the API key has expired", retry: "never" } },
    "401 Unauthorized",
  );
  const { told } = await python(
    WRITE,
    [
      PREPARED,
      // The first submit reaches the network, its answer does not come back.
      "",
      refused,
    ],
  );
  assert.equal(told, "GatewayError outcome_unknown");
});

test("a write that failed, and whose submits are not answered, fails as the transaction did", { skip }, async () => {
  const away = json({ error: { code: "upstream_error", message: "no node", retry: "same" } }, "502 Bad Gateway");
  const status = {
    hash: "ab".repeat(32),
    status: "failed",
    error: "no such card",
    contractError: "NotFound",
    retry: "never",
  };
  const { told } = await python(`gateway.patience = 0\n${WRITE}`, [PREPARED, away, json(status)]);
  assert.equal(told, "GatewayError contract_refused");
});

test("who was told of an envelope that was turned down is not told that the payment failed, while it may be applied", {
  skip,
}, async () => {
  const refused = (fields: object, status: string) => json({ error: { message: "no", ...fields } }, status);
  const turnedDown = [
    PREPARED,
    refused({ code: "invalid_request", transactionError: "txBadSeq", retry: "prepare_again" }, "400 Bad Request"),
    json({ hash: "ab".repeat(32), status: "rejected", retry: "prepare_again" }),
  ];
  const ended = refused({ code: "unauthorized", retry: "never" }, "401 Unauthorized");
  assert.equal((await python(WRITE, [...turnedDown, ended])).told, "GatewayError outcome_unknown");
  // Nor who uses the key again, and is refused what is handed out in its place.
  const inPlace = json({ xdr: "AAAA", validUntil: 99_999_999_999, operation: {}, inPlaceOf: "cd".repeat(32) });
  const poor = refused(
    { code: "invalid_request", transactionError: "txInsufficientBalance", retry: "never" },
    "400 No",
  );
  const rejected = json({ hash: "ab".repeat(32), status: "rejected", retry: "never" });
  assert.equal((await python(WRITE, [inPlace, poor, rejected])).told, "GatewayError outcome_unknown");
  assert.equal((await python(WRITE, [PREPARED, poor, rejected])).told, "GatewayError invalid_request");
  const contract = refused({ code: "contract_refused", contractError: "DuplicateAuth", retry: "never" }, "422 No");
  assert.equal((await python(WRITE, [...turnedDown, contract])).told, "GatewayError contract_refused");
});

test("a key that is empty is no other intent each time: the gateway refuses it", { skip }, async () => {
  const refused = json(
    { error: { code: "invalid_request", message: "1 to 255 characters", retry: "never" } },
    "400 No",
  );
  const lines = WRITE.replace(/^told = .*$/m, "") +
    `\ntold = [refusal(lambda: gateway.write({}, Key(), key)) for key in ("", 0, "7")]`;
  const { told, keys } = await python(lines, [refused]);
  assert.deepEqual(told, Array(3).fill("GatewayError invalid_request"));
  assert.deepEqual(keys, [undefined, "0", "7"]);
});

test("what prepare calls applied has not failed because a node does not find it", { skip }, async () => {
  const hash = "ab".repeat(32);
  const done = json({ xdr: "AAAA", validUntil: 0, operation: {}, status: "success" });
  for (const retry of ["never", "prepare_again"]) {
    const { told, asked } = await python(WRITE, [done, json({ hash, status: "rejected", retry })]);
    assert.deepEqual([told, asked.length], ["GatewayError outcome_unknown", 2]);
  }
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

test(
  "who writes is told of what cannot be undone before it is signed, and what he raises then sends nothing",
  { skip },
  async () => {
    const warned = json({
      xdr: "AAAA",
      validUntil: 99_999_999_999,
      operation: {},
      warning: "the escrow holds something",
    });
    const answers = (asked: string) => asked.includes("/prepare") ? warned : json({ hash: "ab".repeat(32), ledger: 7 });
    const heard = WRITE.replace(
      /told = .*/,
      `heard = []
def refuse(warning): raise ValueError(warning)
told = [refusal(lambda: gateway.write({"kind": "claim"}, Key(), on_warning=refuse))]
told += [gateway.write({"kind": "claim"}, Key(), on_warning=heard.append)["ledger"], heard]
told += [gateway.write({"kind": "claim"}, Key())["ledger"]]`,
    );
    const { told, asked } = await python(heard, [answers]);
    assert.deepEqual(told, ["ValueError", 7, ["the escrow holds something"], 7]);
    const [prepare, submit] = ["prepare", "submit"].map((step) => `POST /v1/transactions/${step} HTTP/1.1`);
    assert.deepEqual(asked, [prepare, prepare, submit, prepare, submit]);
  },
);
