// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { xdr } from "@stellar/stellar-sdk";
import { type ApplyOutcome, EngineRefusal, EngineTrap } from "../../lib/sandbox/engine.ts";
import {
  accountId,
  AGENT,
  call,
  card,
  deviceRegistryWasm,
  hostileWasm,
  register,
  SEED,
  SOURCE,
  TestLedger,
  topicsOf,
  u32,
} from "./engine_fixture.ts";

async function openRegistry(): Promise<{ ledger: TestLedger; contract: string }> {
  const ledger = await TestLedger.open();
  return { ledger, contract: ledger.deploy(deviceRegistryWasm) };
}

test("a removed entry is a change of kind removed", async () => {
  const { ledger, contract } = await openRegistry();
  ledger.invoke(register(contract, 1));
  const owner = xdr.ScVal.fromXdr(ledger.invoke(call(contract, "get_owner", card(1))).returnValue);
  const revoked = ledger.invoke(call(contract, "revoke", owner, card(1)));
  const kinds = revoked.changes.map(({ kind, liveUntilLedger }) => [kind, liveUntilLedger > 0]);
  assert.deepEqual(kinds.toSorted(), [["removed", false], ["removed", false], ["written", true]]);
});

test("a failed invocation has its error and events, changes nothing and costs no refundable fee", async () => {
  const { ledger, contract } = await openRegistry();
  const stale = ledger.simulate(register(contract, 1));
  ledger.invoke(register(contract, 1));
  const failed = ledger.apply(register(contract, 1), stale.transactionData, { auth: stale.auth });
  assert.equal(failed.outcome, "trapped");
  assert.equal(failed.error, "Error(Contract, #4)");
  assert(topicsOf(failed.diagnosticEvents).some(([name]) => name === "host_fn_failed"));
  assert.deepEqual([failed.changes, failed.contractEvents, failed.rentFee, failed.eventsFee], [[], [], 0n, 0n]);
  assert(failed.nonRefundableFee > 0n);
});

test("diagnostic events are those of the host, followed by stellar-core's metrics", async () => {
  const { ledger, contract } = await openRegistry();
  const topics = topicsOf(ledger.invoke(register(contract, 1)).diagnosticEvents);
  assert.deepEqual(topics.slice(0, 3).map(([name]) => name), ["fn_call", "register", "fn_return"]);
  assert.deepEqual(topics.slice(3).map(([name]) => name), Array(19).fill("core_metrics"));
});

test("a simulation returns the same whether or not an earlier one has parsed its contracts", async () => {
  const { ledger, contract } = await openRegistry();
  const first = ledger.simulate(register(contract, 1));
  assert.deepEqual(ledger.simulate(register(contract, 1)), first);
  const refused = ledger.simulate(call(contract, "get_owner", card(1)));
  assert.deepEqual(ledger.simulate(call(contract, "get_owner", card(1))), refused);
});

test("a simulation adds the instruction leeway, or 50,000, to the simulated instructions", async () => {
  const { ledger, contract } = await openRegistry();
  const request = { hostFunction: register(contract, 1), sourceAccount: accountId(SOURCE), prngSeed: SEED };
  for (const leeway of [undefined, 5_000_000]) {
    const asked = { ...request, authMode: "record" as const, ...(leeway && { instructionLeeway: leeway }) };
    const simulated = ledger.engine.simulateInvoke(ledger.header, asked);
    const { resources } = xdr.SorobanTransactionData.fromXdr(simulated.transactionData);
    assert.equal(resources.instructions, Number(simulated.instructions) + (leeway ?? 50_000));
  }
});

test("a simulation records another account's authorisation in the requested form, and an invocation needs it", async () => {
  const { ledger, contract } = await openRegistry();
  const request = { hostFunction: register(contract, 1), sourceAccount: accountId(AGENT), prngSeed: SEED };
  const recorded = (addressV2: boolean) => {
    const { auth } = ledger.engine.simulateInvoke(ledger.header, { ...request, authMode: "record", addressV2 });
    return xdr.SorobanAuthorizationEntry.fromXdr(auth[0]!).credentials.type;
  };
  assert.equal(recorded(false), "sorobanCredentialsAddress");
  assert.equal(recorded(true), "sorobanCredentialsAddressV2");
  const enforced = ledger.engine.simulateInvoke(ledger.header, { ...request, authMode: "enforce", auth: [] });
  assert.match(enforced.error, /Error\(Auth, InvalidAction\)/);
  assert.equal(ledger.invoke(register(contract, 1), { auth: [] }).outcome, "trapped");
});

