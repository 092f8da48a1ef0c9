// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { bootstrapSandbox } from "../../lib/sandbox/bootstrap.ts";
import { scheduleWithTimers } from "../../lib/sandbox/ledger/ticker.ts";
import { getHealth } from "../../lib/sandbox/rpc/node.ts";
import { pay } from "./envelope_parts.ts";
import { build, contractCode, fakeTimers, signed, START_SECONDS, startNetwork, submit } from "./sandbox_network.ts";
import { holdersOf } from "./soroban_parts.ts";

/** So long that the delays of a busy machine do not matter. */
const LEDGER_MS = 2_000;

describe("a new network", () => {
  test("applies the first write in the next ledger, within one and a half times its pace", async () => {
    const delays: number[] = [];
    const closedAt = new Map<number, number>();
    const { network } = await startNetwork({
      ledgerMs: LEDGER_MS,
      now: Date.now,
      schedule: (callback, delayMs) => {
        delays.push(delayMs);
        return scheduleWithTimers(callback, delayMs);
      },
      onClose: ({ sequence }) => closedAt.set(sequence, performance.now()),
    });
    const { owner, agent } = holdersOf(bootstrapSandbox(network, { contracts: contractCode() }));
    const readyAt = performance.now();
    const { sequence } = network.latestLedger();
    const { hash } = submit(network, signed(build(network, owner, [pay(agent)]), owner));
    assert.ok(delays.at(-1)! <= LEDGER_MS, `the next ledger was scheduled in ${delays.at(-1)} ms`);
    while (network.transaction(hash) === undefined) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(network.transaction(hash)?.ledger, sequence + 1);
    const tookMs = closedAt.get(sequence + 1)! - readyAt;
    assert.ok(tookMs <= 1.5 * LEDGER_MS, `confirmed after ${Math.round(tookMs)} ms`);
    await network.stop();
  });

  test("is not ahead of the clock: all ledgers of its setup close in the same second", async () => {
    const { network } = await startNetwork({ ledgerMs: 1_000 });
    bootstrapSandbox(network, { contracts: contractCode() });
    assert.ok(network.latestLedger().sequence > 5);
    assert.equal(network.latestLedger().closeTime, START_SECONDS);
  });
});

describe("a network with a pace", () => {
  test("closes its next ledger in time after ledgers closed by hand and after the clock goes back", async () => {
    const timers = fakeTimers();
    let nowMs = 1_790_000_000_000;
    const { network } = await startNetwork({ ledgerMs: 1_000, schedule: timers.schedule, now: () => nowMs });
    for (let n = 0; n < 5; n++) network.closeLedger();
    assert.deepEqual(timers.delays(), [1_000]);
    nowMs -= 3_600_000;
    timers.fire();
    assert.deepEqual(timers.delays(), [1_000]);
    await network.stop();
  });

  for (const ledgerMs of [0, 1_000, 30_000, 60_000]) {
    test(`is healthy until its next ledger closes, with --ledger-ms ${ledgerMs}`, async () => {
      const timers = fakeTimers();
      let nowMs = START_SECONDS * 1000 + 700;
      const { network } = await startNetwork({ ledgerMs, schedule: timers.schedule, now: () => nowMs });
      for (let ledger = 0; ledger < 3; ledger++) {
        nowMs += timers.delays()[0]!;
        assert.equal(getHealth(network, nowMs).status, "healthy");
        timers.fire();
      }
      await network.stop();
    });
  }
});
