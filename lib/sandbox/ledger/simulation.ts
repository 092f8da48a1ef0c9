import { xdr } from "@stellar/stellar-sdk";
import { EngineRefusal, EngineTrap, type FootprintSimulation, type Simulation } from "../engine.ts";
import type { Network, SimulateOutcome } from "../network_types.ts";
import { keyOf } from "./bytes.ts";
import { engineHeader, type Validator } from "./close.ts";
import { parseEnvelope } from "./envelopes.ts";
import type { LedgerTip } from "./headers.ts";
import { operationSource } from "./operation_checks.ts";
import { invocation } from "./soroban_operations.ts";

type SimulateOptions = Parameters<Network["simulate"]>[1];

const failed = (error: string, diagnosticEventsXdr: Uint8Array[] = []): SimulateOutcome => {
  return { ok: false, error, diagnosticEventsXdr };
};

/** Runs the only Soroban operation of an envelope on the closed ledger, with its number and close time. */
export function simulate(
  validator: Validator,
  tip: LedgerTip,
  envelopeXdr: Uint8Array,
  options: SimulateOptions & { prngSeed: Uint8Array },
): SimulateOutcome {
  const { inner } = parseEnvelope(envelopeXdr, validator.networkId);
  const [operation, another] = inner.tx.operations;
  if (!operation || another) return failed("Transaction must contain exactly one operation");
  const header = { ...engineHeader(validator, tip, tip.closeTime), sequence: tip.sequence };
  const footprint = inner.sorobanData?.resources.footprint;
  const encode = (keys: xdr.LedgerKey[] = []) => keys.map((key) => key.toXdr());
  try {
    switch (operation.body.type) {
      case "invokeHostFunction": {
        const { body } = operation;
        const { impersonation } = validator;
        const source = operationSource(inner, operation);
        const call = invocation(body.invokeHostFunctionOp, body.toXdr(), { source, impersonation, header });
        const authMode = options.authMode ?? (call.auth.length > 0 ? "enforce" : "record");
        return ofInvocation(
          validator,
          validator.engine.simulateInvoke(header, {
            ...call,
            authMode,
            addressV2: options.useUpgradedAuth ?? false,
            prngSeed: options.prngSeed,
            ...(options.instructionLeeway !== undefined && { instructionLeeway: options.instructionLeeway }),
          }),
        );
      }
      case "extendFootprintTtl": {
        const { extendTo } = operation.body.extendFootprintTtlOp;
        return ofFootprint(validator.engine.simulateExtend(header, encode(footprint?.readOnly), extendTo));
      }
      case "restoreFootprint":
        return ofFootprint(validator.engine.simulateRestore(header, encode(footprint?.readWrite)));
      default:
        return failed("Transaction contains unsupported operation type: " + operation.body.type);
    }
  } catch (error) {
    if (error instanceof EngineTrap || error instanceof EngineRefusal) return failed(error.message);
    throw error;
  }
}

function minResourceFee(transactionDataXdr: Uint8Array): bigint {
  return xdr.SorobanTransactionData.fromXdr(transactionDataXdr).resourceFee;
}

function ofInvocation({ state, impersonation }: Validator, simulation: Simulation): SimulateOutcome {
  const { error, transactionData, returnValue, auth, diagnosticEvents, stateChanges } = simulation;
  if (error) return failed(error, diagnosticEvents);
  return {
    ok: true,
    transactionDataXdr: transactionData,
    minResourceFee: minResourceFee(transactionData),
    result: { valueXdr: returnValue, authXdr: auth },
    diagnosticEventsXdr: diagnosticEvents,
    stateChanges: stateChanges.map(({ key, before, after }) => {
      const name = keyOf(key);
      const present = (entry: Uint8Array) =>
        entry.length > 0 ? impersonation.kept(name, entry, state.get(name)) : undefined;
      const [beforeXdr, afterXdr] = [present(before), present(after)];
      return { keyXdr: key, ...(beforeXdr && { beforeXdr }), ...(afterXdr && { afterXdr }) };
    }),
  };
}

function ofFootprint({ error, transactionData, restoreTransactionData }: FootprintSimulation): SimulateOutcome {
  if (error) return failed(error);
  const preamble = restoreTransactionData.length > 0 && {
    restorePreamble: {
      transactionDataXdr: restoreTransactionData,
      minResourceFee: minResourceFee(restoreTransactionData),
    },
  };
  return {
    ok: true,
    transactionDataXdr: transactionData,
    minResourceFee: minResourceFee(transactionData),
    ...preamble,
    diagnosticEventsXdr: [],
    stateChanges: [],
  };
}
