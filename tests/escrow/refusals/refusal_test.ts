// needs: neutral
import { StrKey, xdr } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { traceError } from "../../../lib/escrow/refusals/error_trace.ts";
import { createRefusals } from "../../../lib/escrow/refusals/refusal.ts";

const id = (fill: number) => StrKey.encodeContract(new Uint8Array(32).fill(fill));
const [deviceRegistry, agentRegistry, paymentEscrow, asset, stranger] = [id(1), id(2), id(3), id(4), id(5)];
const refusals = createRefusals({
  contracts: { deviceRegistry, agentRegistry, paymentEscrow },
  isAssetContract: (contract) => Promise.resolve(contract === asset),
  explanations: { ofRefusal: () => Promise.resolve(undefined), ofSize: () => Promise.resolve(undefined) },
});
const CALL = { contract: paymentEscrow, function: "fund_escrow", args: [] };

/** Diagnostic events as the host writes them. */
function event(contract: string | null, topics: xdr.ScVal[], data: xdr.ScVal): string {
  return new xdr.DiagnosticEvent({
    inSuccessfulContractCall: false,
    event: new xdr.ContractEvent({
      ext: xdr.ExtensionPoint.v0(),
      contractId: contract === null ? null : new xdr.ContractId(StrKey.decodeContract(contract)),
      type: xdr.ContractEventType.diagnostic,
      body: xdr.ContractEventBody.v0(new xdr.ContractEventV0({ topics, data })),
    }),
  }).toXdr("base64");
}
const symbol = (name: string) => xdr.ScVal.scvSymbol(name);
const called = (by: string | null, callee: string, name: string) =>
  event(by, [symbol("fn_call"), xdr.ScVal.scvBytes(StrKey.decodeContract(callee)), symbol(name)], xdr.ScVal.scvVoid());
const returned = (contract: string, name: string) =>
  event(contract, [symbol("fn_return"), symbol(name)], xdr.ScVal.scvVoid());
const failed = (contract: string, number: number, words = "escalating Ok(ScErrorType::Contract) frame-exit to Err") =>
  event(
    contract,
    [symbol("error"), xdr.ScVal.scvError(xdr.ScError.sceContract(number))],
    xdr.ScVal.scvString(words),
  );
const caught = (contract: string, number: number) => failed(contract, number, "contract try_call failed");
const passed = (contract: string, number: number) =>
  failed(contract, number, "escalating error to VM trap from failed host function call: call");
const hostFailed = (contract: string, error: xdr.ScError, words: string) =>
  event(contract, [symbol("error"), xdr.ScVal.scvError(error)], xdr.ScVal.scvVec([xdr.ScVal.scvString(words)]));
const logged = (contract: string) => event(contract, [symbol("log")], xdr.ScVal.scvString("VM call trapped"));
const metrics = event(null, [symbol("core_metrics"), symbol("cpu_insn")], xdr.ScVal.scvU64(5n));

describe("the contract that raised an error", () => {
  test("is the origin, not a calling contract that passed it on", () => {
    const events = [
      called(null, paymentEscrow, "fund_escrow"),
      called(paymentEscrow, deviceRegistry, "get_owner"),
      returned(deviceRegistry, "get_owner"),
      called(paymentEscrow, asset, "transfer"),
      failed(asset, 10, "balance is not sufficient to spend"),
      logged(paymentEscrow),
      passed(paymentEscrow, 10),
      metrics,
    ];
    assert.equal(traceError(events, "HostError: Error(Contract, #10)\n\nEvent log")?.raisedBy, asset);
    assert.equal(traceError(events)?.raisedBy, asset);
  });

  test("is the failing contract, after it caught the same number from another contract", () => {
    const events = [
      called(null, paymentEscrow, "fund_escrow"),
      called(paymentEscrow, deviceRegistry, "get_owner"),
      failed(deviceRegistry, 2),
      caught(paymentEscrow, 2),
      failed(paymentEscrow, 2),
    ];
    const trace = traceError(events, "HostError: Error(Contract, #2)");
    assert.equal(trace?.raisedBy, paymentEscrow);
    assert.deepEqual(trace?.call, { contract: paymentEscrow, function: "fund_escrow" });
  });

  test("is not confused with that of an earlier error with another number", () => {
    const events = [
      called(null, paymentEscrow, "fund_escrow"),
      called(paymentEscrow, deviceRegistry, "get_owner"),
      failed(deviceRegistry, 2),
      caught(paymentEscrow, 2),
      failed(paymentEscrow, 8),
    ];
    assert.deepEqual(traceError(events)?.error, { type: "Contract", code: "#8" });
  });

  test("is unknown when the node returns no events", () => {
    assert.equal(traceError([], "HostError: Error(Contract, #6)")?.raisedBy, undefined);
    assert.equal(traceError([]), undefined);
  });
});

