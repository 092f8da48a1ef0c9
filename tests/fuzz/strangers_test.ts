// needs: once
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { connect } from "node:net";
import { test } from "node:test";
import { forTier } from "../tier.ts";
import { assertSound } from "./answers.ts";
import { count, fuzzRandom, inputCount, isLong, report, seed, timeoutMs } from "./inputs.ts";
import { malformedRequests } from "./malformed_requests.ts";
import { oddRequests } from "./odd_requests.ts";
import { pipeline, type RawAnswer, type RawRequest, readAnswers } from "./pipeline.ts";
import { type Served, startServed } from "./served.ts";

/** The allowed ratio of memory after a million odd requests to memory before them. */
const GROWTH = 1.2;
/** The time that a runtime may take to release memory. */
const SETTLE_MS = 90_000;

// Before the tests: Bun gives a hook five seconds at most.
const served = await startServed();

/** Whether the runtime answered before the gateway saw the request: without a body, with one of these 4xx or 5xx statuses. */
function isOfRuntime({ status, headers, body }: RawAnswer): boolean {
  return !headers.has("x-request-id") && body === "" && [400, 414, 431, 501, 505].includes(status);
}

function check(answer: RawAnswer, request: RawRequest, about: string): void {
  if (isOfRuntime(answer) || answer.status === 100) return;
  if (request.method === "HEAD") assert.ok(answer.status < 500, about);
  else assertSound({ ...answer, text: answer.body }, about);
}

async function isWell({ gateway }: Served, about: string): Promise<void> {
  const health = await fetch(`${gateway.url}/v1/health`).catch((error) =>
    assert.fail(`${about}: ${error}\n${gateway.log()}`)
  );
  assert.equal(health.status, 200, about);
  await health.body?.cancel();
}

/** Sends bytes, ends the connection and returns everything that arrives within a second. */
function sendRaw(port: number, bytes: Uint8Array): Promise<Buffer> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    const socket = connect(port, "127.0.0.1", () => socket.end(bytes));
    const timer = setTimeout(() => socket.destroy(), 1_000);
    socket.on("data", (part) => parts.push(part as Buffer));
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(Buffer.concat(parts));
    });
  });
}

test(
  "the gateway answers malformed requests with a sound answer or a close, and still answers the next caller",
  { timeout: timeoutMs },
  async () => {
    const next = malformedRequests(fuzzRandom(), served.apiKey);
    const outcomes = new Map<string, number>();
    const inputs = inputCount(500);
    const AT_ONCE = 50;
    for (let n = 0; n < inputs; n += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, async () => {
        const sent = next();
        const about = `seed ${seed}, inputs from ${n}: ${
          JSON.stringify(Buffer.from(sent.slice(0, 3_000)).toString("latin1"))
        }`;
        const method = Buffer.from(sent.slice(0, 5)).toString("latin1") === "HEAD " ? "HEAD" : "GET";
        // Answers to more than one request may follow. An answer to HEAD has no body.
        const [answer] = readAnswers(await sendRaw(served.port, sent), [{ method }]);
        count(outcomes, answer === undefined ? "closed" : String(answer.status));
        if (answer !== undefined && method !== "HEAD") check(answer, { method, bytes: sent }, about);
      }));
      await isWell(served, `seed ${seed}, inputs from ${n}`);
    }
    report("bytes", inputs, outcomes);
    const [well, refused] = ["200", "400"].map((status) => outcomes.get(status) ?? 0);
    assert.ok(well! > inputs / 50 && refused! > inputs / 20, JSON.stringify([...outcomes]));
  },
);

test(
  "the gateway's memory does not grow over many odd requests",
  { timeout: timeoutMs },
  async () => {
    const next = oddRequests({ random: fuzzRandom(), apiKey: served.apiKey });
    const outcomes = new Map<string, number>();
    const EACH = 50;
    async function ask(inputs: number): Promise<void> {
      let left = inputs;
      await Promise.all(Array.from({ length: 8 }, async () => {
        while ((left -= EACH) > -EACH) {
          const requests = Array.from({ length: EACH }, (_, at) => next(at === EACH - 1));
          const answers = await pipeline(served.port, requests);
          for (const [at, answer] of answers.entries()) {
            count(outcomes, String(answer.status));
            const sent = Buffer.from(requests[at]!.bytes).toString().slice(0, 3_000);
            check(answer, requests[at]!, `seed ${seed}: ${sent}`);
          }
        }
      }));
    }
    // After this warm-up V8 has grown its space for young objects to its full size.
    await ask(isLong ? 300_000 : forTier({ test: 3_000, all: 30_000 }));
    const before = served.memory();
    const inputs = inputCount(3_000);
    await ask(inputs);
    // In the short form the runtime's own compiled code outweighs what a few requests could leak.
    const most = before * (isLong ? GROWTH : 1.5);
    const startedAt = performance.now();
    let after = served.memory();
    for (; after > most && performance.now() - startedAt < SETTLE_MS; after = served.memory()) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      await isWell(served, "settling");
    }
    report(`memory ${Math.round(before)} → ${Math.round(after)} MiB`, inputs, outcomes);
    assert.ok(after <= most, `${before} MiB before, ${after} MiB after`);
    assert.equal(await served.stop(), 0, served.gateway.log());
    assert.doesNotMatch(served.gateway.log(), /"level":"error"/);
  },
);
