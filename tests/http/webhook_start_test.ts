// needs: neutral
import { Keypair } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { hashVal } from "../../lib/escrow/reads/storage_keys.ts";
import { addressOf, callNow } from "../sandbox/past_the_gateway.ts";
import { createTestClock } from "../test_clock.ts";
import { networkOfFile, startGateway } from "./test_gateway.ts";

const on = networkOfFile();

let devices = 0;
/** Registers a new device past the gateway: one event in one ledger; answers its transaction's hash. */
function registerDevice(): string {
  const owner = Keypair.fromSecret(on.sandbox.accounts.owner.secret);
  const device = hashVal(createHash("sha256").update(`start ${devices++}`).digest("hex"));
  const { deviceRegistry } = on.sandbox.contracts;
  return callNow(on.network, owner, deviceRegistry, "register", addressOf(owner), device, addressOf(owner));
}

type Answer = Record<string, unknown>;

/** A gateway without loops, with a clock that stands still during requests, a node that can answer wrongly, and a receiver. */
async function stage() {
  const clock = createTestClock(Date.now());
  /** How to falsify an answer with a latest ledger, after this many others. */
  let lie: { after: number; by: (answer: Answer) => Answer } | undefined;
  const heard: string[] = [];
  const api = await startGateway(on, {
    started: false,
    now: clock.now,
    monotonicMs: clock.monotonicMs,
    // The node answers at once, so no time-out matters, and none moves the clock.
    wait: (ms, signal) =>
      ms < 3_000
        ? clock.wait(ms, signal)
        : new Promise((over) => signal?.addEventListener("abort", () => over(), { once: true })),
    async fetch(url, init) {
      const answer = await (await on.fetch(url, init)).json();
      if (lie !== undefined && answer.result?.latestLedger !== undefined && lie.after-- === 0) {
        answer.result = lie.by(answer.result);
      }
      return Response.json(answer);
    },
    targets: {
      resolve: () => Promise.resolve(["1.1.1.1"]),
      poster: {
        post({ body }) {
          heard.push(JSON.parse(body).event.txHash);
          return Promise.resolve({ statusCode: 200, responseBody: "", durationMs: 1 });
        },
        close() {},
      },
    },
  });
  return {
    heard,
    stop: api.stop,
    lieOnce: (after: number, by: (answer: Answer) => Answer) => void (lie = { after, by }),
    hasLied: () => lie !== undefined && lie.after < 0,
    async newWebhook() {
      const { status, body } = await api.request("POST", "/v1/webhooks", {
        body: { url: "https://shop.example/hook" },
      });
      assert.equal(status, 201, JSON.stringify(body));
    },
    /** Polls until the gateway has confirmed and delivered all events. */
    async catchUp() {
      for (let turns = 0; turns < 4; turns++) {
        clock.advance(2_500);
        let isOver = false;
        const turn = api.gateway.turn(60_000).then(() => isOver = true);
        while (!isOver) {
          for (let others = 0; others < 20; others++) await yieldToOthers();
          clock.advance(100);
        }
        await turn;
      }
    },
  };
}

const later = (answer: Answer, ledgers: number) => ({ ...answer, latestLedger: Number(answer.latestLedger) + ledgers });
const LIES: [string, (answer: Answer) => Answer][] = [
  ["a million ledgers more than there are", (answer) => later(answer, 1_000_000)],
  ["a close time ten years ahead", (answer) => {
    const ahead = Number(answer.latestLedgerCloseTime) + 315_360_000;
    return { ...answer, ...("latestLedgerCloseTime" in answer ? { latestLedgerCloseTime: String(ahead) } : {}) };
  }],
];

/** Runs `play` once for each of the first five answers during the creation of a webhook, with that answer falsified. */
async function inEachAnswer(
  by: (answer: Answer) => Answer,
  play: (on: Awaited<ReturnType<typeof stage>>, newWebhook: () => Promise<void>, where: string) => Promise<void>,
): Promise<void> {
  let lies = 0;
  for (let answers = 0; answers < 5; answers++) {
    const on = await stage();
    const newWebhook = async () => {
      on.lieOnce(answers, by);
      await on.newWebhook();
      if (on.hasLied()) lies++;
    };
    await play(on, newWebhook, `lie in answer ${answers}`);
    await on.stop();
  }
  assert.ok(lies > 0, "the node was asked for it");
}

/** Registers two cards in turn; returns the hashes of their transactions. */
async function registerTwo({ catchUp }: Awaited<ReturnType<typeof stage>>): Promise<string[]> {
  const first = registerDevice();
  await catchUp();
  const second = registerDevice();
  await catchUp();
  return [first, second];
}

for (const [what, by] of LIES) {
  test(`a webhook that a client creates while the node once answers ${what} receives exactly the later events`, async () => {
    await inEachAnswer(by, async (on, newWebhook, where) => {
      registerDevice();
      await on.catchUp();
      await newWebhook();
      assert.deepEqual(on.heard, await registerTwo(on), where);
    });
  });

  test(`a webhook created as the first request to a new gateway receives all later events when the node once answers ${what}`, async () => {
    await inEachAnswer(by, async (on, newWebhook, where) => {
      registerDevice();
      await newWebhook();
      const both = await registerTwo(on);
      assert.deepEqual(on.heard.slice(-2), both, where);
      assert.equal(new Set(on.heard).size, on.heard.length);
    });
  });
}
