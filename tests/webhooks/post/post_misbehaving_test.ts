// needs: runtime
import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { at, createPostParts, post } from "./post_parts.ts";
import { until } from "../../until.ts";
import { type Answering, OK_ANSWER } from "../receiver.ts";

const parts = createPostParts();
const { receiver, poster } = parts;
afterEach(parts.close);

describe("an endpoint that misbehaves", () => {
  test("ends with a timeout when it sends nothing", async () => {
    const endpoint = await receiver(() => {});
    const result = await post(poster(), at(endpoint), { timeoutMs: 2_000 });
    assert.deepEqual([result.statusCode, result.error], [undefined, "timed out after 2 s"]);
    assert.equal(result.address, "127.0.0.1");
    await until(() => endpoint.open.size === 0);
  });

  const drips: [what: string, first: string, drip: string, statusCode: number | undefined][] = [
    ["its headers", "HTTP/1.1 200 OK\r\n", "X-Drip: y\r\n", undefined],
    ["its body", "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", "x", 200],
    ["its body without a length", "HTTP/1.1 200 OK\r\n\r\n", "x", 200],
    ["its chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n", 200],
    ["interim answers", "", "HTTP/1.1 102 Processing\r\n\r\n", undefined],
  ];
  for (const [what, first, drip, statusCode] of drips) {
    test(`ends with a timeout when it drips ${what}`, async () => {
      const endpoint = await receiver((_, socket) => {
        socket.write(first);
        const timer = setInterval(() => socket.write(drip), 10);
        socket.on("close", () => clearInterval(timer));
      });
      const result = await post(poster(), at(endpoint), { timeoutMs: 2_000 });
      assert.deepEqual([result.statusCode, result.error], [statusCode, "timed out after 2 s"]);
      await until(() => endpoint.open.size === 0);
    });
  }

  test("gets no compressed answer decompressed", async () => {
    const endpoint = await receiver(() =>
      "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x0b\x08\x00"
    );
    const result = await post(poster(), at(endpoint));
    assert.deepEqual([result.statusCode, result.error, result.responseBody], [200, undefined, ""]);
  });

  const failures: [what: string, answer: Answering, statusCode?: number][] = [
    ["closes without an answer", (_, socket) => void socket.end()],
    [
      "closes within its answer",
      (_, socket) => void socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"),
      200,
    ],
  ];
  for (const [what, answer, statusCode] of failures) {
    test(`that ${what} gets one request, and the error names the cause`, async () => {
      const endpoint = await receiver(answer);
      const result = await post(poster(), at(endpoint));
      const { error } = result;
      assert.deepEqual([error, result.statusCode], ["connection closed before the end of the answer", statusCode]);
      await until(() => endpoint.open.size === 0);
      assert.equal(endpoint.requests.length, 1);
    });
  }

  test('that is down gives "connection refused"', async () => {
    const endpoint = await receiver();
    await endpoint.close();
    const { durationMs: _, ...result } = await post(poster(), at(endpoint));
    assert.deepEqual(result, { error: "connection refused", responseBody: "" });
  });

  test("cannot answer the next request with bytes sent before it", async () => {
    const endpoint = await receiver(({ connection }, socket) => {
      // Bytes a moment after the answer, which a client could take for the answer to its next request.
      if (connection === 1) setTimeout(() => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"), 20);
      return OK_ANSWER;
    });
    const by = poster();
    await post(by, at(endpoint));
    await until(() => endpoint.open.size === 0);
    assert.equal((await post(by, at(endpoint))).responseBody, "ok");
    const extra = await receiver(({ connection }) => connection === 1 ? `${OK_ANSWER}${OK_ANSWER}` : OK_ANSWER);
    await post(by, at(extra));
    assert.equal((await post(by, at(extra))).responseBody, "ok");
    assert.equal(extra.connections, 2);
  });

  test("that closed an idle connection gets a new connection", async () => {
    const endpoint = await receiver(({ connection }, socket) => {
      if (connection === 1) setTimeout(() => socket.end(), 0);
      return OK_ANSWER;
    });
    const by = poster();
    await post(by, at(endpoint));
    await until(() => endpoint.open.size === 0);
    assert.equal((await post(by, at(endpoint))).statusCode, 200);
    assert.equal(endpoint.connections, 2);
  });

  test("that closes a reused connection during the next request gets exactly one retry", async () => {
    let served = 0;
    const endpoint = await receiver((_, socket) => {
      if (++served === 1) return OK_ANSWER;
      socket.destroy();
    });
    const by = poster();
    await post(by, at(endpoint));
    const result = await post(by, at(endpoint));
    assert.match(result.error!, /^connection (closed before the end of the answer|reset)$/);
    assert.equal(endpoint.requests.length, 3);
  });
});
