import type { Engine, LedgerHeader } from "../engine.ts";
import type { Envelope } from "./envelopes.ts";
import type { Impersonation } from "./impersonation.ts";
import type { OperationMeta, SorobanMeta } from "./meta.ts";
import { feeBumpResult, transactionResult, type Verdict } from "./results.ts";
import type { SignatureRules } from "./signatures.ts";
import type { CheckResources } from "./soroban_checks.ts";
import type { LedgerChanges } from "./state.ts";

/** The ledger in progress. */
export interface ClosingLedger {
  engine: Engine;
  header: LedgerHeader;
  /** All changes of this ledger so far. */
  changes: LedgerChanges;
  checkResources: CheckResources;
  signatureRules: SignatureRules;
  impersonation: Impersonation;
  /** Contract id of the native asset. */
  nativeAsset: Uint8Array;
  /** Seeds the random numbers of contracts. */
  txSetHash: Uint8Array;
  /** Called for a fault of the network that failed a transaction. */
  onInternalError: (error: unknown) => void;
}

/** A transaction while a ledger applies it: fee, operations, refund. Lists of changes are LedgerEntryChanges. */
export interface Application {
  envelope: Envelope;
  /** Stroops charged so far. */
  feeCharged: bigint;
  feeChanges: Uint8Array[];
  changesBefore: Uint8Array[];
  operations: OperationMeta[];
  verdict: Verdict;
  soroban?: SorobanMeta;
  diagnosticEventsXdr: Uint8Array[];
  /** ContractEvent of the fee. */
  feeEventXdr: Uint8Array;
  /** ContractEvent of the refund. */
  refundEventXdr?: Uint8Array;
  refundChanges: Uint8Array[];
}

/** TransactionResult of a complete application. */
export function resultOf({ envelope, feeCharged, verdict }: Application): Uint8Array {
  return envelope.feeBump
    ? feeBumpResult(feeCharged, envelope.inner.hash, verdict)
    : transactionResult(feeCharged, verdict);
}
