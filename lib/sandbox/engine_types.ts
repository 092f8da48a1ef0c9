/** Requests and answers of the engine. Structured values are XDR bytes. */

/** A LedgerEntry. `liveUntilLedger` is 0 for entries that never expire (classic ones, settings). */
export interface StoredEntry {
  entry: Uint8Array;
  liveUntilLedger: number;
}

/**
 * Looks up a LedgerKey, including archived and expired entries. The host waits for it. The key is in the engine's memory and
 * valid until the call returns.
 */
export type ReadEntry = (key: Uint8Array) => StoredEntry | undefined;

/** The ledger in progress; `closeTime` in Unix seconds, `baseReserve` in stroops. */
export interface LedgerHeader {
  protocolVersion: number;
  sequence: number;
  closeTime: number;
  baseReserve: number;
  networkId: Uint8Array;
}

/** `enforce` checks `auth` as a ledger does. The others record the needed entries, the last one also below the root call. */
export type AuthMode = "enforce" | "record" | "record_allow_nonroot";

export interface SimulateInvokeRequest {
  hostFunction: Uint8Array;
  /** AccountId. */
  sourceAccount: Uint8Array;
  authMode: AuthMode;
  /** Record `SOROBAN_CREDENTIALS_ADDRESS_V2`. Default: `SOROBAN_CREDENTIALS_ADDRESS`. */
  addressV2?: boolean;
  /** Instructions added to the simulated ones; default and minimum 50,000. */
  instructionLeeway?: number;
  /** 32 bytes. */
  prngSeed: Uint8Array;
  /** SorobanAuthorizationEntry each, used only with `enforce`. */
  auth?: Uint8Array[];
}

/** `error` is a real node's text, empty on success. With an error all but the diagnostic events is empty. */
export interface Simulation {
  error: string;
  returnValue: Uint8Array;
  transactionData: Uint8Array;
  instructions: bigint;
  memoryBytes: bigint;
  auth: Uint8Array[];
  contractEvents: Uint8Array[];
  diagnosticEvents: Uint8Array[];
  /** Every written entry; `before` or `after` is empty where there is none. */
  stateChanges: { key: Uint8Array; before: Uint8Array; after: Uint8Array }[];
}

export interface FootprintSimulation {
  /** The reason why `transactionData` is missing, else empty. */
  error: string;
  transactionData: Uint8Array;
  /** SorobanTransactionData of the RestoreFootprint that must come first (`restorePreamble`), else empty. */
  restoreTransactionData: Uint8Array;
}

/** The declaration of a Soroban transaction. `transactionSizeBytes` is the size of its envelope; of the inner one in a fee bump. */
export interface DeclaredResources {
  transactionData: Uint8Array;
  transactionSizeBytes: number;
}

/** `malformed` is txMALFORMED, `soroban_invalid` txSOROBAN_INVALID, `operation_invalid` txFAILED with a MALFORMED operation. */
export type Verdict = "valid" | "malformed" | "soroban_invalid" | "operation_invalid";

export interface ResourceCheck {
  verdict: Verdict;
  error: string;
  diagnosticEvents: Uint8Array[];
  /** In stroops. The rest of the declared resource fee is refundable. */
  nonRefundableFee: bigint;
}

export interface ApplyInvokeRequest extends DeclaredResources {
  hostFunction: Uint8Array;
  /** AccountId. */
  sourceAccount: Uint8Array;
  /** 32 bytes. */
  prngSeed: Uint8Array;
  /** SorobanAuthorizationEntry each. */
  auth: Uint8Array[];
}

/** The operation's result code. `internal_error` is a failure of the host, which makes the transaction txINTERNAL_ERROR. */
export type ApplyOutcome =
  | "success"
  | "trapped"
  | "resource_limit_exceeded"
  | "entry_archived"
  | "insufficient_refundable_fee"
  | "internal_error";

export interface EntryChange {
  key: Uint8Array;
  /** With `written`, `entry` is the new content, which may equal the old. With `ttl` only `liveUntilLedger` grows. */
  kind: "removed" | "written" | "ttl";
  /** Whether an archived entry was restored first. */
  restored: boolean;
  entry: Uint8Array;
  liveUntilLedger: number;
}

/** The result of an operation, with fees in stroops. A failure changes nothing and consumes no refundable fee (`eventsFee`, `rentFee`). */
export interface Applied {
  outcome: ApplyOutcome;
  error: string;
  returnValue: Uint8Array;
  instructions: bigint;
  memoryBytes: bigint;
  nonRefundableFee: bigint;
  eventsFee: bigint;
  rentFee: bigint;
  contractEvents: Uint8Array[];
  /** Events of the host, then those of stellar-core: errors and `core_metrics`. */
  diagnosticEvents: Uint8Array[];
  changes: EntryChange[];
}
