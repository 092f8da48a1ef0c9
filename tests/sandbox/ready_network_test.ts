// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ledgerFile } from "../../cli/sandbox/folder.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { folderForTests } from "../folder.ts";
import { closedAt } from "./image_times.ts";
import { decode, encode, recorder, restored } from "./network_image.ts";
import { prepareStateFolder } from "./ready_folder.ts";
import { bootstrappedNetwork, type ReadyNetwork, readyNetwork, startReadyNetwork } from "./ready_network.ts";
import { balanceOf, invoke, START_SECONDS, startNetwork } from "./sandbox_network.ts";
import { cardCalls, holdersOf } from "./soroban_parts.ts";

const still = { now: () => START_SECONDS * 1000, schedule: () => () => {} };
const eventsOf = (network: SandboxNetwork, after = "") => [...network.eventsAfter(after, 1_000)];
const register = ({ network, sandbox }: ReadyNetwork) =>
  invoke(network, holdersOf(sandbox).owner, cardCalls(sandbox).register());

/** Registers, funds, pays and claims. Returns whether each call succeeded. */
function lifeOfACard({ network, sandbox }: ReadyNetwork): boolean[] {
  const { owner, agent, merchant } = holdersOf(sandbox);
  const calls = cardCalls(sandbox);
  return [
    invoke(network, owner, calls.register()),
    invoke(network, owner, calls.registerAgent(100n)),
    invoke(network, owner, calls.fund(500n)),
    invoke(network, agent, calls.authorize(7n, 1n)),
    invoke(network, merchant, calls.claim()),
  ].map(({ successful }) => successful);
}

describe("a restored network", () => {
  test("has the contracts, the asset and the balances of a bootstrapped network", async () => {
    const [ready, other] = [await startReadyNetwork(), await bootstrappedNetwork(still)];
    assert.deepEqual(ready.sandbox.contracts, other.sandbox.contracts);
    assert.equal(ready.sandbox.asset, other.sandbox.asset);
    for (const name of ["owner", "agent", "merchant"] as const) {
      const balances = [ready, other].map(({ network, sandbox }) => balanceOf(network, holdersOf(sandbox)[name]));
      assert.equal(balances[0], balances[1]);
    }
    const shapes = ({ network }: ReadyNetwork) =>
      eventsOf(network).map(({ contractId, ledger, topicsXdr }) => [contractId, ledger, topicsXdr[0]]);
    assert.deepEqual(shapes(ready), shapes(other));
    assert.equal(ready.network.oldestLedger().sequence, other.network.oldestLedger().sequence);
  });

  test("has ledgers that closed now, and is not ahead of the clock", async () => {
    const { network, clock } = await startReadyNetwork();
    assert.equal(network.latestLedger().closeTime, clock.seconds);
    assert.equal(network.now(), clock.seconds * 1000);
    const today = await readyNetwork();
    for (const { closeTime } of [today.network.oldestLedger(), today.network.latestLedger()]) {
      assert.ok(Math.abs(closeTime - Date.now() / 1000) < 60);
    }
    await today.network.stop();
  });

  test("applies calls as a bootstrapped network does, and their events follow those of the setup", async () => {
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

  test("shares no state with another network of the same image", async () => {
    const [one, other] = [await startReadyNetwork(), await startReadyNetwork()];
    assert.equal(one.network.latestLedger().hash, other.network.latestLedger().hash);
    const before = other.network.latestLedger().sequence;
    assert.equal(register(one).successful, true);
    one.network.keep("name", "of the first");
    assert.equal(other.network.latestLedger().sequence, before);
    assert.equal(other.network.recall("name"), undefined);
    assert.equal(register(other).successful, true);
  });

  test("has other contracts with another passphrase", async () => {
    const [one, other] = [await startReadyNetwork(), await readyNetwork({ ...still, passphrase: "Another ; 2026" })];
    assert.equal(other.network.passphrase, "Another ; 2026");
    assert.notDeepEqual(one.sandbox.contracts, other.sandbox.contracts);
    assert.deepEqual(lifeOfACard(other), Array(5).fill(true));
  });
});

describe("an image", () => {
  test("with another close time has the headers of ledgers that close then", async () => {
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

  test("has all ledgers, transactions, entries and stored texts after it was encoded and decoded", async () => {
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

const folder = folderForTests();

test("a network that starts from a prepared folder has the state of the image", async () => {
  await prepareStateFolder(folder, still);
  const { network } = await startNetwork({ stateFile: ledgerFile(folder) });
  const ready = await startReadyNetwork();
  assert.deepEqual(JSON.parse(network.recall("sandbox")!), ready.sandbox);
  assert.deepEqual(network.latestLedger().metadataXdr, ready.network.latestLedger().metadataXdr);
  assert.deepEqual(eventsOf(network), eventsOf(ready.network));
  assert.equal(network.closeLedger().hash, ready.network.closeLedger().hash);
  await network.stop();
});
