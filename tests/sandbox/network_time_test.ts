// needs: neutral
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Keypair, xdr } from "@stellar/stellar-sdk";
import { sha256, toHex } from "../../lib/sandbox/ledger/bytes.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import type { ClosedLedger } from "../../lib/sandbox/network_types.ts";
import { folderForTests } from "../folder.ts";
import { pay } from "./envelope_parts.ts";
import { alice, bob, carol } from "./people.ts";
import {
  apply,
  balanceOf,
  build,
  fakeTimers,
  findAccount,
  fund,
  signed,
  startNetwork,
  submit,
} from "./sandbox_network.ts";

const folder = folderForTests();

const payment = (network: SandboxNetwork, stroops = 10_000_000n) =>
  signed(build(network, alice, [pay(bob, stroops)]), alice);

async function fundedNetwork() {
  const { network } = await startNetwork();
  await fund(network, alice, bob);
  return network;
}

function headerOf({ headerXdr, hash }: ClosedLedger) {
  const entry = xdr.LedgerHeaderHistoryEntry.fromXdr(headerXdr);
  assert.equal(toHex(sha256(entry.header.toXdr())), hash);
  return entry.header;
}

describe("an advance", () => {
  test("by seconds closes the ledgers of that time, the last one at its end", async () => {
    const { network } = await startNetwork({ ledgerMs: 2_000 });
    const before = network.latestLedger();
    const nowMs = network.now();
    const last = network.advance({ seconds: 3_601 });
    const passed = [last.sequence - before.sequence, last.closeTime - before.closeTime, network.now() - nowMs];
    assert.deepEqual(passed, [720, 3_601, 3_601_000]);
    for (let sequence = before.sequence + 1; sequence <= last.sequence; sequence++) {
      const [previous, ledger] = [network.ledger(sequence - 1)!, network.ledger(sequence)!];
      assert.ok(ledger.closeTime - previous.closeTime >= 5, `${sequence}: ${ledger.closeTime}`);
    }
  });

  test("by ledgers takes their pace as time, or five seconds a ledger without a pace", async () => {
    for (const [ledgerMs, seconds] of [[1_000, 10], [0, 50], [100, 1]] as const) {
      const { network } = await startNetwork({ ledgerMs });
      const before = network.latestLedger();
      const last = network.advance({ ledgers: 10 });
      assert.deepEqual([last.sequence - before.sequence, last.closeTime - before.closeTime], [10, seconds]);
    }
  });

  test("applies the queued transactions in its first ledger", async () => {
    const network = await fundedNetwork();
    const before = network.latestLedger();
    const { hash } = submit(network, payment(network));
    network.advance({ ledgers: 100 });
    const applied = network.transaction(hash);
    assert.deepEqual([applied?.successful, applied?.ledger], [true, before.sequence + 1]);
  });

  test("keeps the pace: the next ledger closes one pace later, in the new time", async () => {
    const timers = fakeTimers();
    const { network, clock } = await startNetwork({ ledgerMs: 1_000, schedule: timers.schedule });
    const last = network.advance({ seconds: 86_400 });
    assert.deepEqual(timers.delays(), [1_000]);
    clock.seconds++;
    timers.fire();
    assert.equal(network.latestLedger().closeTime, last.closeTime + 1);
    await network.stop();
  });

  test("over a million ledgers keeps each ledger readable, and chains the latest ones like timed ledgers", async () => {
    const { network } = await startNetwork({ ledgerMs: 1_000 });
    await fund(network, alice, bob);
    const before = network.latestLedger();
    const [paidBefore, events] = [network.transactionsAfter(0, 0, 10), [...network.eventsAfter("", 2 ** 31)]];
    const last = network.advance({ ledgers: 1_000_000 });
    assert.equal(last.sequence, before.sequence + 1_000_000);
    assert.equal(last.closeTime, before.closeTime + 1_000_000);
    assert.equal(network.oldestLedger().sequence, 1, "an advance drops no ledger");
    for (let sequence = last.sequence; sequence > last.sequence - 1_900; sequence--) {
      const [ledger, previous] = [network.ledger(sequence)!, network.ledger(sequence - 1)!];
      const header = headerOf(ledger);
      assert.equal(header.ledgerSeq, sequence);
      assert.equal(header.previousLedgerHash.toString(), previous.hash);
      assert.equal(ledger.closeTime, previous.closeTime + 1);
    }
    for (const sequence of [before.sequence + 2, before.sequence + 3, 500_000]) {
      const ledger = network.ledger(sequence)!;
      const header = headerOf(ledger);
      const numbers = [ledger.sequence, header.ledgerSeq, Number(header.scpValue.closeTime)];
      assert.deepEqual(numbers, [sequence, sequence, ledger.closeTime]);
      assert.equal(ledger.closeTime, before.closeTime + sequence - before.sequence);
      assert.equal(header.previousLedgerHash.toString(), network.ledger(sequence - 1)!.hash);
      xdr.LedgerCloseMeta.fromXdr(ledger.metadataXdr);
    }
    assert.equal(network.ledger(last.sequence + 1), undefined);
    assert.deepEqual(network.transactionsAfter(0, 0, 10), paidBefore);
    const applied = apply(network, payment(network));
    const later = [...network.eventsAfter("", 2 ** 31)].slice(0, events.length);
    assert.deepEqual(later.map(({ id }) => id), events.map(({ id }) => id));
    assert.equal([...network.eventsAfter(events.at(-1)!.id, 2 ** 31)][0]?.ledger, applied.ledger);
  });

  test("is stored: after a restart the network has those ledgers and that time", async () => {
    const stateFile = join(folder, "advanced.db");
    const first = await startNetwork({ stateFile });
    const last = first.network.advance({ seconds: 86_400 });
    const skipped = first.network.ledger(5_000)!;
    const nowMs = first.network.now();
    await first.network.stop();
    const { network } = await startNetwork({ stateFile });
    assert.equal(network.latestLedger().hash, last.hash);
    assert.equal(network.ledger(5_000)!.hash, skipped.hash);
    assert.equal(network.now(), nowMs);
    await network.stop();
  });

  test("of more than 100,000,000 ledgers is refused", async () => {
    const { network } = await startNetwork({ ledgerMs: 1 });
    assert.throws(() => network.advance({ ledgers: 100_000_001 }), /an advance must be at most 100000000 ledgers/);
    assert.equal(network.latestLedger().sequence, 1);
  });
});

