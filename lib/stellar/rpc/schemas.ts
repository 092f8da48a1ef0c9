import { z } from "zod";
import { MAX_LEDGER, MAX_UINT32 } from "../../ledger_numbers.ts";

/**
 * Schemas and types of the fields that the gateway needs of each answer. Unknown fields stay. 64-bit numbers may be
 * strings or numbers, and Go's nil slices null. XDR is base64. Close times are Unix seconds, which older nodes leave
 * out of some answers.
 */

const uint32 = z.number().int().min(0).max(MAX_UINT32);
/** Ledger sequences are signed 32-bit in ids and cursors (SEP-35). Failed simulations carry 0. */
const ledger = z.number().int().min(0).max(MAX_LEDGER);
const seconds = z.union([z.number(), z.string().regex(/^-?\d{1,15}$/)]).transform(Number)
  .refine((value) => Number.isSafeInteger(value) && value >= 0);
const version = z.union([z.number(), z.string().regex(/^\d{1,9}$/)]).transform(Number);
const amount = z.union([z.string().regex(/^\d{1,20}$/), z.number().int().min(0)]).transform(String);
const hash = z.string().regex(/^[0-9a-f]{64}$/);
const base64 = z.string();
const list = <T extends z.ZodType>(item: T) => z.array(item).nullish().transform((value) => value ?? []);
const optionalList = <T extends z.ZodType>(item: T) => z.array(item).nullish().transform((value) => value ?? undefined);
const optional = <T extends z.ZodType>(item: T) => item.nullish().transform((value) => value ?? undefined);

const fees = z.looseObject({
  max: amount,
  min: amount,
  mode: amount,
  p50: amount,
  p90: amount,
  p95: amount,
  p99: amount,
});

export const health = z.looseObject({
  status: z.string(),
  latestLedger: ledger,
  oldestLedger: ledger,
  ledgerRetentionWindow: uint32,
  latestLedgerCloseTime: optional(seconds),
  oldestLedgerCloseTime: optional(seconds),
});

export const network = z.looseObject({
  passphrase: z.string(),
  protocolVersion: version,
  friendbotUrl: optional(z.string()),
});

export const latestLedger = z.looseObject({
  sequence: ledger,
  id: z.string(),
  protocolVersion: version,
  closeTime: optional(seconds),
});

export const feeStats = z.looseObject({ sorobanInclusionFee: fees, inclusionFee: fees, latestLedger: ledger });

export const ledgerEntries = z.looseObject({
  latestLedger: ledger,
  entries: list(z.looseObject({
    key: base64,
    xdr: base64,
    lastModifiedLedgerSeq: uint32,
    liveUntilLedgerSeq: optional(uint32),
  })),
});

export const simulation = z.looseObject({
  latestLedger: ledger,
  error: optional(z.string()),
  events: optionalList(base64),
  transactionData: optional(base64),
  minResourceFee: optional(amount),
  results: optionalList(z.looseObject({ xdr: base64, auth: optionalList(base64) })),
  stateChanges: optionalList(z.unknown()),
  restorePreamble: optional(z.looseObject({ minResourceFee: amount, transactionData: base64 })),
}).refine((value) => value.error !== undefined || value.transactionData !== undefined, {
  message: "neither error nor transactionData",
});

export const sendAnswer = z.looseObject({
  status: z.enum(["PENDING", "DUPLICATE", "TRY_AGAIN_LATER", "ERROR"]),
  hash,
  latestLedger: ledger,
  latestLedgerCloseTime: seconds,
  errorResultXdr: optional(base64),
  diagnosticEventsXdr: optionalList(base64),
});

export const transactionAnswer = z.looseObject({
  status: z.enum(["SUCCESS", "FAILED", "NOT_FOUND"]),
  latestLedger: ledger,
  latestLedgerCloseTime: seconds,
  oldestLedger: ledger,
  oldestLedgerCloseTime: optional(seconds),
  ledger: optional(ledger),
  createdAt: optional(seconds),
  envelopeXdr: optional(base64),
  resultXdr: optional(base64),
  diagnosticEventsXdr: optionalList(base64),
}).refine((value) => value.status === "NOT_FOUND" || value.ledger !== undefined, { message: "no ledger" });

export const transactionsAnswer = z.looseObject({
  latestLedger: ledger,
  transactions: list(z.looseObject({
    status: z.enum(["SUCCESS", "FAILED"]),
    txHash: hash,
    envelopeXdr: optional(base64),
    resultMetaXdr: optional(base64),
    diagnosticEventsXdr: optionalList(base64),
    events: optional(z.looseObject({ contractEventsXdr: optionalList(z.array(base64)) })),
  })),
});

export const eventsAnswer = z.looseObject({
  events: list(z.looseObject({
    type: z.string(),
    ledger,
    ledgerClosedAt: z.string(),
    contractId: z.string(),
    id: z.string(),
    txHash: z.string(),
    topic: list(base64),
    value: base64,
    operationIndex: optional(uint32),
    transactionIndex: optional(uint32),
    inSuccessfulContractCall: optional(z.boolean()),
  })),
  cursor: z.string(),
  latestLedger: ledger,
  oldestLedger: optional(ledger),
  latestLedgerCloseTime: optional(seconds),
  oldestLedgerCloseTime: optional(seconds),
});

export const ledgersAnswer = z.looseObject({
  ledgers: list(z.looseObject({ hash, sequence: ledger, ledgerCloseTime: seconds })),
  latestLedger: ledger,
  latestLedgerCloseTime: optional(seconds),
  oldestLedger: ledger,
});

/** The JSON-RPC envelope around every answer. */
export const reply = z.looseObject({
  id: z.union([z.number(), z.string(), z.null()]).optional(),
  result: z.unknown().optional(),
  error: optional(z.looseObject({ code: z.number().int(), message: z.string() })),
});

/** The output of a schema without the fields it does not name. Fields that may be undefined are optional. */
type Answer<S extends z.ZodType> = Named<z.output<S>>;
type Named<T> = T extends readonly (infer Item)[] ? Named<Item>[] : T extends object ?
    & { [Key in keyof T as IsNamed<Key, undefined extends T[Key] ? never : Key>]: Named<T[Key]> }
    & { [Key in keyof T as IsNamed<Key, undefined extends T[Key] ? Key : never>]?: Named<Exclude<T[Key], undefined>> }
: T;
type IsNamed<Key, Wanted> = string extends Key ? never : Wanted;

export type Health = Answer<typeof health>;
export type NetworkAnswer = Answer<typeof network>;
export type LatestLedger = Answer<typeof latestLedger>;
export type FeeStats = Answer<typeof feeStats>;
export type LedgerEntriesAnswer = Answer<typeof ledgerEntries>;
export type RawLedgerEntry = LedgerEntriesAnswer["entries"][number];
/** Success has `transactionData`; failure has `error`. `events` are base64 DiagnosticEvents. */
export type RawSimulation = Answer<typeof simulation>;
export type SendAnswer = Answer<typeof sendAnswer>;
export type TransactionAnswer = Answer<typeof transactionAnswer>;
export type TransactionsAnswer = Answer<typeof transactionsAnswer>;
/** An applied transaction. Fields that a node does not send are undefined. */
export type AppliedTransaction = TransactionsAnswer["transactions"][number];
export type EventsAnswer = Answer<typeof eventsAnswer>;
/** `topic` and `value` are base64 ScVals. */
export type RawEvent = EventsAnswer["events"][number];
export type LedgersAnswer = Answer<typeof ledgersAnswer>;
