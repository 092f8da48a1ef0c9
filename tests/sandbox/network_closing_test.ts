// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Keypair, xdr } from "@stellar/stellar-sdk";
import { sha256 } from "../../lib/sandbox/ledger/bytes.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { pay } from "./envelope_parts.ts";
import { alice, bob, build, fakeTimers, fund, keypair, signed, startNetwork, submit } from "./sandbox_network.ts";

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

describe("a network", () => {
  test("with a pace keeps that pace after a late ledger, and its close times grow", async () => {
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

  test("chains its ledgers: a header has the previous hash, and a ledger's hash is that of its header", async () => {
    const { network } = await startNetwork();
    const first = network.latestLedger();
    const second = network.closeLedger();
    const { hash, header } = xdr.LedgerHeaderHistoryEntry.fromXdr(second.headerXdr);
    assert.equal(header.previousLedgerHash.toString(), first.hash);
    assert.equal(hash.toString(), second.hash);
    assert.deepEqual(sha256(header.toXdr()), hash.value);
    assert.equal(header.ledgerVersion, network.protocolVersion);
    assert.deepEqual([header.baseFee, header.baseReserve], [100, 5_000_000]);
  });

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
