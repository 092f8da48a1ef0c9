// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GatewayError } from "../../../lib/errors.ts";
import { RpcError } from "../../../lib/stellar/rpc/json_rpc.ts";
import { createRpcClient } from "../../../lib/stellar/rpc/client.ts";
import { MAX_ANSWER_BYTES } from "../../../lib/stellar/rpc/transport.ts";
import { createHead } from "../../../lib/stellar/head.ts";
import { fakeClock } from "./stub_rpc.ts";

const SECRET_URL = "https://user:hunter2@rpc.test/path-token?key=query-token";

type Answer = (body: { id: number; method: string; params?: unknown }, url: string, init: RequestInit) =>
  | Response
  | Promise<Response>;

function client(answers: Answer[], urls = [SECRET_URL], timeoutMs = 10_000) {
  const clock = fakeClock();
  const problems: string[] = [];
  const asked: { url: string; init: RequestInit; body: { id: number; method: string; params?: unknown } }[] = [];
  const head = createHead({ clock, stored: { sequence: 5, closeTime: 1_799_999_990 } });
  const rpc = createRpcClient({
    urls,
    timeoutMs,
    head,
    clock,
    onProblem: ({ node, method, message }) => problems.push(`${node} ${method} ${message}`),
    fetch: async (url, init) => {
      const body = JSON.parse(String(init.body));
      const answer = answers[Math.min(asked.length, answers.length - 1)]!;
      asked.push({ url, init, body });
      return await answer(body, url, init);
    },
  });
  return { rpc, problems, asked, head, clock };
}

const result = (value: unknown): Answer => ({ id }) => Response.json({ jsonrpc: "2.0", id, result: value });
const LATEST = { sequence: 7, id: "ab", protocolVersion: 28, closeTime: "1800000000" };

async function upstreamMessage(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(() => assert.fail("it resolved"), (error) => error);
  assert.ok(error instanceof GatewayError, String(error));
  assert.equal(error.code, "upstream_error");
  for (const secret of ["hunter2", "user", "path-token", "query-token"]) {
    assert.ok(!error.message.includes(secret), error.message);
  }
  return error.message;
}

