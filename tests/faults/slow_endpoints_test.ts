import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import { startGateway, startTestNetwork } from "../http/test_gateway.ts";
import { OK_ANSWER, startReceiver } from "../webhooks/receiver.ts";
import { startCardTraffic } from "./card_traffic.ts";
import { seededRandom } from "./seeded_random.ts";

const SUBSCRIPTIONS = 100;
const LEDGERS = 12;
const LEDGER_PAUSE_MS = 100;
/** Half of what a post may take: whoever waits for a hanging one to end waits longer. */
const FAR_TOO_LATE_MS = 5_000;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function drip(socket: Socket): void {
  socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
  const timer = setInterval(() => socket.write("."), 50);
  socket.on("close", () => clearInterval(timer));
}

interface Run {
  /** From the close of its ledger to its arrival, of each event at each endpoint that answers, ascending. */
  latenciesMs: number[];
  /** How many latencies there would be if nothing was late. */
  expected: number;
  /** Requests that hang or drip. */
  troubled: number;
}

/** Delivers some ledgers' events to a hundred endpoints, some of which do this with every request. */
async function run(trouble: ((socket: Socket) => void)[]): Promise<Run> {
  const arrivals: { ledger: number; atMs: number }[] = [];
  const closedAtMs = new Map<number, number>();
  let troubled = 0;
  const receiver = await startReceiver(({ head, body }, socket) => {
    const makeTrouble = trouble[Number(/^POST \/(\d+)/.exec(head)![1])];
    if (makeTrouble !== undefined) {
      troubled++;
      return makeTrouble(socket);
    }
    arrivals.push({ ledger: JSON.parse(body).event.ledger, atMs: performance.now() });
    return OK_ANSWER;
  });
  const on = await startTestNetwork();
  const traffic = await startCardTraffic(on, seededRandom(1));
  const gateway = await startGateway(on, { targets: { allowLoopbackHttp: true }, checkAnswers: false });
  for (let n = 0; n < SUBSCRIPTIONS; n++) {
    const url = `http://127.0.0.1:${receiver.port}/${n}`;
    assert.equal((await gateway.request("POST", "/v1/webhooks", { body: { url } })).status, 201);
  }
  for (let ledgers = 0; ledgers < LEDGERS; ledgers++) {
    traffic.closeLedger();
    closedAtMs.set(on.network.latestLedger().sequence, performance.now());
    await pause(LEDGER_PAUSE_MS);
  }
  const expected = traffic.happenings().length * (SUBSCRIPTIONS - trouble.length);
  for (const lateMs = performance.now() + FAR_TOO_LATE_MS; arrivals.length < expected;) {
    if (performance.now() > lateMs) break;
    await pause(20);
  }
  await receiver.close();
  await gateway.stop();
  await on.network.stop();
  const latenciesMs = arrivals.map(({ ledger, atMs }) => atMs - closedAtMs.get(ledger)!).sort((a, b) => a - b);
  return { latenciesMs, expected, troubled };
}

const percentile = (sorted: number[], share: number) => sorted[Math.ceil(sorted.length * share) - 1]!;

test("one hanging and one dripping endpoint among a hundred change nothing for the others", {
  timeout: 60_000,
}, async () => {
  await run([]);
  const without = await run([]);
  const among = await run([() => {}, drip]);
  assert.ok(among.troubled >= 2, "both had something to hang on");
  for (const { latenciesMs, expected } of [without, among]) assert.equal(latenciesMs.length, expected);
  const [p95, p95Among] = [without, among].map(({ latenciesMs }) => percentile(latenciesMs, 0.95)) as [number, number];
  const slowestMs = among.latenciesMs.at(-1)!;
  console.log(
    `p95 ${p95.toFixed(0)} ms without, ${p95Among.toFixed(0)} ms among them, slowest ${slowestMs.toFixed(0)} ms`,
  );
  // Whoever waited for one of them to time out would be seconds late; twice is noise of a busy machine.
  assert.ok(p95Among < 2 * p95 + 250, `p95 ${p95Among} ms, ${p95} ms without them`);
  assert.ok(slowestMs < FAR_TOO_LATE_MS);
});
