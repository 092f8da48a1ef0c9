// needs: runtime
import assert from "node:assert/strict";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { afterEach, describe, test } from "node:test";
import { at, createPostParts, post } from "./post_parts.ts";
import { until } from "../../until.ts";
import { OK_ANSWER } from "../receiver.ts";

const { receiver, poster, close } = createPostParts();
afterEach(close);

const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const INTERIM = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n";
const CLOSED = "connection closed before the end of the answer";
const LENGTH = "the answer has a malformed length";
const CHUNK = "the answer has a malformed chunk";
const HEADERS = "the headers of the answer are longer than 16 KiB";

describe("an answer", () => {
  const whole: [what: string, raw: string, status: number, body: string, isReused: boolean][] = [
    ["with a length", `${OK}Content-Length: 5\r\n\r\nhello`, 200, "hello", true],
    ["without a body", `${OK}content-length:0\r\n\r\n`, 200, "", true],
    ["of 204", "HTTP/1.1 204 No Content\r\n\r\n", 204, "", true],
    ["of 204 with a body", "HTTP/1.1 204 No Content\r\n\r\nhello", 204, "", false],
    ["of 304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 304, "", true],
    ["in chunks", `${CHUNKED}5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n`, 200, "hello world", true],
    ["in chunks with trailers", `${OK}Transfer-Encoding: Chunked\r\n\r\n1\r\na\r\n000\r\nX: y\r\n\r\n`, 200, "a", true],
    ["after interim answers", `${INTERIM}${OK}Content-Length: 1\r\n\r\na`, 200, "a", true],
    ["that closes", `${OK}Connection: keep-alive, Close\r\nContent-Length: 1\r\n\r\na`, 200, "a", false],
    ["of HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", 200, "a", false],
    ["with another answer after it", `${OK_ANSWER}${OK}Content-Length: 6\r\n\r\nforged`, 200, "ok", false],
    ["with extra bytes after it", `${OK_ANSWER}x`, 200, "ok", false],
    ["in chunks with extra bytes after it", `${CHUNKED}1\r\na\r\n0\r\n\r\nx`, 200, "a", false],
  ];
  for (const [what, raw, status, body, isReused] of whole) {
    test(`${what} is read, and its connection ${isReused ? "reused" : "closed"}`, async () => {
      const endpoint = await receiver(() => raw);
      const by = poster();
      for (let i = 0; i < 2; i++) {
        const { statusCode, responseBody, error } = await post(by, at(endpoint));
        assert.deepEqual([statusCode, responseBody, error], [status, body, undefined]);
        if (!isReused) await until(() => endpoint.open.size === 0);
      }
      assert.equal(endpoint.connections, isReused ? 1 : 2);
    });
  }

  test("without a length ends with its connection", async () => {
    for (const head of ["", "Transfer-Encoding: identity\r\n"]) {
      const endpoint = await receiver((_, socket) => void socket.end(`${OK}${head}\r\nhello`));
      const { statusCode, responseBody, error } = await post(poster(), at(endpoint));
      assert.deepEqual([statusCode, responseBody, error], [200, "hello", undefined]);
    }
  });

  test("of exactly 64 KiB, the limit, is read whole", async () => {
    const endpoint = await receiver(() => `${OK}Content-Length: 65536\r\n\r\n${"x".repeat(65_536)}`);
    const by = poster();
    for (let i = 0; i < 2; i++) assert.equal((await post(by, at(endpoint))).statusCode, 200);
    assert.equal(endpoint.connections, 1);
  });

  test("before the receiver has read the request counts, and closes the connection", async () => {
    const open = new Set<Socket>();
    const server = createServer((socket) => {
      open.add(socket);
      socket.on("error", () => {}).on("close", () => open.delete(socket));
      // Reads nothing more until `resume`.
      socket.once("data", () => socket.pause().write(OK_ANSWER));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const result = await post(poster(), `http://127.0.0.1:${port}/`, { body: "x".repeat(16_000_000) });
    assert.deepEqual([result.statusCode, result.responseBody, result.error], [200, "ok", undefined]);
    open.forEach((socket) => socket.resume());
    await until(() => open.size === 0);
    await new Promise((resolve) => server.close(resolve));
  });

  const malformed: [what: string, raw: string, error: string, status?: number][] = [
    ["HTTP/2", "HTTP/2 200 OK\r\n\r\n", "the answer is not HTTP/1.1"],
    ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n", "the answer is not HTTP/1.1"],
    ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", "the answer is not HTTP/1.1"],
    ["a switch of protocols", "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", CLOSED],
    ["a header without a colon", `${OK}nonsense\r\n\r\n`, "the answer has a malformed header"],
    ["a header without a name", `${OK}: x\r\n\r\n`, "the answer has a malformed header"],
    ["another protocol", "220 mail.example ESMTP\r\n\r\n", "the answer is not HTTP/1.1"],
    ["the invalid status 099", "HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n", "the answer is not HTTP/1.1"],
    ["two lengths", `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\na`, LENGTH],
    ["two lengths in one", `${OK}Content-Length: 1, 2\r\n\r\na`, LENGTH],
    ["a negative length", `${OK}Content-Length: -1\r\n\r\n`, LENGTH],
    ["a length in hex", `${OK}Content-Length: 0x1\r\n\r\na`, LENGTH],
    ["an empty length", `${OK}Content-Length:\r\n\r\n`, LENGTH],
    ["an immense length", `${OK}Content-Length: 99999999999999999999999\r\n\r\n`, LENGTH],
    ["a length beside chunks", `${OK}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, LENGTH],
    ["a chunk without a size", `${CHUNKED}\r\n`, CHUNK, 200],
    ["a chunk whose size is no number", `${CHUNKED}zz\r\n`, CHUNK, 200],
    ["a chunk with a negative size", `${CHUNKED}-1\r\n`, CHUNK, 200],
    ["a chunk with an immense size", `${CHUNKED}${"f".repeat(20)}\r\n`, CHUNK, 200],
    ["a chunk without an end", `${CHUNKED}1\r\nab\r\n`, CHUNK, 200],
    ["a chunk size that ends in a bare line feed", `${CHUNKED}1\na`, CHUNK, 200],
    ["endless headers", `${OK}${"X: y\r\n".repeat(5_000)}`, HEADERS],
    ["one endless header", `${OK}X: ${"y".repeat(20_000)}`, HEADERS],
    ["endless interim answers", "HTTP/1.1 100 Continue\r\n\r\n".repeat(1_000), HEADERS],
  ];
  for (const [what, raw, error, status] of malformed) {
    test(`with ${what} is rejected, and its connection closed`, async () => {
      const endpoint = await receiver(() => raw);
      const result = await post(poster(), at(endpoint));
      assert.deepEqual([result.error, result.statusCode], [error, status]);
      await until(() => endpoint.open.size === 0);
      assert.equal(endpoint.requests.length, 1);
    });
  }

  const parts: [what: string, raw: string, status?: number][] = [
    ["its headers", `${OK}Content-Le`],
    ["its body", `${OK}Content-Length: 5\r\n\r\nhell`, 200],
    ["its chunks", `${CHUNKED}5\r\nhello\r\n`, 200],
  ];
  for (const [what, raw, status] of parts) {
    test(`that breaks off in ${what} is an error, and the poster does not repeat the request`, async () => {
      const endpoint = await receiver((_, socket) => {
        if (endpoint.requests.length === 1) return OK_ANSWER;
        socket.write(raw, () => socket.destroy());
      });
      const by = poster();
      await post(by, at(endpoint));
      const result = await post(by, at(endpoint));
      assert.equal(result.statusCode, status);
      assert.match(result.error!, /^connection (closed before the end of the answer|reset)$/);
      assert.deepEqual([endpoint.requests.length, endpoint.connections], [2, 1]);
    });
  }

  const endless: [what: string, head: string, more: string][] = [
    ["with a length", "Content-Length: 999999999\r\n", "x".repeat(1_000)],
    ["without a length", "", "x".repeat(16_384)],
    ["in chunks", "Transfer-Encoding: chunked\r\n", `3e8\r\n${"x".repeat(1_000)}\r\n`],
    ["in one chunk", "Transfer-Encoding: chunked\r\n", `fffffff\r\n${"x".repeat(100_000)}`],
    ["in tiny chunks", "Transfer-Encoding: chunked\r\n", "1\r\nx\r\n".repeat(500)],
  ];
  for (const [what, head, more] of endless) {
    test(`${what} that does not end is cut, and the poster keeps its first KiB`, async () => {
      const endpoint = await receiver((_, socket) => {
        socket.write(`${OK}${head}\r\n`);
        const go = () => void (!socket.destroyed && socket.write(more, go));
        go();
      });
      const { statusCode, error, responseBody } = await post(poster(), at(endpoint));
      assert.deepEqual([statusCode, error], [200, undefined]);
      assert.equal(responseBody, "x".repeat(1_024));
      await until(() => endpoint.open.size === 0);
    });
  }
});