describe("a refusal", () => {
  const explain = async (events: string[], error: string) => {
    const { code, contractError, message } = await refusals.ofSimulation(CALL, { latestLedger: 1, error, events });
    return { code, contractError, message };
  };

  test("names an unknown contract by its id and the error by its number", async () => {
    const events = [
      called(null, paymentEscrow, "fund_escrow"),
      called(paymentEscrow, stranger, "transfer"),
      failed(stranger, 10),
    ];
    assert.deepEqual(await explain(events, "HostError: Error(Contract, #10)"), {
      code: "contract_refused",
      contractError: "#10",
      message: `payment_escrow.fund_escrow refused: contract ${stranger} error #10`,
    });
  });

  test("has the number without a name, when an upgraded contract has new errors", async () => {
    const events = [called(null, paymentEscrow, "fund_escrow"), failed(paymentEscrow, 99)];
    assert.deepEqual(await explain(events, "HostError: Error(Contract, #99)"), {
      code: "contract_refused",
      contractError: "#99",
      message: "payment_escrow.fund_escrow refused: payment_escrow error #99",
    });
  });

  test("names no contract without events", async () => {
    assert.deepEqual(await explain([], "HostError: Error(Contract, #2)"), {
      code: "contract_refused",
      contractError: "#2",
      message: "payment_escrow.fund_escrow refused: contract error #2",
    });
  });

  test("of a contract that panics reports a trap", async () => {
    const trap = xdr.ScError.sceWasmVm(xdr.ScErrorCode.scecInvalidAction);
    const events = [
      called(null, paymentEscrow, "fund_escrow"),
      hostFailed(paymentEscrow, trap, "VM call trapped: UnreachableCodeReached"),
    ];
    const told = await explain(events, "HostError: Error(WasmVm, InvalidAction)");
    assert.deepEqual([told.code, told.contractError], ["contract_refused", "WasmVm.InvalidAction"]);
    assert.match(
      told.message,
      /payment_escrow.fund_escrow trapped with Error\(WasmVm, InvalidAction\): VM call trapped/,
    );
  });

  test("for a call above the network's limits is invalid_request", async () => {
    const budget = xdr.ScError.sceBudget(xdr.ScErrorCode.scecExceededLimit);
    const told = await explain([hostFailed(paymentEscrow, budget, "")], "HostError: Error(Budget, ExceededLimit)");
    assert.equal(told.code, "invalid_request");
    assert.match(
      told.message,
      /needs more than the network allows one transaction \(Error\(Budget, ExceededLimit\)\)$/,
    );
  });

  test("without a readable error is the node's", async () => {
    const told = await explain([], "Transaction contains more than one operation");
    assert.equal(told.code, "upstream_error");
    assert.match(told.message, /could not simulate payment_escrow.fund_escrow$/);
    const garbled = refusals.ofSimulation(CALL, { latestLedger: 1, error: "HostError", events: ["AAAA"] });
    await assert.rejects(garbled, { code: "upstream_error" });
  });

  test("in a ledger asks to prepare again when another transaction changed its entries", async () => {
    const outside = xdr.ScError.sceStorage(xdr.ScErrorCode.scecExceededLimit);
    const failure = { hash: "ab", ledger: 7, code: "invokeHostFunctionTrapped" };
    const events = [hostFailed(paymentEscrow, outside, "trying to access contract data outside of the footprint")];
    const told = await refusals.ofFailure(CALL, { ...failure, diagnosticEvents: events });
    assert.equal(told.code, "invalid_request");
    assert.match(told.message, /because another transaction changed its entries; prepare again/);
    const silent = await refusals.ofFailure(CALL, { ...failure, diagnosticEvents: [] });
    assert.deepEqual([silent.code, silent.transactionError], ["contract_refused", "invokeHostFunctionTrapped"]);
    assert.match(silent.message, /failed in ledger 7 .* does not say why/);
  });

  test("in a ledger is reported, even with unreadable diagnostic events", async () => {
    const failure = { hash: "ab", ledger: 7, code: "invokeHostFunctionTrapped", diagnosticEvents: ["AAAA"] };
    const told = await refusals.ofFailure(CALL, failure);
    assert.deepEqual([told.code, told.transactionError], ["contract_refused", "invokeHostFunctionTrapped"]);
  });
});
