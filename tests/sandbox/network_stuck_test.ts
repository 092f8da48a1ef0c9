// needs: runtime
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { Asset, Operation } from "@stellar/stellar-sdk";
import { openSqlite, type SqliteDatabase } from "../../lib/runtime/sqlite.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { balanceOf, build, fakeTimers, fund, keypair, signed, startNetwork, submit } from "./sandbox_network.ts";

const [alice, bob, carol] = [keypair("alice"), keypair("bob"), keypair("carol")];

const payment = (network: SandboxNetwork, from: typeof alice) => {
  const operation = Operation.payment({ destination: carol.publicKey(), asset: Asset.native(), amount: "1" });
  return signed(build(network, from, [operation]), from);
};

// Who holds SQLite's write lock keeps the network from writing as a full disk does, on every machine.
describe("a network whose state file cannot be written", () => {
  let directory: string;
  let stateFile: string;
  let other: SqliteDatabase;

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), "sandbox-"));
    stateFile = join(directory, "ledger.db");
    other = await openSqlite(stateFile);
  });
  afterEach(() => {
    other.close();
    rmSync(directory, { recursive: true });
  });

  for (const ledgerMs of [0, 50]) {
    test(`closes no ledger until it can, and then one with all that waited (${ledgerMs} ms)`, async () => {
      const timers = fakeTimers();
      const told: string[] = [];
      const { network, clock } = await startNetwork({
        ledgerMs,
        stateFile,
        schedule: timers.schedule,
        onStuck: ({ message }) => told.push(message),
        onUnstuck: () => told.push("unstuck"),
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
      assert.match(told.join(), /^database is locked[^,]*$/, "told once");
      assert.deepEqual(timers.delays(), [1_000], "not in a hurry");
      assert.deepEqual(network.latestLedger(), before);
      assert.equal(balanceOf(network, carol), balance);
      assert.equal(network.transaction(first.hash), undefined);
      assert.equal(submit(network, payment(network, alice)).status, "DUPLICATE", "it waits");

      other.exec("ROLLBACK");
      timers.fire();
      assert.deepEqual(told.slice(1), ["unstuck"]);
      for (const { hash } of [first, second]) assert.equal(network.transaction(hash)?.ledger, before.sequence + 1);
      const closed = network.latestLedger();
      await network.stop();

      const again = await startNetwork({ stateFile, now: () => clock.seconds * 1000 });
      assert.equal(again.network.latestLedger().hash, closed.hash);
      assert.equal(balanceOf(again.network, carol), balance + 20_000_000n);
      await again.network.stop();
    });
  }

  test("says so again when it happens again", async () => {
    const timers = fakeTimers();
    let told = 0;
    const { network } = await startNetwork({ stateFile, schedule: timers.schedule, onStuck: () => told++ });
    for (let n = 1; n <= 2; n++) {
      other.exec("BEGIN IMMEDIATE");
      timers.fire();
      timers.fire();
      assert.equal(told, n);
      other.exec("ROLLBACK");
      timers.fire();
    }
    await network.stop();
  });

  test("leaves nothing behind when it cannot start", async () => {
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
