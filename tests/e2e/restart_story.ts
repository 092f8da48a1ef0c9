import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { ConnectionError, plainClient } from "../faults/plain_client.ts";
import { freePort, startServe } from "../faults/serve_process.ts";
import { forTier } from "../tier.ts";
import { flagsFor, makeKey, type SandboxInfo } from "./sandbox_process.ts";

export const RESTARTS = forTier({ test: 3, all: 10 });
const CLIENTS = 8;
/** How many requests a gateway answers before it is stopped. */
const ANSWERS = 100;
const PAUSE_MS = 15;
/** A gateway that stops asks for the end of its connections for a quarter of a second (cli/serve.ts). */
const FAREWELL_MS = 250;
/** How often the test checks that this machine is not too busy for the test. */
const TICK_MS = 10;
const REMEMBERED_MS = 3_000;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Count {
  answers: number;
  refusals: number;
  /** Ids of requests on new connections that were closed before anything was answered on them. */
  unheard: string[];
  /** Ids of requests on a connection that had rested for longer than the gateway says farewell: nothing is promised to them. */
  rested: string[];
  /** Observed violations. */
  lost: string[];
}

/**
 * A gateway restarts again and again while clients send requests: it answers every request that it has read.
 */
export async function tellRestarts(info: SandboxInfo, command: string[], folder: string): Promise<void> {
  const store = `sqlite:${join(mkdtempSync(join(folder, "restarts-")), "gateway.db")}`;
  const key = await makeKey(command, store, { scopes: "read", rate: 1_000_000 });
  const port = await freePort();
  const flags = flagsFor(info, { store, "port": String(port), "log-level": "debug" });
  const count: Count = { answers: 0, refusals: 0, unheard: [], rested: [], lost: [] };
  const machine = watchMachine();
  let isOver = false;
  let gateway = await startServe(flags, { command });
  const clients = Array.from({ length: CLIENTS }, (_, index) => {
    const client = plainClient(port, { authorization: `Bearer ${key}` });
    return ask(info, client, { isOver: () => isOver, stoodStill: machine.stoodStill }, count, index);
  });
  const heard = new Set<unknown>();
  const stop = async (signal: "SIGTERM" | "SIGINT") => {
    gateway.signal(signal);
    assert.equal(await gateway.ended, 0);
    assert.equal(gateway.lines().at(-1)?.message, "gateway has stopped");
    for (const { requestId } of gateway.lines()) heard.add(requestId);
  };
  try {
    for (let restart = 0; restart < RESTARTS; restart++) {
      for (const enough = count.answers + ANSWERS; count.answers < enough && count.lost.length === 0;) {
        await pause(TICK_MS);
      }
      await stop(restart % 2 === 0 ? "SIGTERM" : "SIGINT");
      gateway = await startServe(flags, { command });
    }
    isOver = true;
    await Promise.all(clients);
    await stop("SIGTERM");
  } finally {
    isOver = true;
    machine.close();
    gateway.kill();
  }
  assert.deepEqual(count.lost, []);
  const unanswered = [...count.unheard, ...count.rested];
  assert.deepEqual(unanswered.filter((id) => heard.has(id)), [], "what got no answer was done all the same");
  assert.ok(count.refusals >= RESTARTS, JSON.stringify(count));
  assert.ok(heard.size > count.answers / 2, "the log says what was heard");
  // At the very moment of a stop a connection may be accepted and not be read from; no client meets that twice.
  assert.ok(unanswered.length <= RESTARTS * CLIENTS, JSON.stringify(count));
}

/** Sees whether this process is kept from running for longer than a stop can bear, now or some seconds ago. */
function watchMachine(): { stoodStill(): boolean; close(): void } {
  let tickedAtMs = performance.now();
  let stoodAtMs = -Infinity;
  const look = () => {
    const nowMs = performance.now();
    if (nowMs - tickedAtMs > FAREWELL_MS / 4) stoodAtMs = nowMs;
    return nowMs;
  };
  const timer = setInterval(() => tickedAtMs = look(), TICK_MS);
  return { stoodStill: () => look() - stoodAtMs < REMEMBERED_MS, close: () => clearInterval(timer) };
}

/**
 * Asks on and on until told to stop. Asks again where the connection was refused, and where a new one was closed without
 * an answer: the system had accepted it, the gateway had read nothing from it.
 */
async function ask(
  info: SandboxInfo,
  { request, close }: ReturnType<typeof plainClient>,
  { isOver, stoodStill }: { isOver(): boolean; stoodStill(): boolean },
  count: Count,
  client: number,
): Promise<void> {
  const check = JSON.stringify({ deviceHash: "ab".repeat(32), asset: info.asset, amount: "1" });
  const requests = [
    ["GET", "/v1/network"],
    ["GET", `/v1/merchants/${info.accounts.merchant.address}/pending`],
    ["GET", "/v1/events"],
    ["POST", "/v1/payments/check", check],
  ] as const;
  let answeredAtMs = performance.now();
  for (let asked = 0; !isOver(); asked++) {
    const id = `client-${client}-${asked}`;
    const [method, path, body] = requests[asked % requests.length]!;
    const restedMs = performance.now() - answeredAtMs;
    const outcome = await request(method, path, { body, headers: { "x-request-id": id } })
      .catch((error: ConnectionError) => error);
    if (!(outcome instanceof ConnectionError)) {
      answeredAtMs = performance.now();
      if (outcome.status === 200) count.answers++;
      else count.lost.push(`${path} ${outcome.status} ${outcome.body}`);
    } else if (outcome.code === "ECONNREFUSED") count.refusals++;
    else if (outcome.isFresh) count.unheard.push(id);
    else if (restedMs > FAREWELL_MS / 2 || stoodStill()) count.rested.push(id);
    else count.lost.push(`${path} ${outcome.code} on a kept connection`);
    // Sometimes a connection is idle, as in a connection pool.
    await pause(outcome instanceof ConnectionError ? 20 : Math.random() * 2 * PAUSE_MS);
  }
  close();
}
