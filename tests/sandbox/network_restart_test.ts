// needs: runtime
import assert from "node:assert/strict";
import { chmodSync, existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, test } from "node:test";
import { Keypair } from "@stellar/stellar-sdk";
import { bootstrapSandbox } from "../../lib/sandbox/bootstrap.ts";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import { folderForTests } from "../folder.ts";
import { create } from "./envelope_parts.ts";
import { accountOf, alice, balanceOf, contractCode, invoke, START_SECONDS, startNetwork } from "./sandbox_network.ts";
import { cardCalls, holdersOf } from "./soroban_parts.ts";

describe("a network with a state file", () => {
  const folder = folderForTests();
  let files = 0;
  let stateFile: string;
  beforeEach(() => {
    stateFile = join(folder, `ledger-${++files}.db`);
  });

  test("has the same entries, sequence numbers, transactions, events and named accounts after a restart", async () => {
    const first = await startNetwork({ stateFile });
    const sandbox = bootstrapSandbox(first.network, { contracts: contractCode() });
    const { owner } = holdersOf(sandbox);
    const calls = cardCalls(sandbox);
    const applied = invoke(first.network, owner, calls.register());
    const events = [...first.network.eventsAfter("", 1_000)];
    const ledger = first.network.latestLedger();
    const { metadataXdr } = ledger;
    const balance = balanceOf(first.network, owner);
    await first.network.stop();

    const { network, clock } = await startNetwork({ stateFile });
    clock.seconds += 100;
    assert.deepEqual(network.latestLedger().hash, ledger.hash);
    assert.deepEqual(network.latestLedger().metadataXdr, metadataXdr);
    assert.equal(network.oldestLedger().sequence, 1);
    assert.deepEqual(network.transaction(applied.hash), applied);
    assert.deepEqual([...network.eventsAfter("", 1_000)], events);
    assert.equal(balanceOf(network, owner), balance);
    assert.deepEqual(bootstrapSandbox(network, { contracts: contractCode() }), sandbox);
    assert.equal(network.latestLedger().sequence, ledger.sequence, "the second setup makes no transaction");

    const next = invoke(network, owner, calls.revoke());
    assert.equal(next.successful, true);
    assert.equal(next.ledger, ledger.sequence + 1);
    await network.stop();
  });

  test("finishes an interrupted setup with the contracts that exist", async () => {
    const { network } = await startNetwork();
    const first = bootstrapSandbox(network, { contracts: contractCode() });
    const forgetful = new Proxy(network, {
      get: (target, name) => name === "recall" ? () => undefined : Reflect.get(target, name),
    });
    const { contracts, asset } = bootstrapSandbox(forgetful, { contracts: contractCode() });
    assert.deepEqual({ contracts, asset }, { contracts: first.contracts, asset: first.asset });
    await network.stop();
  });

  test("closes a ledger at its start if the latest one is old", async () => {
    const first = await startNetwork({ stateFile });
    await first.network.stop();
    const later = (START_SECONDS + 3_600) * 1000;
    const { network } = await startNetwork({ stateFile, now: () => later });
    assert.equal(network.latestLedger().sequence, 2);
    assert.equal(network.latestLedger().closeTime, START_SECONDS + 3_600);
    await network.stop();
  });

  test("stores no ledger and no transaction beyond its retention", async () => {
    const first = await startNetwork({ stateFile, retentionLedgers: 3 });
    const root = Keypair.master(first.network.passphrase);
    first.run(root, create(alice, "5"));
    for (let i = 0; i < 3; i++) first.network.closeLedger();
    await first.network.stop();

    const { network } = await startNetwork({ stateFile, retentionLedgers: 3 });
    assert.equal(network.oldestLedger().sequence, 3);
    assert.equal(network.latestLedger().sequence, 5);
    assert.equal(accountOf(network, alice).balance, 50_000_000n);
    await network.stop();
    const database = await openSqlite(stateFile);
    assert.equal(database.prepare("SELECT count(*) AS n FROM transactions").get()?.n, 0);
    database.close();
  });

  test("refuses the file of another passphrase, and names both passphrases", async () => {
    const { network } = await startNetwork({ stateFile });
    await network.stop();
    const others = startNetwork({ stateFile, passphrase: "other" });
    await assert.rejects(others, /Standalone Sandbox.*the passphrase is "other"/);
  });

  test("locks the file: another sandbox cannot open it until the first one stops", async () => {
    const first = await startNetwork({ stateFile });
    await assert.rejects(startNetwork({ stateFile }), (error: Error) => {
      assert.equal(error.message, `another sandbox uses ${stateFile}: stop it, or name another folder`);
      return true;
    });
    first.network.closeLedger();
    await first.network.stop();
    const { network } = await startNetwork({ stateFile });
    assert.equal(network.latestLedger().sequence, 2);
    await network.stop();
  });

  test("restricts its files to their owner, also files that others could read", async () => {
    const files = ["", "-wal", "-shm", "-lock"].map((end) => stateFile + end);
    const modes = () => files.filter(existsSync).map((file) => statSync(file).mode & 0o777);
    const first = await startNetwork({ stateFile });
    assert.deepEqual(modes(), [0o600, 0o600, 0o600, 0o600]);
    await first.network.stop();
    for (const file of files.filter(existsSync)) chmodSync(file, 0o644);
    const { network } = await startNetwork({ stateFile });
    assert.deepEqual(modes().slice(0, 3), [0o600, 0o600, 0o600]);
    await network.stop();
  });

  test("stores the latest text of each name", async () => {
    const first = await startNetwork({ stateFile });
    first.network.keep("note", "one");
    first.network.keep("note", "two");
    await first.network.stop();
    const { network } = await startNetwork({ stateFile });
    assert.equal(network.recall("note"), "two");
    assert.equal(network.recall("nothing"), undefined);
    await network.stop();
  });
});
