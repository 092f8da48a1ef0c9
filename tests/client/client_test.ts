// needs: neutral
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { FeedError, fromUnits, type GatewayEvent, receive, toUnits } from "../../lib/client/client.ts";
import { signatureHeaders, signingSecret } from "../../lib/webhooks/delivery/signature.ts";
import { operationsOf } from "../../lib/http/openapi.ts";
import { NOUNS } from "../../lib/http/routes/routes.ts";
import { append, sampleEvent } from "../store/samples.ts";
import { failedAttempt, sampleFailed, sampleSubscription, settle } from "../store/webhook_samples.ts";
import { until } from "../until.ts";
import { type Ask, startStage } from "./client_stage.ts";

let stage: Awaited<ReturnType<typeof startStage>>;
before(async () => {
  // As with other gateways on the store: streams read it themselves.
  // The events that these tests append have a position, but not all fields.
  stage = await startStage({
    started: false,
    checkAnswers: false,
    store: (store) => Object.create(store, { isShared: { value: true } }),
  });
  for (let n = 1; n <= 250; n++) await append(stage.store, sampleEvent(n));
});
after(() => stage.stop());

describe("the client's methods", () => {
  test("call every endpoint at its path", async () => {
    const asked = new Set<string>();
    const ask: Ask = (url, { method }) => {
      const path = new URL(url).pathname;
      asked.add(`${method ?? "GET"} ${path}`);
      if (path.endsWith("/stream")) return Promise.resolve(new Response("event: revoked\ndata: {}\n\n"));
      return Promise.resolve(Response.json({ xdr: "", events: [] }));
    };
    const gateway = stage.client({ fetch: ask });
    const { webhooks } = gateway;
    await Promise.all([
      ...[gateway.health(), gateway.network(), gateway.status(), gateway.device("X"), gateway.policy("X")],
      ...[gateway.walletDevices("X"), gateway.pending("X"), gateway.checkPayment({} as never), gateway.eventPage()],
      ...[gateway.event("X"), gateway.prepare({} as never), gateway.submit("X"), gateway.transaction("X")],
      ...[webhooks.create({ url: "X" }), webhooks.list(), webhooks.get("X"), webhooks.delete("X")],
      ...[webhooks.rotateSecret("X"), webhooks.test("X"), webhooks.deliveries("X")],
      ...[webhooks.failedDeliveries("X", { state: "dead" }), webhooks.attempt("X", "X"), gateway.asset("X")],
      ...[gateway.paymentPage(), gateway.payment("X"), gateway.transactionPage(), gateway.reconciliation()],
      webhooks.replay("X", { fromLedger: 1 }),
      assert.rejects(Array.fromAsync(gateway.events()), FeedError),
    ]);
    const all = operationsOf(NOUNS).map(({ method, path }) => `${method.toUpperCase()} ${path.replace(/:\w+/g, "X")}`);
    assert.deepEqual([...asked].sort(), all.sort());
  });

  test("return the endpoint's answer with ok, or the reason of the failure", async () => {
    const gateway = stage.client();
    assert.deepEqual(await gateway.health(), { ok: true });
    const network = await gateway.network();
    assert.ok(network.ok);
    assert.deepEqual(network.contracts, stage.network.contracts);
    const nobody = await gateway.device("ab".repeat(32));
    assert.ok(!nobody.ok);
    assert.deepEqual([nobody.reason, nobody.status, nobody.retry], ["device_not_found", 404, "never"]);
    const wrong = await gateway.device("zz");
    assert.ok(!wrong.ok);
    assert.deepEqual([wrong.reason, wrong.param], ["invalid_request", "hash"]);
    const stranger = await stage.client({ apiKey: "service_sk_x" }).network();
    assert.equal(!stranger.ok && stranger.reason, "unauthorized");
    const payment = { deviceHash: "ab".repeat(32), asset: stage.asset, amount: "1" };
    assert.deepEqual(await gateway.checkPayment(payment), { ok: false, reason: "device_not_found" });
  });

  test("list failed deliveries separately from attempts", async () => {
    const { webhooks } = stage.client();
    const keyId = stage.apiKey.split("_")[2]!;
    await stage.store.subscriptions.insert(sampleSubscription("wh_failed", { keyId }), 100);
    const failed = [sampleFailed(3, "dead"), sampleFailed(5, "dead")];
    await settle(stage.store, { subscriptionId: "wh_failed", failed, attempts: [failedAttempt(5, "dead")] });
    const dead = await webhooks.failedDeliveries("wh_failed", { state: "dead" });
    assert.ok(dead.ok);
    assert.deepEqual(
      dead.deliveries.map(({ eventId, ledger, lastAttempt }) => [eventId, ledger, lastAttempt?.statusCode]),
      [[sampleEvent(5).id, 1_005, 500], [sampleEvent(3).id, 1_003, undefined]],
    );
    const first = await webhooks.failedDeliveries("wh_failed", { state: "dead", limit: 1 });
    assert.ok(first.ok && first.cursor !== null);
    const second = await webhooks.failedDeliveries("wh_failed", { state: "dead", limit: 1, cursor: first.cursor });
    assert.deepEqual(second.ok && second.deliveries, dead.deliveries.slice(1));
    const attempts = await webhooks.deliveries("wh_failed");
    assert.deepEqual(attempts.ok && attempts.deliveries.map(({ outcome }) => outcome), ["dead"]);
  });

  test("distinguish a gateway that does not answer from another server", async () => {
    const away = await stage.client({ fetch: () => Promise.reject(new TypeError("refused")) }).network();
    assert.deepEqual([!away.ok && away.reason, !away.ok && away.retry], ["unreachable", "same"]);
    const other = await stage.client({ fetch: () => Promise.resolve(new Response("<html>", { status: 404 })) })
      .network();
    assert.equal(!other.ok && other.reason, "not_a_gateway");
    const slow: Ask = (_url, { signal }) =>
      new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason)));
    const late = await stage.client({ fetch: slow, timeoutMs: 20 }).network();
    assert.equal(!late.ok && late.reason, "unreachable");
  });

  test("wait after a 429 as the gateway asks, at most maxWaitMs", async () => {
    let refusals = 1;
    const ask: Ask = (url, init) => {
      if (refusals-- <= 0) return stage.ask(url, init);
      const error = { code: "rate_limited", message: "used up" };
      return Promise.resolve(Response.json({ error }, { status: 429, headers: { "retry-after": "1" } }));
    };
    const began = performance.now();
    assert.equal((await stage.client({ fetch: ask }).network()).ok, true);
    assert.ok(performance.now() - began >= 950);
    refusals = 1;
    const impatient = await stage.client({ fetch: ask, maxWaitMs: 0 }).network();
    assert.equal(!impatient.ok && impatient.reason, "rate_limited");
  });
});

