/**
 * The interface between the sandbox network and its RPC server. It has no HTTP and no JSON: XDR is bytes, and hashes and ids
 * are lower-case hex.
 */

export interface ClosedLedger {
  sequence: number;
  /** Unix seconds. */
  closeTime: number;
  /** Hash of the header, hex. */
  hash: string;
  /** LedgerHeaderHistoryEntry. */
  headerXdr: Uint8Array;
  /** LedgerCloseMeta. */
  metadataXdr: Uint8Array;
}

export interface AppliedTransaction {
  /** Hash of the outer transaction. */
  hash: string;
  ledger: number;
  /** Close time of that ledger, Unix seconds. */
  createdAt: number;
  /** 1-based position within its ledger. */
  applicationOrder: number;
  feeBump: boolean;
  successful: boolean;
  envelopeXdr: Uint8Array;
  /** TransactionResult. */
  resultXdr: Uint8Array;
  /** TransactionMeta (V4). */
  resultMetaXdr: Uint8Array;
  /** DiagnosticEvent each. */
  diagnosticEventsXdr: Uint8Array[];
  /** TransactionEvent each (fee events). */
  transactionEventsXdr: Uint8Array[];
  /** ContractEvent, by operation. */
  contractEventsXdr: Uint8Array[][];
}

export interface NetworkEvent {
  type: "contract" | "system";
  ledger: number;
  /** Unix seconds. */
  closeTime: number;
  /** `C…`, empty when the event has none. */
  contractId: string;
  /** 19-digit TOID, a hyphen, 10-digit index. Ids sort as text. */
  id: string;
  operationIndex: number;
  /** 1-based, as at the real node. */
  transactionIndex: number;
  txHash: string;
  inSuccessfulContractCall: boolean;
  /** ScVal each. */
  topicsXdr: Uint8Array[];
  valueXdr: Uint8Array;
}

export interface HeldEntry {
  /** LedgerEntryData. */
  dataXdr: Uint8Array;
  /** LedgerEntryExt. */
  extXdr: Uint8Array;
  lastModifiedLedger: number;
  /** Undefined for entries without a TTL. */
  liveUntilLedger?: number;
}

export type SubmitOutcome =
  | { status: "PENDING" | "DUPLICATE" | "TRY_AGAIN_LATER"; hash: string }
  /** TransactionResult and DiagnosticEvents. */
  | { status: "ERROR"; hash: string; resultXdr: Uint8Array; diagnosticEventsXdr: Uint8Array[] };

export interface StateChange {
  /** LedgerKey. */
  keyXdr: Uint8Array;
  /** LedgerEntry, undefined when it did not exist. */
  beforeXdr?: Uint8Array;
  /** LedgerEntry, undefined when the change deletes it. */
  afterXdr?: Uint8Array;
}

export type AuthMode = "enforce" | "record" | "record_allow_nonroot";

export type SimulateOutcome =
  /** `error` is the text of `result.error` at a real node. */
  | { ok: false; error: string; diagnosticEventsXdr: Uint8Array[] }
  | {
    ok: true;
    /** SorobanTransactionData. */
    transactionDataXdr: Uint8Array;
    minResourceFee: bigint;
    /** ScVal and SorobanAuthorizationEntry each; undefined for extend and restore. */
    result?: { valueXdr: Uint8Array; authXdr: Uint8Array[] };
    /** SorobanTransactionData of the restore that must come first, only for an extend of archived entries. */
    restorePreamble?: { transactionDataXdr: Uint8Array; minResourceFee: bigint };
    diagnosticEventsXdr: Uint8Array[];
    stateChanges: StateChange[];
  };

/** XDR types in the answers of an RPC server. */
export type XdrType =
  | "ContractEvent"
  | "DiagnosticEvent"
  | "LedgerCloseMeta"
  | "LedgerEntry"
  | "LedgerEntryData"
  | "LedgerEntryExt"
  | "LedgerHeader"
  | "LedgerHeaderHistoryEntry"
  | "LedgerKey"
  | "ScVal"
  | "SorobanAuthorizationEntry"
  | "SorobanTransactionData"
  | "TransactionEnvelope"
  | "TransactionEvent"
  | "TransactionMeta"
  | "TransactionResult";

export interface NetworkFees {
  /** Inclusion fees per operation in the last ledgers, in stroops, oldest first, for Soroban and classic transactions. */
  soroban: { ledger: number; fee: bigint }[];
  classic: { ledger: number; fee: bigint }[];
}

/** How far to move a network, in one of both units. With `keepTime` the ledgers close without moving the clock. */
export type Advance =
  | { seconds: number; ledgers?: undefined; keepTime?: undefined }
  | { ledgers: number; seconds?: undefined; keepTime?: boolean };

