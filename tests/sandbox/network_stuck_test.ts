// needs: runtime
import assert from "node:assert/strict";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { Keypair } from "@stellar/stellar-sdk";
import { openSqlite, type SqliteDatabase } from "../../lib/runtime/sqlite.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { folderForTests } from "../folder.ts";
import { pay } from "./envelope_parts.ts";
import { alice, bob, carol } from "./people.ts";
import { balanceOf, build, fakeTimers, fund, signed, startNetwork, submit } from "./sandbox_network.ts";

const payment = (network: SandboxNetwork, from: Keypair) =>
  signed(build(network, from, [pay(carol, 10_000_000n)]), from);

// Another connection holds SQLite's write lock. It blocks writes on every machine, as a full disk does.
describe("a network that cannot write its state file", () => {
  const folder = folderForTests();
  let files = 0;
  let stateFile: string;
  let other: SqliteDatabase;

  beforeEach(async () => {
    stateFile = join(folder, `ledger-${++files}.db`);
    other = await openSqlite(stateFile);
  });
  afterEach(() => other.close());

  for (const ledgerMs of [0, 50]) {
    test(`closes no ledger, and after the fault one with all waiting transactions (${ledgerMs} ms)`, async () => {
      const timers = fakeTimers();
      const reports: string[] = [];
      const { network, clock } = await startNetwork({
        ledgerMs,
        stateFile,
        schedule: timers.schedule,
        onStuck: ({ message }) => reports.push(message),
        onUnstuck: () => reports.push("unstuck"),
      });
      await fund(network, alice, bob, carol);
      const before = network.latestLedger();
      const balance = balanceOf(network, carol);

      other.exec("BEGIN IMMEDIATE");
      const first = submit(network, payment(network, alice));
      timers.fire();
      const second = submit(network, payment(network, bob));
      for (let n = 0; n < 3; n++) {
        timers.fire();
        clock.seconds++;
      }
      assert.match(reports.join(), /^database is locked[^,]*$/, "one report");
      assert.deepEqual(timers.delays(), [1_000], "a retry each second");
      assert.deepEqual(network.latestLedger(), before);
      assert.equal(balanceOf(network, carol), balance);
      assert.equal(network.transaction(first.hash), undefined);
      assert.equal(submit(network, payment(network, alice)).status, "DUPLICATE", "the transaction waits");

      other.exec("ROLLBACK");
      timers.fire();
      assert.deepEqual(reports.slice(1), ["unstuck"]);
      for (const { hash } of [first, second]) assert.equal(network.transaction(hash)?.ledger, before.sequence + 1);
      const closed = network.latestLedger();
      await network.stop();

      const again = await startNetwork({ stateFile, now: () => clock.seconds * 1000 });
      assert.equal(again.network.latestLedger().hash, closed.hash);
      assert.equal(balanceOf(again.network, carol), balance + 20_000_000n);
      await again.network.stop();
    });
  }

  test("reports each fault once", async () => {
    const timers = fakeTimers();
    let reports = 0;
    const { network } = await startNetwork({ stateFile, schedule: timers.schedule, onStuck: () => reports++ });
    for (let n = 1; n <= 2; n++) {
      other.exec("BEGIN IMMEDIATE");
      timers.fire();
      timers.fire();
      assert.equal(reports, n);
      other.exec("ROLLBACK");
      timers.fire();
    }
    await network.stop();
  });

  test("does not start, and leaves no timer and no lock", async () => {
    const first = await startNetwork({ stateFile });
    await first.network.stop();
    const timers = fakeTimers();
    const later = { schedule: timers.schedule, now: () => 1_900_000_000_000 };
    other.exec("BEGIN IMMEDIATE");
    await assert.rejects(startNetwork({ stateFile, ...later }), /database is locked/);
    assert.deepEqual(timers.delays(), []);
    other.exec("ROLLBACK");
    const { network } = await startNetwork({ stateFile, ...later });
    assert.equal(network.latestLedger().sequence, 2);
    await network.stop();
  });
});