describe("the client's events", () => {
  const ids = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => sampleEvent(from + n).id);

  const endsWith = (reason: string) => (error: unknown) =>
    error instanceof FeedError && error.failure.reason === reason;

  async function take(feed: AsyncIterable<GatewayEvent>, count: number): Promise<string[]> {
    const taken: string[] = [];
    for await (const { id } of feed) if (taken.push(id) === count) break;
    return taken;
  }

  test("are the history, then new events, each with a cursor to continue from", async () => {
    const gateway = stage.client();
    const notices: string[] = [];
    const feed = gateway.events({ fromLedger: 1_101, onNotice: ({ type }) => notices.push(type) });
    const taking = take(feed, 151);
    await until(() => notices.includes("caught_up"));
    await append(stage.store, sampleEvent(251));
    assert.deepEqual(await taking, ids(101, 251));
    assert.equal((await gateway.eventPage({ cursor: feed.cursor! }) as { events?: unknown[] }).events?.length, 0);
  });

  test("end after the history when live is false, by stream and by pages", async () => {
    assert.equal((await Array.fromAsync(stage.client().events({ live: false }))).length, 251);
    const first = stage.client().events({ live: false });
    assert.deepEqual(await take(first, 120), ids(1, 120));
    const rest = stage.client().events({ live: false, cursor: first.cursor });
    assert.deepEqual(await take(rest, 500), ids(121, 251));
  });

  test("continue after each cut of the stream, without repeated or lost events", async () => {
    let opened = 0;
    const ask: Ask = async (url, init) => {
      const response = await stage.ask(url, init);
      if (!url.includes("/stream") || ++opened > 2) return response;
      let bytes = 0;
      const cut = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          const left = 20_000 * opened - bytes;
          bytes += chunk.length;
          controller.enqueue(chunk.subarray(0, Math.max(0, left)));
          if (bytes >= 20_000 * opened) controller.error(new TypeError("the connection was cut"));
        },
      });
      return new Response(response.body!.pipeThrough(cut), response);
    };
    const away: string[] = [];
    const feed = stage.client({ fetch: ask }).events({
      live: false,
      onNotice: (notice) => notice.type === "away" && away.push(notice.failure.reason),
    });
    assert.deepEqual((await Array.fromAsync(feed)).map(({ id }) => id), ids(1, 251));
    assert.deepEqual(away, ["unreachable", "unreachable"]);
  });

  test("of a gateway without streams come page by page", async () => {
    const ask: Ask = (url, init) => stage.ask(url.replace("/stream", "/no-id"), init);
    const feed = stage.client({ fetch: ask }).events({ live: false, fromLedger: 1_200 });
    assert.deepEqual((await Array.fromAsync(feed)).map(({ id }) => id), ids(200, 251));
    const live = stage.client({ fetch: ask }).events({ fromLedger: 1_252 });
    const taking = take(live, 1);
    await append(stage.store, sampleEvent(252));
    assert.deepEqual(await taking, ids(252, 252));
  });

  test("of a time are those of ledgers that closed within it, and then new ones", async () => {
    const begun = Date.parse("2027-05-01T00:00:00Z");
    const at = (n: number, minute: number) =>
      sampleEvent(n, { ledgerClosedAt: new Date(begun + minute * 60_000).toISOString().replace(".000Z", "Z") });
    await append(stage.store, ...[253, 254, 255, 256].map((n) => at(n, n - 253)));
    const [from, to] = [`${begun / 1_000 + 60}`, "2027-05-01T02:03:00+02:00"];
    const some = await Array.fromAsync(stage.client().events({ from, to }));
    assert.deepEqual(some.map(({ id }) => id), ids(254, 255));
    const notices: string[] = [];
    const live = stage.client().events({ from: begun / 1_000 + 120, onNotice: ({ type }) => notices.push(type) });
    const taking = take(live, 3);
    await until(() => notices.includes("caught_up"));
    // The first one is late.
    await append(stage.store, at(257, -5), at(258, 9));
    assert.deepEqual(await taking, [...ids(255, 256), ...ids(258, 258)]);
    assert.deepEqual(notices, ["caught_up"]);
    const wrong = Array.fromAsync(stage.client().events({ from: "yesterday" }));
    await assert.rejects(wrong, endsWith("invalid_request"));
  });

  test("end at a signal, and fail when a retry cannot help", async () => {
    const ending = new AbortController();
    const reading = Array.fromAsync(stage.client().events({ signal: ending.signal, fromLedger: 5_000 }));
    setTimeout(() => ending.abort(), 50);
    assert.deepEqual(await reading, []);
    const wrong = Array.fromAsync(stage.client().events({ cursor: "x" }));
    await assert.rejects(wrong, endsWith("invalid_request"));
    const key = await stage.newKey({ scopes: ["read"] });
    const revoked = Array.fromAsync(stage.client({ apiKey: key }).events({ fromLedger: 5_000 }));
    setTimeout(() => stage.store.keys.setDisabled(key.split("_")[2]!, true), 50);
    await assert.rejects(revoked, endsWith("unauthorized"));
    const away = stage.client({ fetch: () => Promise.reject(new TypeError("refused")) }).events({ maxAwayMs: 600 });
    await assert.rejects(Array.fromAsync(away), endsWith("unreachable"));
  });
});

