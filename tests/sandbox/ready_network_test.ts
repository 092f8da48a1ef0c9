// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Keypair } from "@stellar/stellar-sdk";
import { sha256 } from "../../lib/sandbox/ledger/bytes.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { closedAt } from "./image_times.ts";
import { decode, encode, recorder, restored } from "./network_image.ts";
import { bootstrappedNetwork, type ReadyNetwork, readyNetwork, startReadyNetwork } from "./ready_network.ts";
import { address, balanceOf, bytes, call, i128, invoke, START_SECONDS, startNetwork, u64 } from "./sandbox_network.ts";

const card = bytes(sha256(new TextEncoder().encode("card")));
const still = { now: () => START_SECONDS * 1000, schedule: () => () => {} };
const pair = ({ sandbox }: ReadyNetwork, name: "owner" | "agent" | "merchant") =>
  Keypair.fromSecret(sandbox.accounts[name].secret);
const eventsOf = (network: SandboxNetwork, after = "") => [...network.eventsAfter(after, 1_000)];

function register(on: ReadyNetwork) {
  const [owner, agent] = [pair(on, "owner"), pair(on, "agent")];
  const terms = [address(owner.publicKey()), card, address(agent.publicKey())];
  return invoke(on.network, owner, call(on.sandbox.contracts.deviceRegistry, "register", ...terms));
}

/** Registers, funds, pays and claims. Answers whether each call succeeded. */
function lifeOfACard(on: ReadyNetwork): boolean[] {
  const [owner, agent, merchant] = [pair(on, "owner"), pair(on, "agent"), pair(on, "merchant")];
  const { agentRegistry, paymentEscrow } = on.sandbox.contracts;
  const asset = address(on.sandbox.asset);
  const [ownerArg, agentArg, merchantArg] = [owner, agent, merchant].map((one) => address(one.publicKey()));
  const policy = [ownerArg!, card, agentArg!, i128(100n), asset, u64(0n)];
  const payment = [agentArg!, card, merchantArg!, asset, i128(7n), u64(1n)];
  return [
    register(on),
    invoke(on.network, owner, call(agentRegistry, "register_agent", ...policy)),
    invoke(on.network, owner, call(paymentEscrow, "fund_escrow", asset, ownerArg!, card, i128(500n))),
    invoke(on.network, agent, call(paymentEscrow, "authorize", ...payment)),
    invoke(on.network, merchant, call(paymentEscrow, "claim", asset, merchantArg!)),
  ].map(({ successful }) => successful);
}

describe("a restored network", () => {
  test("has the contracts, the asset and the balances of one that was bootstrapped", async () => {
    const [ready, other] = [await startReadyNetwork(), await bootstrappedNetwork(still)];
    assert.deepEqual(ready.sandbox.contracts, other.sandbox.contracts);
    assert.equal(ready.sandbox.asset, other.sandbox.asset);
    for (const name of ["owner", "agent", "merchant"] as const) {
      assert.equal(balanceOf(ready.network, pair(ready, name)), balanceOf(other.network, pair(other, name)));
    }
    const shapes = ({ network }: ReadyNetwork) =>
      eventsOf(network).map(({ contractId, ledger, topicsXdr }) => [contractId, ledger, topicsXdr[0]]);
    assert.deepEqual(shapes(ready), shapes(other));
    assert.equal(ready.network.oldestLedger().sequence, other.network.oldestLedger().sequence);
  });

  test("was set up at the present, and is not ahead of it", async () => {
    const { network, clock } = await startReadyNetwork();
    assert.equal(network.latestLedger().closeTime, clock.seconds);
    assert.equal(network.now(), clock.seconds * 1000);
    const today = await readyNetwork();
    for (const { closeTime } of [today.network.oldestLedger(), today.network.latestLedger()]) {
      assert.ok(Math.abs(closeTime - Date.now() / 1000) < 60);
    }
    await today.network.stop();
  });

  test("takes calls, whose events follow those of the setup, as on one that was bootstrapped", async () => {
    const [ready, other] = [await startReadyNetwork(), await bootstrappedNetwork(still)];
    assert.equal(ready.network.latestLedger().sequence, other.network.latestLedger().sequence);
    const lastIds = [ready, other].map(({ network }) => eventsOf(network).at(-1)!.id);
    assert.deepEqual(lifeOfACard(ready), Array(5).fill(true));
    assert.deepEqual(lifeOfACard(other), Array(5).fill(true));
    const newEvents = [ready, other].map(({ network }, index) => eventsOf(network, lastIds[index]!));
    const shapes = newEvents.map((events) => events.map(({ contractId, topicsXdr }) => [contractId, topicsXdr[0]]));
    assert.ok(newEvents[0]!.length >= 5);
    assert.deepEqual(shapes[0], shapes[1]);
    const ids = eventsOf(ready.network).map(({ id }) => id);
    assert.deepEqual(ids, ids.toSorted());
  });

  test("shares nothing with the next one of the same image", async () => {
    const [one, other] = [await startReadyNetwork(), await startReadyNetwork()];
    assert.equal(one.network.latestLedger().hash, other.network.latestLedger().hash);
    const before = other.network.latestLedger().sequence;
    assert.equal(register(one).successful, true);
    one.network.keep("name", "of the first");
    assert.equal(other.network.latestLedger().sequence, before);
    assert.equal(other.network.recall("name"), undefined);
    assert.equal(register(other).successful, true);
  });

  test("of another passphrase is another network", async () => {
    const [one, other] = [await startReadyNetwork(), await readyNetwork({ ...still, passphrase: "Another ; 2026" })];
    assert.equal(other.network.passphrase, "Another ; 2026");
    assert.notDeepEqual(one.sandbox.contracts, other.sandbox.contracts);
    assert.deepEqual(lifeOfACard(other), Array(5).fill(true));
  });
});

describe("an image", () => {
  test("of another time has the headers that its ledgers would have had then", async () => {
    const { stateFile, image } = recorder();
    const on = await bootstrappedNetwork({ ...still, stateFile });
    register(on);
    const other = closedAt(image(), START_SECONDS + 1_000);
    assert.deepEqual(closedAt(other, START_SECONDS), image());
    const { network } = await startNetwork({ now: () => (START_SECONDS + 1_000) * 1000, stateFile: restored(other) });
    assert.equal(network.latestLedger().sequence, on.network.latestLedger().sequence);
    assert.equal(network.oldestLedger().closeTime, START_SECONDS + 1_000);
    assert.notEqual(network.latestLedger().hash, on.network.latestLedger().hash);
  });

  test("holds ledgers, transactions, entries and what was kept, also once it was encoded", async () => {
    const { stateFile, image } = recorder();
    const on = await bootstrappedNetwork({ ...still, stateFile });
    const { hash } = register(on);
    const { network } = await startNetwork({ stateFile: restored(decode(encode(image()))) });
    assert.deepEqual(decode(encode(image())), image());
    assert.deepEqual(network.latestLedger().headerXdr, on.network.latestLedger().headerXdr);
    assert.deepEqual(network.latestLedger().metadataXdr, on.network.latestLedger().metadataXdr);
    assert.deepEqual(network.transaction(hash), on.network.transaction(hash));
    assert.deepEqual(eventsOf(network), eventsOf(on.network));
    assert.deepEqual(network.fees(), on.network.fees());
    assert.deepEqual(JSON.parse(network.recall("sandbox")!), on.sandbox);
    const later = [network.closeLedger(), on.network.closeLedger()];
    assert.equal(later[0]!.hash, later[1]!.hash);
  });
});
