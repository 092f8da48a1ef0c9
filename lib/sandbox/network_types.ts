/**
 * The sandbox network as its RPC server sees it: everything between an envelope and a closed ledger, without HTTP or
 * JSON. XDR is bytes here; hashes and ids are lower-case hex.
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
  /** 1-based place within its ledger. */
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
  /** 19-digit TOID, a hyphen, 10-digit index: sorts as text. */
  id: string;
  operationIndex: number;
  /** 1-based, as the real node answers it. */
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
  /** LedgerEntry, undefined when it is deleted. */
  afterXdr?: Uint8Array;
}

export type AuthMode = "enforce" | "record" | "record_allow_nonroot";

export type SimulateOutcome =
  /** `error` is the text a real node answers in `result.error`. */
  | { ok: false; error: string; diagnosticEventsXdr: Uint8Array[] }
  | {
    ok: true;
    /** SorobanTransactionData. */
    transactionDataXdr: Uint8Array;
    minResourceFee: bigint;
    /** ScVal and SorobanAuthorizationEntry each; undefined for extend and restore. */
    result?: { valueXdr: Uint8Array; authXdr: Uint8Array[] };
    /** SorobanTransactionData of the restore that has to come first, only for an extend of archived entries. */
    restorePreamble?: { transactionDataXdr: Uint8Array; minResourceFee: bigint };
    diagnosticEventsXdr: Uint8Array[];
    stateChanges: StateChange[];
  };

/** XDR types that an RPC server answers. */
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
  /** Inclusion fees per operation charged in the last ledgers, stroops, oldest first, of Soroban and of classic transactions. */
  soroban: { ledger: number; fee: bigint }[];
  classic: { ledger: number; fee: bigint }[];
}

/** By how much to move a network's time: exactly one of them. */
export type Advance = { seconds: number; ledgers?: undefined } | { ledgers: number; seconds?: undefined };

/** The address has at least the starting balance. */
export class AlreadyFunded extends Error {
  override name = "AlreadyFunded";

  constructor(address: string) {
    super(`${address} is already funded to the starting balance`);
  }
}

export interface Network {
  readonly passphrase: string;
  readonly protocolVersion: number;
  /** Time between ledgers; 0: a transaction's ledger closes at once. */
  readonly ledgerMs: number;
  latestLedger(): ClosedLedger;
  oldestLedger(): ClosedLedger;
  /** A held ledger, undefined when it is not (or not yet) held. */
  ledger(sequence: number): ClosedLedger | undefined;
  /** How many ledgers back transactions and events are kept. */
  readonly retentionLedgers: number;
  /** The entry with this LedgerKey XDR as of the latest ledger; expired temporary ones until they are evicted. */
  entry(keyXdr: Uint8Array): HeldEntry | undefined;
  /** Runs the envelope's one Soroban operation on a snapshot. Throws a plain Error for an envelope that is not XDR. */
  simulate(
    envelopeXdr: Uint8Array,
    options: { authMode?: AuthMode; instructionLeeway?: number; useUpgradedAuth?: boolean },
  ): SimulateOutcome;
  /** The JSON (SEP-51) of each value, as text. Throws for what is not of that type. */
  xdrToJson(type: XdrType, values: Uint8Array[]): string[];
  /** Checks an envelope as a validator does and queues it for the next ledger. Throws a plain Error for what is not XDR. */
  submit(envelopeXdr: Uint8Array): SubmitOutcome;
  transaction(hash: string): AppliedTransaction | undefined;
  /** Transactions of the held ledgers in order, starting after the place (ledger, applicationOrder), at most `limit`. */
  transactionsAfter(ledger: number, applicationOrder: number, limit: number): AppliedTransaction[];
  /** Events ascending by id with id > `afterId` and ledger ≤ `lastLedger`, lazily; cheap to start anywhere. */
  eventsAfter(afterId: string, lastLedger: number): Iterable<NetworkEvent>;
  fees(): NetworkFees;
  /**
   * Queues a payment of the starting balance to an account, new or not, or a contract; resolves with the transaction once
   * its ledger has closed. Rejects with `AlreadyFunded` when the address has as much or more.
   */
  fund(address: string): Promise<AppliedTransaction>;
  /** Closes a ledger now, with what is queued. */
  closeLedger(): ClosedLedger;
  /** The network's clock, Unix ms: the machine's, and as far ahead of it as time has been moved. */
  now(): number;
  /**
   * Moves the network's time, and closes the ledgers that would have closed until then, the first with what is queued.
   * Answers the last of them.
   * @throws {RangeError} when it would be too many
   */
  advance(by: Advance): ClosedLedger;
  /** Names of the snapshots, oldest first. */
  snapshots(): string[];
  /**
   * Remembers the ledger as it is now under this name, until the network stops; one of the same name is replaced.
   * @throws {RangeError} when there are too many
   */
  snapshot(name: string): ClosedLedger;
  /**
   * Goes back to a snapshot: entries, ledgers, transactions, events and clock are as they were then; what is queued and
   * the snapshots taken since are gone. Closes a ledger and answers it.
   * @throws {RangeError} when there is no such snapshot
   */
  revert(name: string): ClosedLedger;
  /** The ledgers to which it has gone back, in the order in which it has. */
  reverts(): readonly number[];
  /** There on a network that goes on from another one: reads what it lacks of that. */
  readonly fork?: {
    /**
     * Runs what changes nothing until it finds all that it asks for, and answers its last result. Rejects when the other
     * network cannot be read.
     */
    complete<T>(run: () => T): Promise<T>;
    /** Applies an envelope as the next ledger would, to no effect. Throws a plain Error for what is not XDR. */
    tryOut(envelopeXdr: Uint8Array): void;
  };
  /** Stops the timer and writes what is to be kept. */
  stop(): Promise<void>;
}
