// needs: runtime
import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { sleep } from "../../lib/clock.ts";
import { serveHttp } from "../../lib/runtime/serve.ts";
import { append, appendMany, sampleEvent } from "../store/samples.ts";
import { until } from "../until.ts";
import { eventsOf, openStream, readStream } from "./event_stream.ts";
import { assertInvalid, gatewayOfFile, startGateway } from "./test_gateway.ts";

const { on, api } = gatewayOfFile({ settings: { corsOrigins: "https://app.example" } });

/** Registers a new device: one event. */
async function registerDevice(): Promise<string> {
  const { deviceHash } = await api.registerDevice();
  await until(async () => (await api.request("GET", `/v1/events?deviceHash=${deviceHash}`)).body.events.length > 0);
  return deviceHash;
}

/** A gateway on a port, without a watcher: tests append its events. Its clock runs `speed` times as fast. */
async function serveAlone({ speed = 1, idleTimeoutMs = 60_000 } = {}) {
  const beganAt = Date.now();
  const alone = await startGateway(on, {
    started: false,
    // The events that these tests append lack fields.
    checkAnswers: false,
    now: () => beganAt + performance.now() * speed,
    wait: (ms, signal) => sleep(ms / speed, signal),
  });
  const server = await serveHttp({ hostname: "127.0.0.1", port: 0, idleTimeoutMs, fetch: alone.gateway.fetch });
  return {
    ...alone,
    server,
    async open() {
      const headers = { authorization: `Bearer ${alone.apiKey}` };
      return readStream(await fetch(`${server.url}/v1/events/stream`, { headers }));
    },
    async [Symbol.asyncDispose]() {
      alone.gateway.drain();
      await server.stop({ drainMs: 2_000 });
      await alone.stop();
    },
  };
}

test("a stream sends the history, then each new event, in the same form as GET /v1/events", async () => {
  await registerDevice();
  const stream = await openStream(api, "", { headers: { origin: "https://app.example" } });
  assert.equal(stream.response.headers.get("content-type"), "text/event-stream");
  assert.equal(stream.response.headers.get("cache-control"), "no-store");
  assert.equal(stream.response.headers.get("access-control-allow-origin"), "https://app.example");
  assert.ok(stream.response.headers.get("x-ratelimit-remaining"));
  const held = await stream.until("caught_up");
  assert.equal(typeof held.at(-1)!.data.latestLedger, "number");
  const deviceHash = await registerDevice();
  const live = (await stream.until("message")).at(-1)!;
  assert.equal(live.data.deviceHash, deviceHash);
  const { body } = await api.request("GET", "/v1/events?limit=1000");
  assert.deepEqual([...eventsOf(held), live].map(({ data }) => data), body.events);
  const after = await api.request("GET", `/v1/events?cursor=${eventsOf(held).at(-1)!.id}`);
  assert.deepEqual(after.body.events, [live.data]);
  await stream.close();
});

test("a stream takes the filters of GET /v1/events and starts at the same event", async () => {
  const wanted = await registerDevice();
  await registerDevice();
  const { body } = await api.request("GET", `/v1/events?deviceHash=${wanted}`);
  const one = await openStream(api, `?deviceHash=${wanted.toUpperCase()}&types=device.registered`);
  assert.deepEqual(eventsOf(await one.until("caught_up")).map(({ data }) => data), body.events);
  const later = await openStream(api, `?fromLedger=${body.events[0].ledger + 1}`);
  assert.equal(eventsOf(await later.until("caught_up")).length, 1);
  const { cursor } = (await api.request("GET", "/v1/events?limit=1000")).body;
  const resumed = await openStream(api, "?fromLedger=1", { headers: { "last-event-id": cursor } });
  assert.equal(eventsOf(await resumed.until("caught_up")).length, 0);
  await Promise.all([one, later, resumed].map(({ close }) => close()));
});

test("a stream refuses a wrong query, as GET /v1/events does, and the parameters toLedger and order", async () => {
  const wrong: [query: string, message: RegExp][] = [
    ["types=payment.made", /types/],
    ["fromLedger=1&cursor=x", /exclude each other/],
    ["cursor=x", /cursor must be one from an earlier answer/],
    ["toLedger=5", /toLedger/],
    ["order=desc", /order/],
  ];
  for (const [query, message] of wrong) {
    assertInvalid(await api.request("GET", `/v1/events/stream?${query}`), message);
  }
});

test("a stream refuses a cursor of a descending or bounded page and names the parameter cursor", async () => {
  for (const query of ["order=desc", "toLedger=5"]) {
    const { cursor } = (await api.request("GET", `/v1/events?${query}`)).body;
    assertInvalid(await api.request("GET", `/v1/events/stream?cursor=${cursor}`), /./, "cursor");
  }
});

test("a stream refuses an invalid Last-Event-ID and names the header", async () => {
  const { cursor } = (await api.request("GET", "/v1/events?order=desc")).body;
  for (const lastEventId of ["AgB", cursor]) {
    const answer = await api.request("GET", "/v1/events/stream", { headers: { "last-event-id": lastEventId } });
    assertInvalid(answer, /^Last-Event-ID must be (of an ascending page|one from an earlier answer)/, "Last-Event-ID");
  }
});