/** The address already has the starting balance or more. */
export class AlreadyFunded extends Error {
  override name = "AlreadyFunded";

  constructor(address: string) {
    super(`${address} is already funded to the starting balance`);
  }
}

/** An entry of the forked network that changed after the fork's ledger. */
export interface LaterEntry {
  /** LedgerKey as JSON (SEP-51). */
  key: unknown;
  /** The other network's ledger of the change. */
  ledger: number;
}

export interface Network {
  readonly passphrase: string;
  readonly protocolVersion: number;
  /** Milliseconds between ledgers. With 0 a transaction's ledger closes at once. */
  readonly ledgerMs: number;
  latestLedger(): ClosedLedger;
  oldestLedger(): ClosedLedger;
  /** A ledger, undefined when the network does not hold it, or not yet. */
  ledger(sequence: number): ClosedLedger | undefined;
  /** How many ledgers of transactions and events the network stores. */
  readonly retentionLedgers: number;
  /** The entry of this LedgerKey as of the latest ledger. An expired temporary entry stays until its eviction. */
  entry(keyXdr: Uint8Array): HeldEntry | undefined;
  /**
   * Runs the envelope's only Soroban operation on a snapshot.
   * @throws {Error} for an envelope that is not XDR
   */
  simulate(
    envelopeXdr: Uint8Array,
    options: { authMode?: AuthMode; instructionLeeway?: number; useUpgradedAuth?: boolean },
  ): SimulateOutcome;
  /**
   * The JSON (SEP-51) of each value, as text.
   * @throws {Error} for a value of another type
   */
  xdrToJson(type: XdrType, values: Uint8Array[]): string[];
  /**
   * Checks an envelope as a validator does and queues it for the next ledger.
   * @throws {Error} for an envelope that is not XDR
   */
  submit(envelopeXdr: Uint8Array): SubmitOutcome;
  transaction(hash: string): AppliedTransaction | undefined;
  /** At most `limit` transactions in order, after the position (ledger, applicationOrder). */
  transactionsAfter(ledger: number, applicationOrder: number, limit: number): AppliedTransaction[];
  /** Events ascending by id with id > `afterId` and ledger ≤ `lastLedger`, lazily. The start is cheap at any id. */
  eventsAfter(afterId: string, lastLedger: number): Iterable<NetworkEvent>;
  fees(): NetworkFees;
  /**
   * Queues a payment to an account, which may be new, or to a contract. Resolves with the transaction once its ledger has
   * closed.
   * @param stroops the starting balance when absent
   * @throws {AlreadyFunded} when `stroops` is absent and the address has the starting balance or more
   */
  fund(address: string, stroops?: bigint): Promise<AppliedTransaction>;
  /** Closes a ledger now, with the queued transactions. */
  closeLedger(): ClosedLedger;
  /** The network's clock, Unix ms: the machine's clock plus the advances. */
  now(): number;
  /**
   * Moves the network's time and closes the ledgers of that time, the first with the queued transactions. Returns the last.
   * @throws {RangeError} for too many ledgers
   */
  advance(by: Advance): ClosedLedger;
  /** The snapshots and their ledgers, oldest first. */
  snapshots(): { name: string; ledger: number }[];
  /** @throws {RangeError} for an unknown snapshot */
  dropSnapshot(name: string): void;
  /**
   * Saves the ledger under this name until the network stops. A snapshot of the same name is replaced.
   * @throws {RangeError} for too many snapshots
   */
  snapshot(name: string): ClosedLedger;
  /**
   * Restores entries, ledgers, transactions, events and clock of a snapshot. Drops the queue and later snapshots. Closes a
   * ledger and returns it.
   * @throws {RangeError} for an unknown snapshot
   */
  revert(name: string): ClosedLedger;
  /** The ledgers of all reverts, in order. */
  reverts(): readonly number[];
  /** From now on this account (`G…`) acts without signatures, until `stopImpersonating` or the end of the process. */
  impersonate(address: string): void;
  /** Returns whether the account was impersonated. */
  stopImpersonating(address: string): boolean;
  impersonated(): string[];
  /** On a fork: reads missing entries from the other network. */
  readonly fork?: {
    /** The ledger of the other network that the fork continues. */
    readonly ledger: number;
    /** The entries that were read and had changed since that ledger, in order of their reads. */
    laterEntries(): readonly LaterEntry[];
    /**
     * Repeats `run`, which must change nothing, until no entry is missing. Returns its last result.
     * @throws {RemoteError} when the other network cannot be read
     */
    complete<T>(run: () => T): Promise<T>;
    /**
     * Applies an envelope as the next ledger would, and drops the result.
     * @throws {Error} for an envelope that is not XDR
     */
    tryOut(envelopeXdr: Uint8Array): void;
  };
  /** Stops the timer and closes the state file. */
  stop(): Promise<void>;
}