// As in stellar-core, the host stops a contract in time that exceeds the budget in its own code. So that is no exceeded limit.
const attacks: [string, xdr.ScVal[], string, ApplyOutcome][] = [
  ["spin", [], "Error(Budget, ExceededLimit)", "trapped"],
  ["recurse", [], "Error(Budget, ExceededLimit)", "trapped"],
  ["hog_memory", [], "Error(Budget, ExceededLimit)", "resource_limit_exceeded"],
  ["hog_host", [], "Error(Budget, ExceededLimit)", "resource_limit_exceeded"],
  ["nest", [u32(1000)], "Error(Context, ExceededLimit)", "resource_limit_exceeded"],
];

for (const [name, args, error, outcome] of attacks) {
  test(`the engine stops a contract that would ${name} without end, in a simulation and in a ledger`, async () => {
    const ledger = await TestLedger.open();
    const contract = ledger.deploy(hostileWasm);
    const attack = call(contract, name, ...args);
    assert(ledger.simulate(attack).error.startsWith(`HostError: ${error}`));
    const harmless = ledger.simulate(call(contract, "length", xdr.ScVal.scvVec([])));
    const applied = ledger.apply(attack, harmless.transactionData);
    assert.deepEqual([applied.outcome, applied.error], [outcome, "Error(Budget, ExceededLimit)"]);
    assert(ledger.engine.memoryBytes() < 96 * 1024 * 1024);
  });
}

const floods: [string, string, number][] = [
  ["publishes too large an event", "shout", 20],
  ["stores too large an entry", "store", 66],
];

for (const [flaw, name, amount] of floods) {
  test(`the resource limit stops a contract that ${flaw}`, async () => {
    const ledger = await TestLedger.open();
    const contract = ledger.deploy(hostileWasm);
    assert.equal(ledger.invoke(call(contract, name, u32(1))).outcome, "success");
    const flooded = ledger.invoke(call(contract, name, u32(amount)));
    assert.deepEqual([flooded.outcome, flooded.changes], ["resource_limit_exceeded", []]);
  });
}

/** A call of `length` with nested vectors, which the SDK does not build. */
function nestedCall(contract: string, depth: number): Uint8Array {
  const plain = call(contract, "length", xdr.ScVal.scvVec([]));
  const scvVec = Uint8Array.of(0, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 1);
  const emptyVecBytes = 12;
  const head = plain.subarray(0, plain.length - emptyVecBytes);
  const nested = new Uint8Array(head.length + depth * scvVec.length + emptyVecBytes);
  nested.set(head);
  for (let i = 0; i < depth; i++) nested.set(scvVec, head.length + i * scvVec.length);
  nested.set(plain.subarray(-emptyVecBytes), nested.length - emptyVecBytes);
  return nested;
}

for (const depth of [1_000, 50_000, 1_000_000]) {
  test(`the engine refuses an argument of ${depth} levels, and invokes the contract afterwards`, async () => {
    const ledger = await TestLedger.open();
    const contract = ledger.deploy(hostileWasm);
    const harmless = ledger.simulate(nestedCall(contract, 10));
    assert.equal(harmless.error, "");
    assert.throws(() => ledger.simulate(nestedCall(contract, depth)), EngineRefusal);
    assert.notEqual(ledger.apply(nestedCall(contract, depth), harmless.transactionData).outcome, "success");
    assert.equal(ledger.invoke(nestedCall(contract, 10)).outcome, "success");
  });
}

test("the engine restarts after a trap", async () => {
  const { ledger, contract } = await openRegistry();
  const { read } = ledger;
  ledger.read = () => {
    throw new Error("the disk is gone");
  };
  assert.throws(() => ledger.simulate(register(contract, 1)), (error) => {
    assert(error instanceof EngineTrap);
    assert.match(error.message, /simulateInvoke: the disk is gone$/);
    return true;
  });
  ledger.read = read;
  assert.equal(ledger.invoke(register(contract, 1)).outcome, "success");
});

test("the engine refuses a request that is not XDR", async () => {
  const { ledger, contract } = await openRegistry();
  const garbage = Uint8Array.of(1, 2, 3);
  assert.throws(() => ledger.simulate(garbage), /Cannot simulateInvoke: cannot decode the XDR/);
  assert.throws(() => ledger.apply(register(contract, 1), garbage), /Cannot applyInvoke: cannot decode the XDR/);
});
