// Transactions per second of the sandbox network: submit and apply of `authorize`, each in a ledger of its own that is written
// to disk; the client's simulation and signature are not counted. With 100 and with 100,000 registered devices, in turns.
// Run: `bun tests/bench/sandbox_network.ts`.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { Keypair } from "@stellar/stellar-sdk";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import { bootstrapSandbox } from "../../lib/sandbox/bootstrap.ts";
import { keyOf, sha256 } from "../../lib/sandbox/ledger/bytes.ts";
import { createNetwork, type SandboxNetwork } from "../../lib/sandbox/network.ts";
import {
  address,
  bytes,
  call,
  contractCode,
  engineModule,
  i128,
  invoke,
  prepare,
  signed,
  u64,
} from "../sandbox/sandbox_network.ts";

const ROUNDS = 7;
const TRANSACTIONS_PER_ROUND = 150;
const hashOf = (name: string) => sha256(new TextEncoder().encode(name));
const card = hashOf("card 0");

async function open(stateFile: string) {
  const schedule = () => () => {};
  const network = await createNetwork({ engineWasm: engineModule, ledgerMs: 0, schedule, stateFile });
  const sandbox = bootstrapSandbox(network, { contracts: contractCode() });
  return { network, sandbox, pair: (name: "owner" | "agent") => Keypair.fromSecret(sandbox.accounts[name].secret) };
}

/** Registers one device with its agent, funds its escrow, and copies its entries under other hashes into the file. */
async function populate(stateFile: string, devices: number): Promise<void> {
  const { network, sandbox, pair } = await open(stateFile);
  const { deviceRegistry, agentRegistry, paymentEscrow } = sandbox.contracts;
  const [owner, agent] = [address(sandbox.accounts.owner.address), address(sandbox.accounts.agent.address)];
  const asset = address(sandbox.asset);
  invoke(network, pair("owner"), call(deviceRegistry, "register", owner, bytes(card), agent));
  const policy = [owner, bytes(card), agent, i128(0n), asset, u64(0n)];
  invoke(network, pair("owner"), call(agentRegistry, "register_agent", ...policy));
  invoke(network, pair("owner"), call(paymentEscrow, "fund_escrow", asset, owner, bytes(card), i128(1_000_000n)));
  await network.stop();

  const database = await openSqlite(stateFile);
  const put = database.prepare("INSERT INTO entries VALUES (?, ?, ?, ?)");
  const mine = database.prepare("SELECT * FROM entries").all().filter((row) =>
    keyOf(row.key as Uint8Array).includes(keyOf(card))
  );
  assert.equal(mine.length, 3);
  const replaced = (xdr: Uint8Array, hash: Uint8Array) => {
    const copy = xdr.slice();
    const at = keyOf(copy).indexOf(keyOf(card));
    if (at >= 0) copy.set(hash, at);
    return copy;
  };
  database.transaction(() => {
    for (let i = 1; i < devices; i++) {
      const hash = hashOf(`card ${i}`);
      for (const row of mine) {
        const [key, entry] = [replaced(row.key as Uint8Array, hash), replaced(row.entry as Uint8Array, hash)];
        put.run(key, entry, row.live_until!, row.ttl_modified!);
      }
    }
  });
  database.close();
}

interface Contestant {
  devices: number;
  network: SandboxNetwork;
  perSecond: number[];
  /** CPU milliseconds per transaction, by round: other work on the machine does not show in it. */
  cpuMs: number[];
  round(): void;
}

async function contestant(directory: string, devices: number): Promise<Contestant> {
  const populated = join(directory, `${devices}.db`);
  await populate(populated, devices);
  const { network, sandbox, pair } = await open(populated);
  const agent = pair("agent");
  const terms = [
    address(agent.publicKey()),
    bytes(card),
    address(sandbox.accounts.merchant.address),
    address(sandbox.asset),
  ];
  let nonce = 0n;
  const perSecond: number[] = [];
  const cpuMs: number[] = [];
  return {
    devices,
    network,
    perSecond,
    cpuMs,
    round() {
      let ms = 0;
      let cpuMicros = 0;
      for (let i = 0; i < TRANSACTIONS_PER_ROUND; i++) {
        const payment = call(sandbox.contracts.paymentEscrow, "authorize", ...terms, i128(1n), u64(++nonce));
        const envelope = signed(prepare(network, agent, payment), agent).toEnvelope().toXdr();
        const cpuBefore = process.cpuUsage();
        const start = performance.now();
        const { hash } = network.submit(envelope);
        network.closeLedger();
        ms += performance.now() - start;
        const { user, system } = process.cpuUsage(cpuBefore);
        cpuMicros += user + system;
        assert.equal(network.transaction(hash)?.successful, true);
      }
      // What is pending is paid out, or every round's contract calls would be larger than the last one's.
      const merchant = Keypair.fromSecret(sandbox.accounts.merchant.secret);
      invoke(
        network,
        merchant,
        call(sandbox.contracts.paymentEscrow, "claim", address(sandbox.asset), address(merchant.publicKey())),
      );
      perSecond.push(TRANSACTIONS_PER_ROUND / ms * 1000);
      cpuMs.push(cpuMicros / 1000 / TRANSACTIONS_PER_ROUND);
    },
  };
}

const median = (values: number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

const directory = mkdtempSync(join(tmpdir(), "sandbox-bench-"));
try {
  const contestants = [await contestant(directory, 100), await contestant(directory, 100_000)];
  for (let round = 0; round < ROUNDS; round++) for (const each of contestants) each.round();
  for (const { devices, perSecond, cpuMs } of contestants) {
    const spread = `${Math.min(...perSecond).toFixed(0)} to ${Math.max(...perSecond).toFixed(0)}`;
    console.log(
      `${devices} devices: ${median(perSecond).toFixed(0)} transactions/s (${spread}), CPU ${
        median(cpuMs).toFixed(2)
      } ms each`,
    );
  }
  const [few, many] = contestants.map(({ perSecond }) => median(perSecond));
  console.log(`time with 100,000 devices: ${((few ?? 0) / (many ?? 1)).toFixed(2)} × that with 100`);
  for (const { network } of contestants) await network.stop();
} finally {
  rmSync(directory, { recursive: true });
}
