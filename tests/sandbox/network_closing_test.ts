// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Asset, Keypair, Operation, xdr } from "@stellar/stellar-sdk";
import { sha256 } from "../../lib/sandbox/ledger/bytes.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { apply, build, fakeTimers, fund, keypair, signed, startNetwork, submit } from "./sandbox_network.ts";

const alice = keypair("alice");

const payment = (network: SandboxNetwork, pair: Keypair) => {
  const operation = Operation.payment({ destination: pair.publicKey(), asset: Asset.native(), amount: "1" });
  return signed(build(network, pair, [operation]), pair);
};

describe("closing ledgers", () => {
  test("at once: right after a transaction, together with what came with it, and every five seconds when idle", async () => {
    const timers = fakeTimers();
    const { network } = await startNetwork({ schedule: timers.schedule });
    const bob = keypair("bob");
    assert.deepEqual(timers.delays(), [5_000]);
    await fund(network, alice, bob);
    const outcome = submit(network, payment(network, alice));
    assert.deepEqual(timers.delays(), [0]);
    submit(network, payment(network, bob));
    assert.deepEqual(timers.delays(), [0]);
    assert.equal(network.transaction(outcome.hash), undefined, "the ledger closed before submit answered");
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

  test("at once: a faucet request that waited for its turn closes the next ledger by itself", async () => {
    const timers = fakeTimers();
    const { network } = await startNetwork({ schedule: timers.schedule });
    const wanted = ["a", "b", "c"].map((name) => network.fund(keypair(name).publicKey()));
    timers.fire();
    assert.deepEqual(timers.delays(), [0]);
    timers.fire();
    assert.deepEqual((await Promise.all(wanted)).map((t) => t.successful), [true, true, true]);
    assert.deepEqual(timers.delays(), [5_000]);
    await network.stop();
  });

  test("in time: at the given pace, also after a late one, and with close times that grow", async () => {
    const timers = fakeTimers();
    let nowMs = 1_790_000_000_000;
    const { network } = await startNetwork({ ledgerMs: 1_000, schedule: timers.schedule, now: () => nowMs });
    assert.deepEqual(timers.delays(), [1_000]);
    nowMs += 1_300;
    timers.fire();
    assert.deepEqual(timers.delays(), [700]);
    assert.equal(network.latestLedger().closeTime, 1_790_000_001);
    nowMs += 600; // The timer is a little early: the second has not passed, the close time grows all the same.
    timers.fire();
    assert.equal(network.latestLedger().closeTime, 1_790_000_002);
    nowMs += 60_000;
    timers.fire();
    assert.equal(network.latestLedger().closeTime, 1_790_000_061);
    await network.stop();
  });

  test("at once: several ledgers may share a second, and the close time never goes back", async () => {
    const { network, clock } = await startNetwork();
    const { closeTime } = network.latestLedger();
    assert.equal(network.closeLedger().closeTime, closeTime);
    clock.seconds -= 30;
    assert.equal(network.closeLedger().closeTime, closeTime);
    clock.seconds += 40;
    assert.equal(network.closeLedger().closeTime, closeTime + 10);
  });

  test("every header holds the hash of the one before, and the hash is that of the header", async () => {
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

  test("tells who wants to know of every closed ledger", async () => {
    const seen: number[] = [];
    const { network } = await startNetwork({ onClose: ({ sequence }) => seen.push(sequence) });
    network.closeLedger();
    network.closeLedger();
    assert.deepEqual(seen, [2, 3]);
  });

  test("what is beyond retention is forgotten: ledgers, transactions, events", async () => {
    const { network } = await startNetwork({ retentionLedgers: 3 });
    await fund(network, alice);
    const applied = apply(network, payment(network, alice));
    assert.equal([...network.eventsAfter("", 100)].filter((e) => e.ledger === applied.ledger).length, 2);
    network.closeLedger();
    network.closeLedger();
    assert.ok(network.transaction(applied.hash));
    network.closeLedger();
    assert.equal(network.transaction(applied.hash), undefined);
    assert.deepEqual([...network.eventsAfter("", 100)], []);
    assert.equal(network.oldestLedger().sequence, network.latestLedger().sequence - 2);
  });

  test("events are not read past the ledger asked for", async () => {
    const { network } = await startNetwork();
    await fund(network, alice);
    const applied = apply(network, payment(network, alice));
    const upTo = (ledger: number) => [...network.eventsAfter("", ledger)].map((e) => e.ledger);
    assert.deepEqual(new Set(upTo(applied.ledger - 1)), new Set([applied.ledger - 1]));
    assert.equal(upTo(applied.ledger).at(-1), applied.ledger);
  });
});