describe("a webhook", () => {
  const secret = `whsec_${btoa("k".repeat(32))}`;
  const event = { id: sampleEvent(1).id, type: "payment.claimed", merchant: "G" };

  function request(body: string, nowMs = Date.now()): Request {
    const headers = signatureHeaders({ secrets: [signingSecret(secret)], eventId: event.id, body, nowMs });
    return new Request("http://shop.test/hook", { method: "POST", headers, body });
  }

  test("is received when it is signed, recent and an event", async () => {
    const received = await receive(request(JSON.stringify({ subscription: "wh_1", event })), secret);
    assert.ok(received.ok);
    assert.deepEqual([received.subscription, received.event], ["wh_1", event]);
    const sent = JSON.stringify({ subscription: "wh_1", event });
    const bare = (body?: string) => new Request("http://shop.test/hook", { method: "POST", body });
    const refused: [reason: string, request: Request, secret?: string][] = [
      ["not_a_webhook", request("{}")],
      ["not_a_webhook", request("no json")],
      ["timestamp_out_of_tolerance", request(sent, Date.now() - 400_000)],
      ["wrong_signature", request(sent), `whsec_${btoa("x".repeat(32))}`],
      ["not_a_webhook", bare("a".repeat(65_537))],
      ["missing_signature", bare()],
    ];
    for (const [reason, request, of = secret] of refused) {
      const received = await receive(request, of);
      assert.equal(!received.ok && received.reason, reason);
    }
  });
});

describe("amounts and cards", () => {
  test("amounts become units and back", () => {
    const small = { "0": "0", "4.5": "45000000", "0.0000001": "1", "10": "100000000" };
    for (const [amount, units] of Object.entries({ ...small, "922337203685.4775807": "9223372036854775807" })) {
      assert.deepEqual([toUnits(amount), fromUnits(units)], [units, amount]);
    }
    assert.equal(toUnits("1.25", 2), "125");
    assert.equal(toUnits("007.10"), "71000000");
    assert.equal(fromUnits(5n, 0), "5");
    assert.equal(fromUnits("-15000000"), "-1.5");
    for (const wrong of ["", ".5", "5.", "1e3", "-1", "1,5", " 1", "1.00000001", "0x1"]) {
      assert.throws(() => toUnits(wrong), RangeError);
    }
    for (const wrong of ["1.5", "", "a"]) assert.throws(() => fromUnits(wrong), RangeError);
    // As of a variable that is not set.
    for (const wrong of [NaN, -1, 6.5]) {
      assert.throws(() => toUnits("4", wrong), RangeError);
      assert.throws(() => fromUnits("45000000", wrong), RangeError);
    }
  });
});
