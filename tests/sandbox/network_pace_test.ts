// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Asset, Keypair, Operation } from "@stellar/stellar-sdk";
import { bootstrapSandbox } from "../../lib/sandbox/bootstrap.ts";
import { scheduleWithTimers } from "../../lib/sandbox/ledger/ticker.ts";
import { getHealth } from "../../lib/sandbox/rpc/node.ts";
import { build, contractCode, fakeTimers, signed, START_SECONDS, startNetwork, submit } from "./sandbox_network.ts";

/** Long enough that a busy machine's delays do not matter. */
const LEDGER_MS = 2_000;

describe("the pace of a network that was just set up", () => {
  test("the first write after ready is in the next ledger, and that closes within one and a half times the pace", async () => {
    const asked: number[] = [];
    const closedAt = new Map<number, number>();
    const { network } = await startNetwork({
      ledgerMs: LEDGER_MS,
      now: Date.now,
      schedule: (callback, delayMs) => {
        asked.push(delayMs);
        return scheduleWithTimers(callback, delayMs);
      },
      onClose: ({ sequence }) => closedAt.set(sequence, performance.now()),
    });
    const { accounts } = bootstrapSandbox(network, { contracts: contractCode() });
    const readyAt = performance.now();
    const { sequence } = network.latestLedger();
    const owner = Keypair.fromSecret(accounts.owner.secret);
    const operation = Operation.payment({ destination: accounts.agent.address, asset: Asset.native(), amount: "1" });
    const { hash } = submit(network, signed(build(network, owner, [operation]), owner));
    assert.ok(asked.at(-1)! <= LEDGER_MS, `the next ledger was asked for in ${asked.at(-1)} ms`);
    while (network.transaction(hash) === undefined) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(network.transaction(hash)?.ledger, sequence + 1);
    const tookMs = closedAt.get(sequence + 1)! - readyAt;
    assert.ok(tookMs <= 1.5 * LEDGER_MS, `confirmed after ${Math.round(tookMs)} ms`);
    await network.stop();
  });

  test("its clock does not run ahead: the ledgers of the setup share their seconds", async () => {
    const { network } = await startNetwork({ ledgerMs: 1_000 });
    bootstrapSandbox(network, { contracts: contractCode() });
    assert.ok(network.latestLedger().sequence > 5);
    assert.equal(network.latestLedger().closeTime, START_SECONDS);
  });

  test("neither ledgers closed by hand nor a clock set back put the next one off", async () => {
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
});

describe("at every pace that --ledger-ms takes", () => {
  for (const ledgerMs of [0, 1_000, 30_000, 60_000]) {
    test(`the node is healthy until the next ledger closes: ${ledgerMs}`, async () => {
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
