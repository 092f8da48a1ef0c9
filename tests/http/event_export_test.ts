// needs: runtime
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { unitsOf } from "../../lib/http/exported_list.ts";
import { fileForm, type Row } from "../../lib/http/file_formats.ts";
import { serveHttp } from "../../lib/runtime/serve.ts";
import type { EventStore } from "../../lib/store/store.ts";
import { appendMany, sampleEvent, sampleState, watcherLease } from "../store/samples.ts";
import { until } from "../until.ts";
import { assertInvalid, type GatewayUnderTest, networkOfFile, startGateway } from "./test_gateway.ts";

const on = networkOfFile();
const EVENTS = 3_204;
const HEADER =
  "id,type,contractId,ledger,ledgerClosedAt,txHash,deviceHash,agent,merchant,amount,amountUnits,asset,paymentId,reference";
let api: GatewayUnderTest;
/** Stands before each read of the log. */
let beforeRead: (query: Parameters<EventStore["read"]>[0]) => Promise<void> | void = () => {};
let reads = 0;
let calls = 0;

before(async () => {
  api = await startGateway(on, {
    started: false,
    checkAnswers: false,
    fetch: (url, init) => {
      calls += 1;
      return on.fetch(url, init);
    },
    store: (store) =>
      Object.create(store, {
        events: {
          value: Object.create(store.events, {
            read: {
              value: async (query: Parameters<EventStore["read"]>[0]) => {
                reads += 1;
                await beforeRead(query);
                return await store.events.read(query);
              },
            },
          }),
        },
      }),
  });
  await appendMany(api.store, 1, EVENTS - 4);
  const { asset } = on.sandbox;
  const moved = (n: number, fields: Partial<Parameters<typeof sampleEvent>[1] & object>) =>
    sampleEvent(n, { deviceHash: "ab".repeat(32), ...fields });
  const events = [
    moved(EVENTS - 3, { amount: "45000000", asset }),
    moved(EVENTS - 2, { amount: "7", asset }),
    moved(EVENTS - 1, { amount: "100000000000000000000000000", asset: on.sandbox.contracts.paymentEscrow }),
    moved(EVENTS, { amount: "30" }),
  ];
  await api.store.events.append({ lease: await watcherLease(api.store), events, state: sampleState(9_000) });
});
after(() => api.stop());

/** Sends a request for a file. */
async function ask(query: string, { headers = {}, key = api.apiKey, method = "GET" } = {}): Promise<Response> {
  const all = { authorization: `Bearer ${key}`, ...headers };
  const request = new Request(`http://gateway.test/v1/events${query}`, { method, headers: all });
  return await api.gateway.fetch(request, { remoteAddress: "198.51.100.7" });
}

test("CSV has every event, the columns of JSON, and amounts in units by one look at each asset", async () => {
  calls = 0;
  const response = await ask("?format=csv");
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/csv; charset=utf-8; header=present");
  assert.equal(response.headers.get("content-disposition"), 'attachment; filename="events.csv"');
  const lines = (await response.text()).split("\r\n");
  assert.equal(lines.length, EVENTS + 2);
  assert.equal(lines[0], HEADER);
  assert.equal(lines.at(-1), "");
  const { body } = await api.request("GET", "/v1/events?order=desc&limit=4");
  const last = lines.slice(-5, -1).map((line) => line.split(","));
  assert.deepEqual(last.map(([id]) => id), body.events.map(({ id }: { id: string }) => id).reverse());
  assert.deepEqual(last.map((cells) => cells.slice(9, 11)), [
    ["45000000", "4.5"],
    ["7", "0.0000007"],
    ["100000000000000000000000000", ""],
    ["30", ""],
  ]);
  const asked = calls;
  await (await ask("?format=csv&limit=4&order=desc")).text();
  assert.ok(asked < 20 && calls - asked < 10, `${asked} calls, then ${calls - asked}`);
});

test("Accept selects the form, and format beats it", async () => {
  for (
    const [accept, format, type] of [
      ["text/csv", "", "text/csv; charset=utf-8; header=present"],
      ["application/jsonl", "", "application/jsonl"],
      ["application/json, text/csv;q=0.5", "", "application/json"],
      ["text/csv;q=0.9, */*;q=0.1", "", "text/csv; charset=utf-8; header=present"],
      ["*/*", "", "application/json"],
      ["text/html, text/csv;q=0", "", "application/json"],
      ["text/csv", "&format=json", "application/json"],
      ["text/csv", "&format=jsonl", "application/jsonl"],
    ] as const
  ) {
    const response = await ask(`?limit=2${format}`, { headers: { accept } });
    assert.equal(response.headers.get("content-type"), type, accept);
    await response.text();
  }
});

test("JSON Lines are the events of the filter, with limit, order and cursor as in a page", async () => {
  const { body } = await api.request("GET", "/v1/events?limit=1000&order=desc");
  const rest = await api.request("GET", `/v1/events?limit=7&cursor=${body.cursor}`);
  const text = await (await ask(`?format=jsonl&limit=7&cursor=${body.cursor}`)).text();
  assert.deepEqual(text.trimEnd().split("\n").map((line) => JSON.parse(line)), rest.body.events);
  const amounts = await (await ask(`?format=jsonl&deviceHash=${"ab".repeat(32)}`)).text();
  const rows = amounts.trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(rows.map(({ amountUnits }) => amountUnits), ["4.5", "0.0000007", null, null]);
  assert.equal(await (await ask("?format=jsonl&merchant=" + on.sandbox.accounts.owner.address)).text(), "");
  assert.equal(
    await (await ask("?format=csv&merchant=" + on.sandbox.accounts.owner.address)).text(),
    HEADER + "\r\n",
  );
});