test("HEAD of a stream answers its status and type, and leaves no stream open", async () => {
  const key = await api.newKey({ scopes: ["read"] });
  for (let n = 0; n < 25; n++) {
    const { status, headers } = await api.request("HEAD", "/v1/events/stream", { key });
    assert.deepEqual([status, headers.get("content-type")], [200, "text/event-stream"]);
  }
});

test("HEAD of a stream gets the same refusal as GET", async () => {
  assert.equal((await api.request("HEAD", "/v1/events/stream?cursor=x")).status, 400);
  assert.equal((await api.request("HEAD", "/v1/events/stream", { headers: { "last-event-id": "AgB" } })).status, 400);
  const key = await api.newKey({ scopes: ["read"] });
  const all = await Promise.all(Array.from({ length: 20 }, () => openStream(api, "", { key })));
  const { status, headers } = await api.request("HEAD", "/v1/events/stream", { key });
  assert.deepEqual([status, headers.get("retry-after")], [429, "5"]);
  await Promise.all(all.map(({ close }) => close()));
});

test("a stream costs one token, and a key with 20 open streams gets 429 with Retry-After", async () => {
  const key = await api.newKey({ scopes: ["read"], rate: 1 });
  const stream = await openStream(api, "", { key });
  assert.equal(stream.response.headers.get("x-ratelimit-remaining"), "0");
  await stream.close();
  const other = await api.newKey({ scopes: ["read"] });
  const all = await Promise.all(Array.from({ length: 20 }, () => openStream(api, "", { key: other })));
  const { status, headers, body } = await api.request("GET", "/v1/events/stream", { key: other });
  assert.deepEqual([status, body.error.code, headers.get("retry-after")], [429, "rate_limited", "5"]);
  await all[0]!.until("caught_up");
  await all[0]!.close();
  await (await openStream(api, "", { key: other })).close();
  await Promise.all(all.map(({ close }) => close()));
});

test("a stream reports the reason and ends when its key is disabled, deleted or expired", async () => {
  const expiresAt = new Date(Math.ceil((Date.now() + 300) / 1_000) * 1_000).toISOString();
  const keys = await Promise.all([
    api.newKey({ scopes: ["read"] }),
    api.newKey({ scopes: ["read"] }),
    api.newKey({ scopes: ["read"], expiresAt }),
  ]);
  const streams = await Promise.all(keys.map((key) => openStream(api, "", { key })));
  await Promise.all(streams.map((stream) => stream.until("caught_up")));
  const id = (key: string) => key.split("_")[2]!;
  const doneAt = Date.now();
  await api.store.keys.setDisabled(id(keys[0]!), true);
  await api.store.keys.delete(id(keys[1]!));
  const ended = await Promise.all(streams.map(async (stream) => {
    const { data } = (await stream.until("revoked")).at(-1)!;
    assert.equal(await stream.next(), undefined);
    return { reason: data.reason, at: Date.now() };
  }));
  assert.deepEqual(ended.map(({ reason }) => reason), ["disabled", "unknown", "expired"]);
  // The gateway promises a second. A busy machine may stand still for longer.
  for (const [at, since] of [doneAt, doneAt, Date.parse(expiresAt)].entries()) {
    assert.ok(ended[at]!.at - since < 15_000, `${ended[at]!.at - since} ms`);
  }
});

test("the gateway ends the stream of a client that disconnects", async () => {
  await using alone = await serveAlone();
  const before = alone.log().length;
  for (let n = 0; n < 30; n++) {
    const stream = await alone.open();
    await stream.until("caught_up");
    await stream.close();
    await until(() => alone.log().slice(before).split("event stream ended").length > n + 1);
  }
});

test("the gateway stops reading events for a client that does not read its stream", async () => {
  await using alone = await serveAlone();
  await appendMany(alone.store, 1, 30_000);
  const socket = connect(alone.server.port, "127.0.0.1");
  socket.pause();
  socket.on("error", () => {});
  socket.write(`GET /v1/events/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${alone.apiKey}\r\n\r\n`);
  await sleep(1_500);
  socket.destroy();
  const ended = () => alone.log().split("\n").find((line) => line.includes("event stream ended"));
  await until(() => ended() !== undefined);
  const { events } = JSON.parse(ended()!);
  assert.ok(events < 25_000, `${events} of 30000 were read`);
});

test("a stream without events outlives the idle time-out, because the gateway sends ledger frames", async () => {
  await using alone = await serveAlone({ speed: 10, idleTimeoutMs: 5_000 });
  const stream = await alone.open();
  await stream.until("caught_up");
  const heights: number[] = [];
  for (let n = 0; n < 20; n++) {
    const frame = await stream.next();
    assert.equal(frame?.event, "ledger");
    heights.push(frame.data.latestLedger);
  }
  assert.equal(heights.length, 20);
  await stream.close();
});

test("a gateway that stops ends its streams cleanly and refuses new ones with 503", async () => {
  await using alone = await serveAlone();
  const streams = await Promise.all(Array.from({ length: 5 }, alone.open));
  await Promise.all(streams.map((stream) => stream.until("caught_up")));
  await append(alone.store, sampleEvent(1));
  alone.gateway.drain();
  assert.equal((await alone.request("GET", "/v1/events/stream")).status, 503);
  const isClean = await alone.server.stop({ drainMs: 5_000 });
  assert.equal(isClean, true);
  for (const stream of streams) assert.equal(await stream.next(), undefined);
});
