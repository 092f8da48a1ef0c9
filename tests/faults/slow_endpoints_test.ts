// needs: once
import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import { startGateway, startTestNetwork } from "../http/test_gateway.ts";
import { forTier } from "../tier.ts";
import { OK_ANSWER, startReceiver } from "../webhooks/receiver.ts";
import { startCardTraffic } from "./card_traffic.ts";
import { seededRandom } from "./seeded_random.ts";

const SUBSCRIPTIONS = forTier({ test: 30, all: 100 });
const LEDGERS = 6;
const LEDGER_PAUSE_MS = 100;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function drip(socket: Socket): void {
  socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
  const timer = setInterval(() => socket.write("."), 50);
  socket.on("close", () => clearInterval(timer));
}

const TROUBLES: ((socket: Socket) => void)[] = [() => {}, drip];

/*
 * The gateway gives up a hanging or dripping endpoint after ten seconds. The deliveries of the other endpoints
 * must arrive before that. The test compares the order, because the clock of a busy machine is no measure.
 */
test(`one hanging and one dripping endpoint among ${SUBSCRIPTIONS} do not delay deliveries to the others`, async () => {
  let arrived = 0;
  let complete = () => {};
  const isComplete = new Promise<"complete">((resolve) => complete = () => resolve("complete"));
  let giveUp = () => {};
  const isGivenUp = new Promise<"given up">((resolve) => giveUp = () => resolve("given up"));
  const troubled = new Set<number>();
  let expected = Infinity;
  const receiver = await startReceiver(({ head }, socket) => {
    const endpoint = Number(/^POST \/(\d+)/.exec(head)![1]);
    const makeTrouble = TROUBLES[endpoint];
    if (makeTrouble !== undefined) {
      troubled.add(endpoint);
      socket.once("close", giveUp);
      return makeTrouble(socket);
    }
    if (++arrived >= expected) complete();
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
    await pause(LEDGER_PAUSE_MS);
  }
  expected = traffic.happenings().length * (SUBSCRIPTIONS - TROUBLES.length);
  if (arrived >= expected) complete();
  const first = await Promise.race([isComplete, isGivenUp]);
  await receiver.close();
  await gateway.stop();
  await on.network.stop();
  assert.deepEqual([first, arrived, troubled.size], ["complete", expected, TROUBLES.length]);
});
