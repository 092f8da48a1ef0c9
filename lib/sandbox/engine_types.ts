/** What goes into the engine and comes out of it. Structured values are XDR bytes. */

/** A LedgerEntry; `liveUntilLedger` is 0 for entries that never expire (classic ones, settings). */
export interface StoredEntry {
  entry: Uint8Array;
  liveUntilLedger: number;
}

/**
 * Looks a LedgerKey up, archived and expired entries too. The host waits for it, so it must be quick. The key lies in the
 * engine's memory: it is good until the call returns.
 */
export type ReadEntry = (key: Uint8Array) => StoredEntry | undefined;

/** The ledger that is being built; `closeTime` in Unix seconds, `baseReserve` in stroops. */
export interface LedgerHeader {
  protocolVersion: number;
  sequence: number;
  closeTime: number;
  baseReserve: number;
  networkId: Uint8Array;
}

/** `enforce` checks `auth` as a ledger would; the others record what is needed, the last one below the root invocation too. */
export type AuthMode = "enforce" | "record" | "record_allow_nonroot";

export interface SimulateInvokeRequest {
  hostFunction: Uint8Array;
  /** AccountId. */
  sourceAccount: Uint8Array;
  authMode: AuthMode;
  /** Record `SOROBAN_CREDENTIALS_ADDRESS_V2`. Default: `SOROBAN_CREDENTIALS_ADDRESS`. */
  addressV2?: boolean;
  /** Instructions added to the simulated ones; default and least 50,000. */
  instructionLeeway?: number;
  /** 32 bytes. */
  prngSeed: Uint8Array;
  /** SorobanAuthorizationEntry each; looked at only with `enforce`. */
  auth?: Uint8Array[];
}

/** `error` is the text a real node answers, empty when it worked; the rest is then empty, diagnostic events excepted. */
export interface Simulation {
  error: string;
  returnValue: Uint8Array;
  transactionData: Uint8Array;
  instructions: bigint;
  memoryBytes: bigint;
  auth: Uint8Array[];
  contractEvents: Uint8Array[];
  diagnosticEvents: Uint8Array[];
  /** Every entry that is written; `before` or `after` is empty where there is none. */
  stateChanges: { key: Uint8Array; before: Uint8Array; after: Uint8Array }[];
}

export interface FootprintSimulation {
  /** Why there is no `transactionData`, else empty. */
  error: string;
  transactionData: Uint8Array;
  /** SorobanTransactionData of the RestoreFootprint that has to come first (`restorePreamble`); empty: none. */
  restoreTransactionData: Uint8Array;
}

/** What every Soroban transaction declares; `transactionSizeBytes` is its envelope's, the inner one's in a fee bump. */
export interface DeclaredResources {
  transactionData: Uint8Array;
  transactionSizeBytes: number;
}

/** `malformed`: txMALFORMED; `soroban_invalid`: txSOROBAN_INVALID; `operation_invalid`: txFAILED, the operation MALFORMED. */
export type Verdict = "valid" | "malformed" | "soroban_invalid" | "operation_invalid";

export interface ResourceCheck {
  verdict: Verdict;
  error: string;
  diagnosticEvents: Uint8Array[];
  /** In stroops; what the declared resource fee leaves is the refundable part. */
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

/** The operation's result code; `internal_error` is the host's own failure, the transaction is then txINTERNAL_ERROR. */
export type ApplyOutcome =
  | "success"
  | "trapped"
  | "resource_limit_exceeded"
  | "entry_archived"
  | "insufficient_refundable_fee"
  | "internal_error";

export interface EntryChange {
  key: Uint8Array;
  /** `removed`; `written`: `entry` is the new content, perhaps the old one; `ttl`: only `liveUntilLedger` grows. */
  kind: "removed" | "written" | "ttl";
  /** The entry was archived and has been restored first. */
  restored: boolean;
  entry: Uint8Array;
  liveUntilLedger: number;
}

/** Fees in stroops. A failure changes nothing and consumes no refundable fee (`eventsFee`, `rentFee`). */
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
  /** Those of the host, then stellar-core's own: errors and `core_metrics`. */
  diagnosticEvents: Uint8Array[];
  changes: EntryChange[];
}