describe("the RPC client", () => {
  test("posts JSON-RPC 2.0 without empty params, and sends userinfo as a header", async () => {
    const { rpc, asked } = client([result(LATEST)]);
    const answer = await rpc.getLatestLedger();
    assert.equal(answer.sequence, 7);
    assert.equal(answer.closeTime, 1_800_000_000);
    const [{ url, init, body }] = asked as [typeof asked[0]];
    assert.equal(url, "https://rpc.test/path-token?key=query-token");
    assert.deepEqual(body, { jsonrpc: "2.0", id: 1, method: "getLatestLedger" } as unknown);
    assert.equal((init.headers as Record<string, string>).authorization, `Basic ${btoa("user:hunter2")}`);
    assert.equal(init.redirect, "manual");
  });

  test("keeps unknown fields and accepts null for an absent list", async () => {
    const { rpc } = client([result({ latestLedger: 9, entries: null, future: 1 })]);
    const answer = await rpc.getLedgerEntries([]);
    assert.deepEqual(answer, { latestLedger: 9, entries: [], future: 1 } as unknown);
  });

  test("passes the newest ledger of every answer to the head", async () => {
    const { rpc, head } = client([result(LATEST), result({ latestLedger: 8, entries: [] })]);
    await rpc.getLatestLedger();
    assert.deepEqual([head.sequence, head.closeTime, head.isTimed], [7, 1_800_000_000, true]);
    await rpc.getLedgerEntries([]);
    assert.deepEqual([head.sequence, head.closeTime, head.isTimed], [8, 1_800_000_000, false]);
  });

  test("rejects an answer with a ledger beyond 2^31-1 (T5)", async () => {
    const { rpc, head } = client([result({ latestLedger: 4_294_967_295, entries: [] })]);
    assert.match(await upstreamMessage(rpc.getLedgerEntries([])), /answered nonsense \(latestLedger\)/);
    assert.equal(head.sequence, 5);
  });

  test("retries a call once when the node is busy, unreachable, or breaks off", async () => {
    const brokenOff = () => new ReadableStream({ start: (c) => c.error(new TypeError("connection reset")) });
    const faults: Answer[] = [
      () => new Response("busy", { status: 503 }),
      () => new Response("slow", { status: 504 }),
      () => Promise.reject(new TypeError("connection refused")),
      () => new Response(brokenOff()),
      () => new Response(brokenOff(), { status: 503 }),
    ];
    for (const fault of faults) {
      const { rpc, asked, problems } = client([fault, result(LATEST)]);
      assert.equal((await rpc.getLatestLedger()).sequence, 7);
      assert.equal(asked.length, 2);
      assert.equal(problems.length, 1);
    }
  });

  test("refuses an answer after its time limit, as after a suspension of the process", async () => {
    const { rpc, head, clock } = client([(...asked) => {
      clock.pass(60_000);
      return result(LATEST)(...asked);
    }]);
    assert.match(await upstreamMessage(rpc.getLatestLedger()), /did not answer within 10000 ms/);
    assert.equal(head.sequence, 5);
  });

  test("fails after the second failure, with a message without credentials", async () => {
    const { rpc, asked, problems } = client([() => new Response("busy", { status: 503 })]);
    const message = await upstreamMessage(rpc.getLatestLedger());
    assert.equal(message, "the RPC node https://rpc.test answered HTTP 503 (getLatestLedger)");
    assert.equal(asked.length, 2);
    assert.deepEqual(problems, Array(2).fill("https://rpc.test getLatestLedger answered HTTP 503"));
  });

  test("never sends a transaction twice by itself", async () => {
    const { rpc, asked } = client([() => Promise.reject(new TypeError("connection reset"))]);
    await upstreamMessage(rpc.sendTransaction("AAAA"));
    assert.equal(asked.length, 1);
  });

  test("rejects a malformed answer without a retry", async () => {
    const nonsense: [Answer, RegExp][] = [
      [() => new Response("<html>maintenance</html>"), /not JSON/],
      [() => new Response('{"jsonrpc":"2.0","id":1,"result":{"sequ'), /not JSON/],
      [() => Response.json([1, 2]), /no JSON-RPC answer/],
      [() => Response.json({ jsonrpc: "2.0", id: 99, result: LATEST }), /another request's id/],
      [result({ ...LATEST, sequence: "seven" }), /nonsense \(sequence\)/],
      [result({ ...LATEST, sequence: -1 }), /nonsense \(sequence\)/],
      [result(null), /nonsense/],
      [() => new Response("", { status: 302, headers: { location: "http://evil.test" } }), /redirect/],
      [() => new Response("no", { status: 404 }), /HTTP 404/],
    ];
    for (const [answer, words] of nonsense) {
      const { rpc, asked } = client([answer]);
      assert.match(await upstreamMessage(rpc.getLatestLedger()), words);
      assert.equal(asked.length, 1);
    }
  });

  test("stops reading an answer that is larger than the limit", async () => {
    const chunk = new Uint8Array(1024 * 1024);
    let sent = 0;
    const { rpc } = client([() =>
      new Response(
        new ReadableStream({
          pull(controller) {
            sent += chunk.length;
            controller.enqueue(chunk);
          },
          cancel: () => Promise.reject(new TypeError("connection reset")),
        }),
      )]);
    const error = await rpc.getLatestLedger().then(() => assert.fail("it resolved"), (error) => error);
    assert.ok(error instanceof RpcError);
    assert.deepEqual([error.kind, error.message], ["too_large", "the answer is larger than 16777216 bytes"]);
    assert.ok(sent < MAX_ANSWER_BYTES + 4 * chunk.length, `${sent} bytes were taken`);
  });

  test("fails after 10 s when the node is silent", async () => {
    const { rpc, clock } = client([() => new Promise<Response>(() => {})]);
    const startMs = clock.now();
    assert.match(await upstreamMessage(rpc.getLatestLedger()), /did not answer within 10000 ms/);
    assert.equal(clock.now() - startMs, 10_000);
  });

  test("fails at the same timeout when a body never ends", async () => {
    const { rpc } = client([() => new Response(new ReadableStream({}))]);
    assert.match(await upstreamMessage(rpc.getLatestLedger()), /did not answer within/);
  });

  test("stops when the caller does", async () => {
    const { rpc } = client([() => new Promise<Response>(() => {})]);
    const caller = new AbortController();
    const call = rpc.getLatestLedger({ signal: caller.signal });
    caller.abort();
    assert.match(await upstreamMessage(call), /abandoned/);
  });

  test("returns an error object of the node as an RpcError without its URLs", async () => {
    const { rpc } = client([
      ({ id }) =>
        Response.json({ jsonrpc: "2.0", id, error: { code: -32602, message: "see https://rpc.test/path-token" } }),
    ]);
    const error = await rpc.getLatestLedger().then(() => assert.fail("it resolved"), (error) => error);
    assert.ok(error instanceof RpcError);
    assert.deepEqual([error.code, error.message], [-32602, "see [url]"]);
  });

  test("uses the next node when one fails, and keeps using it", async () => {
    const urls = ["https://a.test", "https://b.test"];
    const { rpc, asked } = client([() => new Response("<html>"), result(LATEST)], urls);
    await rpc.getLatestLedger();
    await rpc.getLatestLedger();
    assert.deepEqual(asked.map(({ url }) => new URL(url).hostname), ["a.test", "b.test", "b.test"]);
  });

  test("asks the second node after 5 s when the first is silent", async () => {
    const urls = ["https://a.test", "https://b.test"];
    const { rpc, clock } = client([() => new Promise<Response>(() => {}), result(LATEST)], urls);
    const startMs = clock.now();
    await rpc.getLatestLedger();
    assert.equal(clock.now() - startMs, 5_000);
  });
});