describe("a revert to a snapshot", () => {
  test("undoes later balances, transactions, events and ledgers, and sets the clock back", async () => {
    const network = await fundedNetwork();
    const before = network.snapshot("funded");
    const balances = [alice, bob].map((pair) => balanceOf(network, pair));
    const events = [...network.eventsAfter("", 1_000)].length;
    const nowMs = network.now();
    const paid = apply(network, payment(network, 50_000_000_000n));
    await fund(network, carol);
    network.advance({ seconds: 604_800 });

    const ledger = network.revert("funded");
    assert.equal(ledger.sequence, before.sequence + 1);
    assert.equal(network.ledger(before.sequence)?.hash, before.hash);
    assert.deepEqual([alice, bob].map((pair) => balanceOf(network, pair)), balances);
    assert.equal(findAccount(network, carol), undefined);
    assert.equal(network.transaction(paid.hash), undefined);
    assert.equal([...network.eventsAfter("", 1_000_000)].length, events);
    assert.equal(network.now(), nowMs);
    assert.equal(ledger.closeTime, before.closeTime);
    const again = apply(network, payment(network, 50_000_000_000n));
    assert.equal(again.successful, true, "its sequence number is unused again");
  });

  test("gives the same ledgers other hashes each time", async () => {
    const network = await fundedNetwork();
    network.snapshot("start");
    const hashes = new Set<string>();
    for (let n = 0; n < 4; n++) {
      hashes.add(network.closeLedger().hash);
      network.revert("start");
      hashes.add(network.latestLedger().hash);
    }
    assert.equal(hashes.size, 8);
    assert.equal(headerOf(network.latestLedger()).ledgerSeq, network.latestLedger().sequence);
  });

  test("can be repeated, and drops later snapshots", async () => {
    const network = await fundedNetwork();
    const start = balanceOf(network, bob);
    network.snapshot("one");
    apply(network, payment(network));
    network.snapshot("two");
    apply(network, payment(network));
    network.snapshot("three");
    apply(network, payment(network));
    network.revert("two");
    assert.equal(balanceOf(network, bob), start + 10_000_000n);
    assert.deepEqual(network.snapshots().map(({ name }) => name), ["one", "two"]);
    apply(network, payment(network));
    network.revert("two");
    assert.equal(balanceOf(network, bob), start + 10_000_000n);
    network.revert("one");
    assert.equal(balanceOf(network, bob), start);
    assert.throws(() => network.revert("two"), /name must be one of the snapshots one; got "two"/);
  });

  test("uses the latest snapshot of a name, and keeps earlier snapshots of other names", async () => {
    const network = await fundedNetwork();
    const start = balanceOf(network, bob);
    network.snapshot("first");
    network.snapshot("again");
    apply(network, payment(network));
    network.snapshot("again");
    apply(network, payment(network));
    network.revert("again");
    assert.equal(balanceOf(network, bob), start + 10_000_000n);
    network.revert("first");
    assert.equal(balanceOf(network, bob), start);
  });

  test("drops queued transactions and rejects waiting faucet requests", async () => {
    const network = await fundedNetwork();
    network.snapshot("here");
    const { hash } = submit(network, payment(network));
    const funded = network.fund(Keypair.random().publicKey());
    network.revert("here");
    await assert.rejects(funded, /dropped/);
    network.closeLedger();
    assert.equal(network.transaction(hash), undefined);
    assert.equal((await Promise.all([network.fund(carol.publicKey()), network.closeLedger()]))[0].successful, true);
  });

  test("works for a ledger beyond the retention", async () => {
    const { network } = await startNetwork({ retentionLedgers: 3 });
    const { sequence } = network.snapshot("old");
    for (let n = 0; n < 10; n++) network.closeLedger();
    assert.equal(network.revert("old").sequence, sequence + 1);
    assert.equal(network.oldestLedger().sequence, sequence);
  });

  test("is stored: after a restart the network has the reverted state", async () => {
    const stateFile = join(folder, "reverted.db");
    const first = await startNetwork({ stateFile });
    await fund(first.network, alice, bob);
    const balance = balanceOf(first.network, bob);
    first.network.snapshot("funded");
    const paid = apply(first.network, payment(first.network));
    first.network.advance({ ledgers: 2_000 });
    const { hash } = first.network.revert("funded");
    await first.network.stop();
    const { network } = await startNetwork({ stateFile });
    assert.equal(network.latestLedger().hash, hash);
    assert.equal(network.transaction(paid.hash), undefined);
    assert.equal(balanceOf(network, bob), balance);
    assert.deepEqual(network.snapshots(), []);
    await network.stop();
  });

  test("needs an existing name, and a network has at most 100 snapshots", async () => {
    const { network } = await startNetwork();
    assert.throws(() => network.revert("x"), /name must be one of the snapshots \(none\); got "x"/);
    for (let n = 0; n < 100; n++) network.snapshot(`s${n}`);
    assert.throws(() => network.snapshot("one more"), /there can be at most 100 snapshots/);
    network.snapshot("s7");
    assert.equal(network.snapshots().length, 100);
  });
});
