// needs: neutral
import { StrKey } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { ContractIds } from "../../../lib/escrow/contracts/errors.ts";
import { checkInterfaces, registriesOf } from "../../../lib/escrow/contracts/interface_check.ts";
import type { RawLedgerEntry } from "../../../lib/stellar/rpc/schemas.ts";
import type { RpcClient } from "../../../lib/stellar/rpc/client.ts";
import { sandboxOfFile } from "../sandbox.ts";

const NOWHERE = StrKey.encodeContract(new Uint8Array(32).fill(7));

const sandbox = sandboxOfFile();
let rpc: RpcClient;
before(() => {
  rpc = sandbox.gateway().rpc;
});

const check = (ids: Partial<ContractIds> = {}, node: Pick<RpcClient, "getLedgerEntries"> = rpc) =>
  checkInterfaces({ rpc: node, contracts: { ...sandbox.contracts, ...ids } });
const states = async (ids: Partial<ContractIds>) => (await check(ids)).map(({ state }) => state);

/** The real node, its entries changed on the way. */
const changed = (change: (entry: RawLedgerEntry) => RawLedgerEntry): Pick<RpcClient, "getLedgerEntries"> => ({
  async getLedgerEntries(keys) {
    const answer = await rpc.getLedgerEntries(keys);
    return { ...answer, entries: answer.entries.map(change) };
  },
});

/** The same entry with other bytes of the same length in its code. */
function patched(from: string, to: string): Pick<RpcClient, "getLedgerEntries"> {
  assert.equal(from.length, to.length);
  return changed((entry) => ({ ...entry, xdr: btoa(atob(entry.xdr).replaceAll(from, to)) }));
}

describe("checkInterfaces", () => {
  test("finds the expected contracts", async () => {
    const findings = await check();
    assert.deepEqual(findings.map(({ name, id, state, differences }) => ({ name, id, state, differences })), [
      { name: "device_registry", id: sandbox.contracts.deviceRegistry, state: "as_expected", differences: [] },
      { name: "agent_registry", id: sandbox.contracts.agentRegistry, state: "as_expected", differences: [] },
      { name: "payment_escrow", id: sandbox.contracts.paymentEscrow, state: "as_expected", differences: [] },
    ]);
    for (const { codeHash } of findings) assert.match(codeHash!, /^[0-9a-f]{64}$/);
  });

  test("distinguishes a missing contract from an asset contract", async () => {
    assert.deepEqual(await states({ agentRegistry: NOWHERE }), ["as_expected", "missing", "as_expected"]);
    assert.deepEqual(await states({ paymentEscrow: sandbox.asset }), ["as_expected", "as_expected", "asset"]);
    assert.deepEqual(
      await states({ deviceRegistry: NOWHERE, agentRegistry: sandbox.asset, paymentEscrow: NOWHERE }),
      ["missing", "asset", "missing"],
    );
  });

  test("detects swapped ids", async () => {
    const { deviceRegistry, agentRegistry } = sandbox.contracts;
    const [device, agent, escrow] = await check({ deviceRegistry: agentRegistry, agentRegistry: deviceRegistry });
    assert.deepEqual([device!.state, device!.looksLike], ["another", "agent_registry"]);
    assert.deepEqual([agent!.state, agent!.looksLike], ["another", "device_registry"]);
    assert.ok(device!.differences.includes("it has no function wallet_device_count"), device!.differences.join());
    assert.equal(escrow!.state, "as_expected");
  });

  test("names a function with other arguments, and a missing field", async () => {
    const [, , escrow] = await check({}, patched("balance_of", "balance_xx"));
    assert.deepEqual([escrow!.state, escrow!.looksLike], ["another", undefined]);
    assert.deepEqual(escrow!.differences, ["it has no function balance_of"]);
    const [device, agent] = await check({}, patched("max_amount", "mix_amount"));
    assert.deepEqual(agent!.differences, ["AgentPolicy.max_amount is not there, expected i128"]);
    assert.equal(device!.state, "as_expected");
  });

  test("names an error with another name, and the contract stays usable", async () => {
    const [device] = await check({}, patched("DeviceNotFound", "DeviceNotFaund"));
    assert.equal(device!.state, "other_errors");
    assert.deepEqual(device!.differences, ["error #2 is DeviceNotFaund, expected DeviceNotFound"]);
  });

  test("detects an archived contract", async () => {
    const findings = await check({}, changed((entry) => ({ ...entry, liveUntilLedgerSeq: 1 })));
    assert.deepEqual(findings.map(({ state }) => state), ["archived", "archived", "archived"]);
  });

  test("treats code without an interface as another contract", async () => {
    const [device] = await check({}, patched("contractspecv0", "contractspecvX"));
    assert.equal(device!.state, "another");
    assert.match(device!.differences.join(), /no contractspecv0/);
    const [broken] = await check({}, patched("\0asm", "\0xxx"));
    assert.equal(broken!.state, "another");
  });
});

describe("registriesOf", () => {
  test("reads the escrow's registries", async () => {
    const { deviceRegistry, agentRegistry } = sandbox.contracts;
    assert.deepEqual(await registriesOf({ rpc, contracts: sandbox.contracts }), { deviceRegistry, agentRegistry });
  });

  test("returns no registries for a contract without them", async () => {
    const contracts = { ...sandbox.contracts, paymentEscrow: sandbox.contracts.agentRegistry };
    assert.deepEqual(await registriesOf({ rpc, contracts }), { deviceRegistry: undefined, agentRegistry: undefined });
  });
});
