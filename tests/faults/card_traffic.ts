import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { Keypair } from "@stellar/stellar-sdk";
import { contractCall } from "../../lib/escrow/operations/operations.ts";
import type { TestNetwork } from "../http/test_gateway.ts";
import { call, prepare, signed, submit } from "../sandbox/sandbox_network.ts";
import type { SeededRandom } from "./seeded_random.ts";

/** One event of the ledger, as whoever caused it knows it. */
export interface Happening {
  ledger: number;
  txHash: string;
  type: string;
  deviceHash?: string;
  merchant?: string;
}

export interface CardTraffic {
  deviceHashes: string[];
  merchants: string[];
  /** Closes one ledger with one to three operations in it. */
  closeLedger(): void;
  /** What has happened since the cards were set up, in the ledger's order. */
  happenings(): Happening[];
}

type Operation = Parameters<typeof contractCall>[2];

/** Cards that are funded and pay, and merchants who claim, straight on the network: the gateway may be dead meanwhile. */
export async function startCardTraffic(
  { network, sandbox: { contracts, asset, accounts } }: TestNetwork,
  random: SeededRandom,
): Promise<CardTraffic> {
  const owner = Keypair.fromSecret(accounts.owner.secret);
  const agent = Keypair.fromSecret(accounts.agent.secret);
  const merchants = [Keypair.fromSecret(accounts.merchant.secret), Keypair.random()] as const;
  await network.fund(merchants[1].publicKey());
  const deviceHashes = ["a", "b", "c"].map((card) => createHash("sha256").update(`card ${card}`).digest("hex"));
  const caused = new Map<string, Omit<Happening, "ledger" | "txHash">>();
  /** Merchants who have something to claim. */
  const owed = new Set<Keypair>();
  let nonce = 0;

  function send(source: Keypair, op: Operation, event: Omit<Happening, "ledger" | "txHash">): void {
    const { contract, function: name, args } = contractCall(contracts, source.publicKey(), op);
    const outcome = submit(network, signed(prepare(network, source, call(contract, name, ...args)), source));
    assert.equal(outcome.status, "PENDING");
    caused.set(outcome.hash, event);
  }

  function changeBalance(deviceHash: string): void {
    const op = { deviceHash, asset, amount: "7" };
    if (random.next() < 0.7) send(owner, { kind: "fundEscrow", ...op }, { type: "escrow.funded", deviceHash });
    else send(owner, { kind: "defundEscrow", ...op }, { type: "escrow.defunded", deviceHash });
  }

  function pay(deviceHash: string, to: Keypair): void {
    const payment = { deviceHash, merchant: to.publicKey(), asset, amount: "3", nonce: String(++nonce) };
    const event = { type: "payment.authorized", deviceHash, merchant: to.publicKey() };
    send(agent, { kind: "authorize", ...payment }, event);
    owed.add(to);
  }

  function claim(merchant: Keypair): void {
    send(merchant, { kind: "claim", asset }, { type: "payment.claimed", merchant: merchant.publicKey() });
    owed.delete(merchant);
  }

  for (const deviceHash of deviceHashes) {
    const policy = { deviceHash, agent: agent.publicKey(), asset, maxAmount: "0", expiresAt: null };
    send(owner, { kind: "registerDevice", deviceHash, agent: agent.publicKey() }, { type: "device.registered" });
    network.closeLedger();
    send(owner, { kind: "registerAgent", ...policy }, { type: "agent.registered" });
    network.closeLedger();
    send(owner, { kind: "fundEscrow", deviceHash, asset, amount: "1000000" }, { type: "escrow.funded" });
    network.closeLedger();
  }
  const setUpBy = network.latestLedger().sequence;

  return {
    deviceHashes,
    merchants: merchants.map((pair) => pair.publicKey()),
    closeLedger() {
      const deviceHash = random.pick(deviceHashes);
      const [paid, other] = random.next() < 0.5 ? merchants : merchants.toReversed() as [Keypair, Keypair];
      if (random.next() < 0.5) changeBalance(deviceHash);
      // Not of the one who is paid in this ledger: which of the two comes first is the network's choice.
      if (owed.has(other) && random.next() < 0.3) claim(other);
      pay(deviceHash, paid);
      network.closeLedger();
    },
    happenings() {
      const ids = Object.values(contracts);
      const events = [...network.eventsAfter("", network.latestLedger().sequence)].filter((event) =>
        event.ledger > setUpBy && ids.includes(event.contractId)
      );
      assert.equal(new Set(events.map(({ txHash }) => txHash)).size, events.length, "each transaction has one event");
      return events.map(({ ledger, txHash }) => ({ ledger, txHash, ...caused.get(txHash)! }));
    },
  };
}
