// needs: runtime
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { Keypair, Operation } from "@stellar/stellar-sdk";
import { bootstrapSandbox } from "../../lib/sandbox/bootstrap.ts";
import { sha256 } from "../../lib/sandbox/ledger/bytes.ts";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import {
  accountOf,
  address,
  apply,
  balanceOf,
  build,
  bytes,
  call,
  contractCode,
  invoke,
  keypair,
  signed,
  START_SECONDS,
  startNetwork,
} from "./sandbox_network.ts";

describe("a network with a state file", () => {
  let directory: string;
  let stateFile: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "sandbox-"));
    stateFile = join(directory, "ledger.db");
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  test("goes on where it was: entries, sequence numbers, transactions, events, named accounts", async () => {
    const first = await startNetwork({ stateFile });
    const sandbox = bootstrapSandbox(first.network, { contracts: contractCode() });
    const owner = Keypair.fromSecret(sandbox.accounts.owner.secret);
    const card = bytes(sha256(new TextEncoder().encode("card")));
    const ownerArg = address(owner.publicKey());
    const register = call(sandbox.contracts.deviceRegistry, "register", ownerArg, card, ownerArg);
    const applied = invoke(first.network, owner, register);
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
    assert.equal(network.latestLedger().sequence, ledger.sequence, "bootstrapping twice made transactions");

    const revoke = call(sandbox.contracts.deviceRegistry, "revoke", ownerArg, card);
    const next = invoke(network, owner, revoke);
    assert.equal(next.successful, true);
    assert.equal(next.ledger, ledger.sequence + 1);
    await network.stop();
  });

  test("finishes a setup that was broken off before it was written down, with the contracts that are there", async () => {
    const { network } = await startNetwork();
    const first = bootstrapSandbox(network, { contracts: contractCode() });
    const forgetful = new Proxy(network, {
      get: (target, name) => name === "recall" ? () => undefined : Reflect.get(target, name),
    });
    const { contracts, asset } = bootstrapSandbox(forgetful, { contracts: contractCode() });
    assert.deepEqual({ contracts, asset }, { contracts: first.contracts, asset: first.asset });
    await network.stop();
  });

  test("closes a ledger at once when it slept, so that its tip is not old", async () => {
    const first = await startNetwork({ stateFile });
    await first.network.stop();
    const later = (START_SECONDS + 3_600) * 1000;
    const { network } = await startNetwork({ stateFile, now: () => later });
    assert.equal(network.latestLedger().sequence, 2);
    assert.equal(network.latestLedger().closeTime, START_SECONDS + 3_600);
    await network.stop();
  });

  test("keeps what is within retention only", async () => {
    const first = await startNetwork({ stateFile, retentionLedgers: 3 });
    const alice = keypair("alice");
    const root = Keypair.master(first.network.passphrase);
    const create = Operation.createAccount({ destination: alice.publicKey(), startingBalance: "5" });
    const old = apply(first.network, signed(build(first.network, root, [create]), root));
    for (let i = 0; i < 3; i++) first.network.closeLedger();
    assert.equal(first.network.oldestLedger().sequence, 3);
    assert.equal(first.network.transaction(old.hash), undefined);
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

  test("refuses a file of another network, naming both", async () => {
    const { network } = await startNetwork({ stateFile });
    await network.stop();
    await assert.rejects(startNetwork({ stateFile, passphrase: "other" }), /Standalone Sandbox.*the passphrase is "other"/);
  });

  test("has it for itself: another one is refused until it has stopped", async () => {
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

  test("keeps it from others' eyes, also one that was open to them", async () => {
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

  test("keeps texts under their names", async () => {
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
