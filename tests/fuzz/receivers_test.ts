// needs: once
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { after, test } from "node:test";
import type { SeededRandom } from "../faults/seeded_random.ts";
import { until } from "../until.ts";
import { at, createPostParts, post } from "../webhooks/post/post_parts.ts";
import { OK_ANSWER } from "../webhooks/receiver.ts";
import { count, fuzzRandom, inputCount, report, seed, timeoutMs } from "./inputs.ts";
import { mutatedBytes } from "./mutations.ts";

const parts = createPostParts();
after(parts.close);

/** Usual and unusual answers of servers. */
const ANSWERS = [
  OK_ANSWER,
  "HTTP/1.1 204 No Content\r\n\r\n",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Trailer: a\r\n\r\n",
  "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nok",
  "HTTP/1.0 200 OK\r\n\r\nok",
  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
  "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 99999999999999\r\nContent-Length: 2\r\n\r\nno",
  "HTTP/1.1 503 Busy\r\nRetry-After: Sun, 06 Nov 2094 08:49:37 GMT\r\nContent-Length: 2\r\n\r\nno",
  "HTTP/1.1 500 \x1b[2J\u202e\r\nContent-Length: 4\r\n\r\n\x00\x01\x02\x03",
  `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\nX-Long: ${
    "a".repeat(3_000)
  }\r\n\r\n\x1f\x8b\x08\x00\x00`,
];

/** The answer with another one behind it, a broken line, a repeated header, other numbers or changed bytes. */
function bent(answer: string, random: SeededRandom): Uint8Array {
  const how = random.next();
  if (how < 0.1) return Buffer.from(answer, "latin1");
  if (how < 0.2) return Buffer.from(answer + random.pick(ANSWERS), "latin1");
  if (how < 0.3) {
    return Buffer.from(
      answer.replace(
        "\r\n",
        random.pick([
          "\n",
          "\r",
          "\r\n\r\n",
          "\r\nContent-Length: 3\r\n",
          "\r\nContent-Length: -1\r\n",
          "\r\nTransfer-Encoding: gzip\r\n",
          "\r\n folded\r\n",
        ]),
      ),
      "latin1",
    );
  }
  if (how < 0.4) {
    return Buffer.from(
      answer.replace(
        /\d+/g,
        (digits) => random.next() < 0.5 ? digits : random.pick(["0", "-1", "9".repeat(30), "1e3", ""]),
      ),
      "latin1",
    );
  }
  return mutatedBytes(Uint8Array.from(Buffer.from(answer, "latin1")), random);
}

/** Writes the answer whole or in two pieces, and sometimes breaks off. */
function write(socket: Socket, bytes: Uint8Array, random: SeededRandom): void {
  const at = random.next() < 0.3 ? Math.floor(random.next() * bytes.length) : bytes.length;
  socket.write(bytes.slice(0, at));
  const end = random.next();
  setImmediate(() => {
    if (socket.destroyed) return;
    if (end < 0.1) return void socket.destroy();
    if (at < bytes.length) socket.write(bytes.slice(at));
    if (end < 0.8) socket.end();
  });
}

test(
  "a post ends in time with a printable outcome whatever bytes the receiver answers, and the next post succeeds",
  { timeout: timeoutMs },
  async () => {
    const random = fuzzRandom();
    let isBent = true;
    const endpoint = await parts.receiver((_, socket) => {
      if (!isBent) return OK_ANSWER;
      write(socket, bent(random.pick(ANSWERS), random), random);
    });
    const poster = parts.poster();
    const outcomes = new Map<string, number>();
    const inputs = inputCount(200);
    for (let n = 0; n < inputs; n++) {
      const about = `seed ${seed}, input ${n}`;
      const { statusCode, error, responseBody, durationMs } = await post(poster, at(endpoint), { timeoutMs: 100 });
      count(outcomes, error === undefined ? `${Math.floor(statusCode! / 100)}xx` : error);
      const isAnswer = statusCode === undefined ? error !== undefined : statusCode >= 100 && statusCode <= 999;
      assert.ok(isAnswer, `${about}: ${statusCode} ${error}`);
      assert.ok(durationMs < 5_000, `${about}: took ${durationMs} ms`);
      assert.ok(responseBody.length <= 1_024, about);
      // The text goes into the store, answers and terminals. It may contain line breaks.
      // deno-lint-ignore no-control-regex
      assert.doesNotMatch(responseBody + (error ?? ""), /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]/u, about);
      if (error !== undefined) {
        assert.ok(error.length < 100 && !/[A-Z]{6}|_/.test(error.replace(/\(E[A-Z]+\)/, "")), `${about}: ${error}`);
      }
      if (n % 50 !== 49) continue;
      isBent = false;
      const good = await post(poster, at(endpoint), { timeoutMs: 10_000 });
      assert.deepEqual([good.statusCode, good.error, good.responseBody], [200, undefined, "ok"], about);
      isBent = true;
    }
    report("a receiver's answers", inputs, outcomes);
    assert.ok((outcomes.get("2xx") ?? 0) > inputs / 20 && outcomes.size > 5, JSON.stringify([...outcomes]));
    poster.close();
    await until(() => endpoint.open.size === 0);
  },
);
