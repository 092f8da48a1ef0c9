// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createGatewayClient } from "../../lib/client/client.ts";

const baseUrl = "http://gateway.test";

/** The answer of a gateway that is busy, or well. */
const busy = (isBusy: boolean, retryAfter: string) =>
  Response.json({}, isBusy ? { status: 429, headers: { "retry-after": retryAfter } } : {});

test("an invalid Retry-After counts as one second", async () => {
  for (const retryAfter of ["-1", "0", "0.001", "Wed, 21 Oct 2015 07:28:00 GMT"]) {
    let asked = 0;
    const gateway = createGatewayClient({
      baseUrl,
      maxWaitMs: 1_500,
      fetch: () => Promise.resolve(busy(++asked < 100, retryAfter)),
    });
    assert.equal((await gateway.health()).ok, false);
    assert.equal(asked, 2, retryAfter);
  }
});

test("a timeoutMs above the timers' range waits for the answer", async () => {
  for (const timeoutMs of [2 ** 31, Number.MAX_SAFE_INTEGER, Infinity]) {
    const gateway = createGatewayClient({
      baseUrl,
      timeoutMs,
      fetch: async (_url, { signal }) => {
        await new Promise((resolve) => setTimeout(resolve, 50));
        signal!.throwIfAborted();
        return Response.json({});
      },
    });
    assert.deepEqual(await gateway.health(), { ok: true }, String(timeoutMs));
  }
});

test("an apiKey that a header cannot hold is refused at creation, and not repeated", () => {
  for (const apiKey of ["service_sk_abc\ndef", "“service_sk_abc”"]) {
    assert.throws(
      () => createGatewayClient({ baseUrl, apiKey }),
      (error) => error instanceof TypeError && !error.message.includes("service_sk_abc"),
    );
  }
});

test("a baseUrl without http:// is refused at creation", () => {
  for (const wrong of ["localhost:8787", "gateway.example.com", "ftp://gateway.example.com", ""]) {
    assert.throws(() => createGatewayClient({ baseUrl: wrong }), TypeError, wrong);
  }
});

test("a baseUrl with parts that no request would use is refused at creation, without showing them", () => {
  const users = ["shop:geheim@gateway.test", "service_sk_geheim@gateway.test"];
  for (const part of [...users, "gateway.test?key=geheim", "gateway.test/#geheim"]) {
    const create = () => createGatewayClient({ baseUrl: `https://${part}` });
    assert.throws(create, (error: Error) => {
      assert.match(error.message, /pass the API key as apiKey/);
      return error instanceof TypeError && !/geheim/.test(error.message);
    });
  }
});

test("an invalid time, as from an unset variable, is refused at creation", () => {
  for (const wrong of [NaN, -1]) {
    assert.throws(() => createGatewayClient({ baseUrl, timeoutMs: wrong }), TypeError);
    assert.throws(() => createGatewayClient({ baseUrl, maxWaitMs: wrong }), TypeError);
  }
});

test("an idempotencyKey of null counts as absent", async () => {
  const named: boolean[] = [];
  const gateway = createGatewayClient({
    baseUrl,
    fetch: (_url, { headers }) => {
      named.push(new Headers(headers).has("idempotency-key"));
      return Promise.resolve(Response.json({}));
    },
  });
  await gateway.webhooks.create({ url: "https://app.example.com" }, { idempotencyKey: null as unknown as undefined });
  await gateway.webhooks.create({ url: "https://app.example.com" }, { idempotencyKey: "order-17" });
  assert.deepEqual(named, [false, true]);
});

test("a request that cannot be sent is invalid_request, not unreachable", async () => {
  let asked = 0;
  const gateway = createGatewayClient({ baseUrl, fetch: () => (asked++, Promise.resolve(Response.json({}))) });
  const payment = { deviceHash: "", agent: "", merchant: "", asset: "", amount: 5n as unknown as string };
  const unsent = [
    await gateway.checkPayment(payment),
    await gateway.webhooks.test("wh_1", { idempotencyKey: "заказ 17" }),
    await gateway.webhooks.test("wh_1", { idempotencyKey: "a\nb" }),
  ];
  for (const answer of unsent) {
    assert.ok(!answer.ok && "retry" in answer, JSON.stringify(answer));
    assert.deepEqual([answer.reason, answer.retry], ["invalid_request", "never"]);
  }
  assert.equal(asked, 0);
});

test("a Retry-After above the timers' range is not skipped", async () => {
  const stop = new AbortController();
  let asked = 0;
  const gateway = createGatewayClient({
    baseUrl,
    maxWaitMs: Infinity,
    fetch: () => Promise.resolve(busy(++asked < 100, String(2 ** 31))),
  });
  setTimeout(() => stop.abort(), 50);
  assert.equal((await gateway.health({ signal: stop.signal })).ok, false);
  assert.equal(asked, 1);
});