test("an error before the first row is the usual JSON, and HEAD has the headers alone", async () => {
  for (const method of ["GET", "HEAD"]) {
    const refused = await ask("?format=csv&cursor=x", { method });
    assert.deepEqual([refused.status, refused.headers.get("content-type")], [400, "application/json"]);
    await refused.body?.cancel();
  }
  assertInvalid(await api.request("GET", "/v1/events?format=xml"), /^format must be one of json, csv, jsonl/, "format");
  const head = await ask("?format=csv", { method: "HEAD" });
  assert.equal(head.headers.get("content-type"), "text/csv; charset=utf-8; header=present");
  await (await ask("?format=csv&limit=1")).text();
});

test("a key has one export at a time, another key its own, and each costs one request", async () => {
  const key = await api.newKey({ scopes: ["read"], rate: 60 });
  const open = await ask("?format=csv", { key });
  const remaining = Number(open.headers.get("x-ratelimit-remaining"));
  const second = await ask("?format=jsonl", { key });
  assert.equal(second.status, 429);
  assert.equal((await second.json()).error.code, "rate_limited");
  assert.ok(Number(second.headers.get("retry-after")) > 0);
  await (await ask("?format=csv&limit=1")).text();
  await open.text();
  const third = await ask("?format=csv", { key });
  assert.equal(third.status, 200);
  assert.ok(Number(third.headers.get("x-ratelimit-remaining")) >= remaining - 2);
  await third.body!.cancel();
  assert.equal((await ask("?format=csv&limit=1", { key })).status, 200);
});

test("the gateway reads a page only when the client has taken the one before", async () => {
  reads = 0;
  const body = (await ask("?format=csv")).body!.getReader();
  await body.read();
  const first = reads;
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(reads, first);
  await body.cancel();
});

test("a failure on the way, and a key that is disabled, break the file off", async () => {
  const failing = await ask("?format=csv");
  beforeRead = ({ after = 0 }) => {
    if (after >= 1_999) throw new Error("the disk is gone");
  };
  await assert.rejects(failing.text());
  beforeRead = () => {};
  const key = await api.newKey({ scopes: ["read"] });
  const refused = await ask("?format=csv", { key });
  await api.store.keys.setDisabled(key.split("_")[2]!, true);
  await until(async () => (await ask("?limit=1", { key })).status === 401);
  await assert.rejects(refused.text());
});

test("a client on the wire sees that a file broke off, and one that leaves ends its export", async () => {
  const server = await serveHttp({ hostname: "127.0.0.1", port: 0, idleTimeoutMs: 60_000, fetch: api.gateway.fetch });
  try {
    const headers = { authorization: `Bearer ${api.apiKey}` };
    beforeRead = ({ after = 0 }) => {
      if (after >= 1_999) throw new Error("the disk is gone");
    };
    await assert.rejects(fetch(`${server.url}/v1/events?format=csv`, { headers }).then((answer) => answer.text()));
    beforeRead = () => {};
    const whole = await (await fetch(`${server.url}/v1/events?format=csv`, { headers })).text();
    assert.equal(whole.split("\r\n").length, EVENTS + 2);
    let isHeld = false;
    beforeRead = async ({ after = 0 }) => {
      if (after < 1_999) return;
      isHeld = true;
      await new Promise((resolve) => setTimeout(resolve, 100));
    };
    const socket = connect(server.port, "127.0.0.1");
    socket.write(`GET /v1/events?format=csv HTTP/1.1\r\nHost: a\r\nAuthorization: ${headers.authorization}\r\n\r\n`);
    socket.on("data", () => {});
    await until(() => isHeld);
    socket.destroy();
    await until(async () => (await ask("?format=csv&limit=1")).status === 200);
  } finally {
    beforeRead = () => {};
    await server.stop({ drainMs: 1_000 });
  }
});

test("cells are quoted by RFC 4180, and no cell is a formula", () => {
  const cells: [Row[string], string][] = [
    ["=1+1", "'=1+1"],
    ["@SUM(A1)", "'@SUM(A1)"],
    ["+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"],
    ["\t=1", "'\t=1"],
    ["\r=1", `"'\r=1"`],
    ["-12.5", "-12.5"],
    ["-12.5.1", "'-12.5.1"],
    ['a,"b"\nc', '"a,""b""\nc"'],
    [null, ""],
    [17, "17"],
  ];
  const columns = cells.map((_, at) => `c${at}`);
  const { head, textOf } = fileForm("csv", columns);
  const text = head + textOf([Object.fromEntries(cells.map(([cell], at) => [`c${at}`, cell]))]);
  assert.equal(text, `${columns.join(",")}\r\n${cells.map(([, wanted]) => wanted).join(",")}\r\n`);
});

test("an amount is in units of its asset, unless the token claims impossible decimals", () => {
  const inUnits = unitsOf(new Map([["seven", 7], ["none", 0], ["many", 38], ["hostile", 4_294_967_295]]));
  const amounts = [["100", "none"], ["1000000000", "seven"], ["1", "many"], ["1", "hostile"], [
    "1",
    "unknown",
  ]] as const;
  assert.deepEqual(amounts.map(([amount, asset]) => inUnits(amount, asset)), [
    ...["100", "100", `0.${"0".repeat(37)}1`, null, null],
  ]);
});
