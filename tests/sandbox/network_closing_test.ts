// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Keypair } from "@stellar/stellar-sdk";
import { bootstrapSandbox } from "../../lib/sandbox/bootstrap.ts";
import { scheduleWithTimers } from "../../lib/sandbox/ledger/ticker.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { getHealth } from "../../lib/sandbox/rpc/node.ts";
import { pay } from "./envelope_parts.ts";
import { alice, bob, keypair } from "./people.ts";
import {
  build,
  contractCode,
  fakeTimers,
  fund,
  signed,
  START_SECONDS,
  startNetwork,
  submit,
} from "./sandbox_network.ts";
import { holdersOf } from "./soroban_parts.ts";

/** So long that the delays of a busy machine do not matter. */
const LEDGER_MS = 2_000;

const payment = (network: SandboxNetwork, pair: Keypair) => signed(build(network, pair, [pay(pair)]), pair);

describe("a network without a pace", () => {
  test("closes a ledger at once after a transaction, with all waiting transactions, and after five idle seconds", async () => {
    const timers = fakeTimers();
    const { network } = await startNetwork({ schedule: timers.schedule });
    assert.deepEqual(timers.delays(), [5_000]);
    await fund(network, alice, bob);
    const outcome = submit(network, payment(network, alice));
    assert.deepEqual(timers.delays(), [0]);
    submit(network, payment(network, bob));
    assert.deepEqual(timers.delays(), [0]);
    assert.equal(network.transaction(outcome.hash), undefined, "the ledger closed before submit returned");
    const before = network.latestLedger().sequence;
    timers.fire();
    assert.equal(network.transaction(outcome.hash)?.ledger, before + 1);
    assert.equal(network.transactionsAfter(before + 1, 0, 10).length, 2);
    assert.deepEqual(timers.delays(), [5_000]);
    timers.fire();
    assert.equal(network.latestLedger().sequence, before + 2);
    await network.stop();
    assert.deepEqual(timers.delays(), []);
  });

  test("closes the next ledger at once for faucet requests that wait for their turn", async () => {
    const timers = fakeTimers();
    const { network } = await startNetwork({ schedule: timers.schedule });
    const requests = ["a", "b", "c"].map((name) => network.fund(keypair(name).publicKey()));
    timers.fire();
    assert.deepEqual(timers.delays(), [0]);
    timers.fire();
    assert.deepEqual((await Promise.all(requests)).map((t) => t.successful), [true, true, true]);
    assert.deepEqual(timers.delays(), [5_000]);
    await network.stop();
  });

  test("closes several ledgers within a second, and its close time never goes back", async () => {
    const { network, clock } = await startNetwork();
    const { closeTime } = network.latestLedger();
    assert.equal(network.closeLedger().closeTime, closeTime);
    clock.seconds -= 30;
    assert.equal(network.closeLedger().closeTime, closeTime);
    clock.seconds += 40;
    assert.equal(network.closeLedger().closeTime, closeTime + 10);
  });
});

describe("a network with a pace", () => {
  test("keeps its pace after a late ledger, and its close times grow", async () => {
    const timers = fakeTimers();
    let nowMs = 1_790_000_000_000;
    const { network } = await startNetwork({ ledgerMs: 1_000, schedule: timers.schedule, now: () => nowMs });
    assert.deepEqual(timers.delays(), [1_000]);
    nowMs += 1_300;
    timers.fire();
    assert.deepEqual(timers.delays(), [700]);
    assert.equal(network.latestLedger().closeTime, 1_790_000_001);
    nowMs += 600; // The timer fires early, within the same second. The close time grows nevertheless.
    timers.fire();
    assert.equal(network.latestLedger().closeTime, 1_790_000_002);
    nowMs += 60_000;
    timers.fire();
    assert.equal(network.latestLedger().closeTime, 1_790_000_061);
    await network.stop();
  });

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

describe("a network", () => {
  test("calls onClose for each ledger", async () => {
    const seen: number[] = [];
    const { network } = await startNetwork({ onClose: ({ sequence }) => seen.push(sequence) });
    network.closeLedger();
    network.closeLedger();
    assert.deepEqual(seen, [2, 3]);
  });

  test("drops ledgers, transactions and events beyond its retention", async () => {
    const { network, run } = await startNetwork({ retentionLedgers: 3 });
    await fund(network, alice);
    const applied = run(alice, pay(alice));
    assert.equal([...network.eventsAfter("", 100)].filter((e) => e.ledger === applied.ledger).length, 2);
    network.closeLedger();
    network.closeLedger();
    assert.ok(network.transaction(applied.hash));
    network.closeLedger();
    assert.equal(network.transaction(applied.hash), undefined);
    assert.deepEqual([...network.eventsAfter("", 100)], []);
    assert.equal(network.oldestLedger().sequence, network.latestLedger().sequence - 2);
  });

  test("returns events up to the requested ledger", async () => {
    const { network, run } = await startNetwork();
    await fund(network, alice);
    const applied = run(alice, pay(alice));
    const upTo = (ledger: number) => [...network.eventsAfter("", ledger)].map((e) => e.ledger);
    assert.deepEqual(new Set(upTo(applied.ledger - 1)), new Set([applied.ledger - 1]));
    assert.equal(upTo(applied.ledger).at(-1), applied.ledger);
  });
});
