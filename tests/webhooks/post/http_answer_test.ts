import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createAnswerReader, type HttpAnswer, MAX_HEAD_BYTES } from "../../../lib/webhooks/post/http_answer.ts";
import { HttpAnswerError, MAX_BODY_BYTES, MAX_KEPT_BYTES } from "../../../lib/webhooks/post/http_body.ts";

const bytes = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
const text = ({ bodyStart }: HttpAnswer) => String.fromCharCode(...bodyStart);

/** What a reader makes of these pieces; `closed`: the connection ends after them. */
function read(pieces: string[], closed = false): HttpAnswer | undefined {
  const reader = createAnswerReader();
  for (const piece of pieces) {
    const answer = reader.push(bytes(piece));
    if (answer !== undefined) return answer;
  }
  return closed ? reader.end() : undefined;
}

const OK = "HTTP/1.1 200 OK\r\n";

describe("an answer", () => {
  const whole: [what: string, raw: string, status: number, body: string, isReusable: boolean][] = [
    ["with a length", `${OK}Content-Length: 5\r\n\r\nhello`, 200, "hello", true],
    ["without a body", `${OK}content-length:0\r\n\r\n`, 200, "", true],
    ["without a reason", "HTTP/1.1 204\r\n\r\n", 204, "", true],
    ["of 304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 304, "", true],
    [
      "in chunks",
      `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n`,
      200,
      "hello world",
      true,
    ],
    ["in chunks with trailers", `${OK}Transfer-Encoding: Chunked\r\n\r\n1\r\na\r\n000\r\nX: y\r\n\r\n`, 200, "a", true],
    [
      "behind interim ones",
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n${OK}Content-Length: 1\r\n\r\na`,
      200,
      "a",
      true,
    ],
    ["that closes", `${OK}Connection: keep-alive, Close\r\nContent-Length: 1\r\n\r\na`, 200, "a", false],
    ["of HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", 200, "a", false],
    ["that says its length twice alike", `${OK}Content-Length: 1\r\nContent-Length: 1\r\n\r\na`, 200, "a", true],
    ["with something behind it", `${OK}Content-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\n`, 200, "a", false],
    ["in chunks with something behind it", `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nx`, 200, "", false],
  ];
  for (const [what, raw, status, body, isReusable] of whole) {
    test(`${what} is read, however it is cut into pieces`, () => {
      const expected = read([raw])!;
      assert.deepEqual([expected.statusCode, text(expected), expected.isReusable], [status, body, isReusable]);
      // What belongs to no answer must come with its end to be seen: those are cut before it.
      const end = raw.length - (what.includes("behind it") ? 3 : 0);
      fc.assert(fc.property(fc.array(fc.integer({ min: 0, max: end }), { maxLength: 8 }), (cuts) => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), end, raw.length];
        const pieces = at.slice(1).map((to, index) => raw.slice(at[index], to));
        const answer = read(pieces)!;
        assert.deepEqual([answer.statusCode, text(answer)], [status, body]);
        if (end === raw.length) assert.equal(answer.isReusable, isReusable);
      }));
    });
  }

  test("without a length ends with its connection", () => {
    for (const head of ["", "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: identity\r\n"]) {
      assert.equal(read([`${OK}${head}\r\nhel`, "lo"]), undefined);
      const answer = read([`${OK}${head}\r\nhel`, "lo"], true)!;
      assert.deepEqual([answer.statusCode, text(answer), answer.isReusable], [200, "hello", false]);
    }
  });

  test("that breaks off is none, though its status may be known", () => {
    const parts = [
      "",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
      `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`,
    ];
    for (const raw of parts) assert.equal(read([raw], true), undefined);
    const reader = createAnswerReader();
    reader.push(bytes("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"));
    assert.equal(reader.soFar(), undefined);
    reader.push(bytes("\r\nhel"));
    assert.equal(reader.soFar()!.statusCode, 200);
    assert.equal(text(reader.soFar()!), "hel");
  });

  test("keeps Retry-After and Content-Encoding as they came, up to a bound", () => {
    const answer = read([
      `HTTP/1.1 429 Slow\r\nRETRY-AFTER:  120 \r\ncontent-encoding: gzip\r\nContent-Length: 0\r\n\r\n`,
    ])!;
    assert.deepEqual([answer.retryAfter, answer.contentEncoding], ["120", "gzip"]);
    const long = read([`HTTP/1.1 429 Slow\r\nRetry-After: ${"9".repeat(5_000)}\r\nContent-Length: 0\r\n\r\n`])!;
    assert.equal(long.retryAfter, "9".repeat(64));
  });

  const malformed: [what: string, raw: string][] = [
    ["another protocol", "SSH-2.0-OpenSSH_9.6\r\n\r\n"],
    ["HTTP/2", "HTTP/2 200 OK\r\n\r\n"],
    ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"],
    ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"],
    ["a switch of protocols", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n"],
    ["a header without a colon", `${OK}nonsense\r\n\r\n`],
    ["a header without a name", `${OK}: x\r\n\r\n`],
    ["two lengths", `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`],
    ["two lengths in one", `${OK}Content-Length: 1, 2\r\n\r\n`],
    ["a negative length", `${OK}Content-Length: -1\r\n\r\n`],
    ["a length in hex", `${OK}Content-Length: 0x1\r\n\r\n`],
    ["an empty length", `${OK}Content-Length:\r\n\r\n`],
    ["a length that is no safe integer", `${OK}Content-Length: 99999999999999999\r\n\r\n`],
    ["a length beside chunks", `${OK}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`],
    ["a chunk without a size", `${OK}Transfer-Encoding: chunked\r\n\r\n\r\n`],
    ["a chunk with a negative size", `${OK}Transfer-Encoding: chunked\r\n\r\n-1\r\n`],
    ["a chunk with an immense size", `${OK}Transfer-Encoding: chunked\r\n\r\nfffffffff\r\n`],
    ["a chunk without an end", `${OK}Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n`],
    ["a chunk size that ends in a bare line feed", `${OK}Transfer-Encoding: chunked\r\n\r\n1\na`],
    ["endless headers", `${OK}${"X: y\r\n".repeat(5_000)}`],
    ["one endless header", `${OK}X: ${"y".repeat(MAX_HEAD_BYTES)}`],
    ["endless interim answers", "HTTP/1.1 100 Continue\r\n\r\n".repeat(1_000)],
  ];
  for (const [what, raw] of malformed) {
    test(`is refused for ${what}`, () => {
      assert.throws(() => read([raw]), HttpAnswerError);
      assert.throws(() => read([...raw]), HttpAnswerError);
    });
  }

  const endless: [what: string, head: string, more: string][] = [
    ["with a length", "Content-Length: 999999999\r\n", "x".repeat(1_000)],
    ["without a length", "", "x".repeat(1_000)],
    ["in chunks", "Transfer-Encoding: chunked\r\n", `3e8\r\n${"x".repeat(1_000)}\r\n`],
    ["in one chunk", "Transfer-Encoding: chunked\r\n", `fffffff\r\n${"x".repeat(100_000)}`],
    ["in tiny chunks", "Transfer-Encoding: chunked\r\n", "1\r\nx\r\n"],
  ];
  for (const [what, head, more] of endless) {
    test(`${what} that does not end is cut, keeps its beginning and is not used again`, () => {
      const reader = createAnswerReader();
      let answer = reader.push(bytes(`${OK}${head}\r\n`));
      let pushed = 0;
      while (answer === undefined) {
        assert.ok(pushed <= MAX_BODY_BYTES + 101_000, "it goes on");
        pushed += more.length;
        answer = reader.push(bytes(more));
      }
      assert.deepEqual([answer.statusCode, answer.isReusable], [200, false]);
      assert.equal(text(answer), "x".repeat(MAX_KEPT_BYTES));
    });
  }

  test("with endless trailers is cut", () => {
    const reader = createAnswerReader();
    let answer = reader.push(bytes(`${OK}Transfer-Encoding: chunked\r\n\r\n0\r\n`));
    for (let i = 0; i < 5_000 && answer === undefined; i++) answer = reader.push(bytes("X: y\r\n"));
    assert.deepEqual([answer?.statusCode, answer?.isReusable], [200, false]);
  });

  test("of exactly the most that is read is whole", () => {
    const answer = read([`${OK}Content-Length: ${MAX_BODY_BYTES}\r\n\r\n`, "x".repeat(MAX_BODY_BYTES)])!;
    assert.ok(answer.isReusable);
  });

  test("never makes the reader do anything but answer, wait or refuse", () => {
    const fragments = fc.array(
      fc.oneof(
        fc.constantFrom(
          "HTTP/1.1 ",
          "200",
          " OK\r\n",
          "\r\n",
          "\r",
          "\n",
          "Content-Length: ",
          "Transfer-Encoding: chunked",
          "5",
          "0",
        ),
        fc.string({ maxLength: 12 }),
      ),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(fragments, (pieces) => {
        try {
          read(pieces.map((piece) => piece.replace(/[^\0-\xff]/g, "?")), true);
        } catch (error) {
          assert.ok(error instanceof HttpAnswerError, String(error));
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
