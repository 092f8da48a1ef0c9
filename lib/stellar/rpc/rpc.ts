/**
 * What the gateway asks of a Stellar RPC node, in the shapes of its JSON-RPC protocol (64-bit numbers are strings, XDR
 * is base64). Every method rejects with a `GatewayError` `upstream_error` when the node is down, slow or answers
 * nonsense, and with an `RpcError` when it answers with a JSON-RPC error object.
 */
export interface RpcClient {
  getHealth(options?: CallOptions): Promise<Health>;
  getNetwork(options?: CallOptions): Promise<{ passphrase: string; protocolVersion: number; friendbotUrl?: string }>;
  getLatestLedger(
    options?: CallOptions,
  ): Promise<{ sequence: number; id: string; protocolVersion: number; closeTime?: number }>;
  getFeeStats(options?: CallOptions): Promise<FeeStats>;
  /** At most 200 keys (base64 LedgerKey XDR) at a call; absent ones are missing from the answer. */
  getLedgerEntries(keys: string[], options?: CallOptions): Promise<{ latestLedger: number; entries: RawLedgerEntry[] }>;
  simulateTransaction(envelope: string, options?: CallOptions): Promise<RawSimulation>;
  sendTransaction(envelope: string, options?: CallOptions): Promise<SendAnswer>;
  getTransaction(hash: string, options?: CallOptions): Promise<TransactionAnswer>;
  getEvents(request: EventsRequest, options?: CallOptions): Promise<EventsAnswer>;
}

export interface CallOptions {
  /** Whole time for the call; the client's own time-out when absent. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** The node answered with a JSON-RPC error object. */
export class RpcError extends Error {
  constructor(readonly method: string, readonly code: number, message: string) {
    super(message);
    this.name = "RpcError";
  }
}

export interface Health {
  status: string;
  latestLedger: number;
  oldestLedger: number;
  ledgerRetentionWindow: number;
  /** Unix seconds; older nodes do not say. */
  latestLedgerCloseTime?: number;
}

export interface FeeDistribution {
  max: string;
  min: string;
  mode: string;
  p50: string;
  p90: string;
  p95: string;
  p99: string;
}

export interface FeeStats {
  sorobanInclusionFee: FeeDistribution;
  inclusionFee: FeeDistribution;
  latestLedger: number;
}

export interface RawLedgerEntry {
  key: string;
  /** LedgerEntryData. */
  xdr: string;
  lastModifiedLedgerSeq: number;
  liveUntilLedgerSeq?: number;
}

/** Success has `transactionData`; failure has `error`. Kept loose enough for the SDK's `assembleTransaction`. */
export interface RawSimulation {
  latestLedger: number;
  error?: string;
  /** Base64 DiagnosticEvent. */
  events?: string[];
  transactionData?: string;
  minResourceFee?: string;
  results?: { xdr: string; auth?: string[] }[];
  stateChanges?: unknown[];
  restorePreamble?: { minResourceFee: string; transactionData: string };
}

export interface SendAnswer {
  status: "PENDING" | "DUPLICATE" | "TRY_AGAIN_LATER" | "ERROR";
  hash: string;
  latestLedger: number;
  latestLedgerCloseTime: number;
  errorResultXdr?: string;
  diagnosticEventsXdr?: string[];
}

export interface TransactionAnswer {
  status: "SUCCESS" | "FAILED" | "NOT_FOUND";
  latestLedger: number;
  latestLedgerCloseTime: number;
  oldestLedger: number;
  /** Unix seconds; older nodes do not say. */
  oldestLedgerCloseTime?: number;
  ledger?: number;
  createdAt?: number;
  envelopeXdr?: string;
  resultXdr?: string;
  resultMetaXdr?: string;
  diagnosticEventsXdr?: string[];
  events?: { diagnosticEventsXdr?: string[]; transactionEventsXdr?: string[]; contractEventsXdr?: string[][] };
}

export interface EventsRequest {
  /** Either this (inclusive) or `cursor`. */
  startLedger?: number;
  cursor?: string;
  contractIds: string[];
  limit: number;
}

export interface RawEvent {
  type: string;
  ledger: number;
  ledgerClosedAt: string;
  contractId: string;
  id: string;
  txHash: string;
  /** Base64 ScVal each. */
  topic: string[];
  /** Base64 ScVal. */
  value: string;
  operationIndex?: number;
  transactionIndex?: number;
  inSuccessfulContractCall?: boolean;
}

export interface EventsAnswer {
  events: RawEvent[];
  cursor: string;
  latestLedger: number;
  oldestLedger?: number;
  latestLedgerCloseTime?: number;
  oldestLedgerCloseTime?: number;
}
