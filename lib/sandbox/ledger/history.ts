import { StrKey } from "@stellar/stellar-sdk";
import type { AppliedTransaction, ClosedLedger, NetworkEvent, NetworkFees } from "../network_types.ts";
import { type EventSlices, sliceContractEvent } from "./event_slices.ts";
import { closeMetaXdr } from "./headers.ts";
import type { MetaSlices, Slice } from "./meta.ts";

/** One transaction of a ledger, as it is kept. */
export interface TransactionRecord {
  hash: string;
  /** Hash of the inner transaction of a fee bump. */
  innerHash?: string;
  successful: boolean;
  soroban: boolean;
  /** Inclusion fee charged per operation, stroops. */
  inclusionFee: bigint;
  envelopeXdr: Uint8Array;
  resultXdr: Uint8Array;
  metaXdr: Uint8Array;
  slices: MetaSlices;
  /** LedgerEntryChanges, of the fee and of the refund: with their length. */
  feeChangesXdr: Uint8Array;
  refundChangesXdr: Uint8Array;
}

/** A closed ledger, as it is kept. */
export interface LedgerRecord {
  sequence: number;
  closeTime: number;
  hash: string;
  /** LedgerHeaderHistoryEntry. */
  headerXdr: Uint8Array;
  /** GeneralizedTransactionSet's hash was made of these, in order of application. */
  transactions: TransactionRecord[];
  /** LedgerKeys that were evicted. */
  evictedKeys: Uint8Array[];
}

interface HeldLedger {
  closed: ClosedLedger;
  transactions: AppliedTransaction[];
  /** Of the transactions, and of the inner ones of fee bumps. */
  hashes: string[];
  events: NetworkEvent[];
  fees: { soroban: boolean; fee: bigint }[];
}

/** Ledgers the fee statistics look at. */
const FEE_WINDOW_LEDGERS = 50;

export type History = ReturnType<typeof createHistory>;

/** The last closed ledgers with their transactions and events. */
export function createHistory(retentionLedgers: number) {
  const ledgers = new Map<number, HeldLedger>();
  const byHash = new Map<string, AppliedTransaction>();
  let oldest = 0;
  let latest = 0;

  function need(sequence: number): HeldLedger {
    const held = ledgers.get(sequence);
    if (!held) throw new Error(`ledger ${sequence} is not held`);
    return held;
  }

  function forget(sequence: number) {
    for (const hash of ledgers.get(sequence)?.hashes ?? []) byHash.delete(hash);
    ledgers.delete(sequence);
  }

  return {
    latestLedger: () => need(latest).closed,
    oldestLedger: () => need(oldest).closed,
    ledger: (sequence: number) => ledgers.get(sequence)?.closed,
    /** Adds the next ledger and lets go of what is beyond retention. Answers its transactions. */
    add(record: LedgerRecord): AppliedTransaction[] {
      const held = hold(record);
      ledgers.set(record.sequence, held);
      latest = record.sequence;
      if (oldest === 0) oldest = record.sequence;
      for (const [index, transaction] of held.transactions.entries()) {
        byHash.set(transaction.hash, transaction);
        const innerHash = record.transactions[index]?.innerHash;
        if (innerHash) byHash.set(innerHash, transaction);
      }
      for (; oldest <= latest - retentionLedgers; oldest++) forget(oldest);
      return held.transactions;
    },
    /** By the hash of the outer or the inner transaction. */
    transaction: (hash: string) => byHash.get(hash),
    transactionsAfter(ledger: number, applicationOrder: number, limit: number): AppliedTransaction[] {
      const found: AppliedTransaction[] = [];
      for (let sequence = Math.max(ledger, oldest); sequence <= latest && found.length < limit; sequence++) {
        const { transactions } = need(sequence);
        const start = sequence === ledger ? applicationOrder : 0;
        found.push(...transactions.slice(start, start + limit - found.length));
      }
      return found;
    },
    *eventsAfter(afterId: string, lastLedger: number): Generator<NetworkEvent> {
      const from = Math.max(ledgerOfEventId(afterId), oldest);
      for (let sequence = from; sequence <= Math.min(lastLedger, latest); sequence++) {
        // Reading may go on after ledgers were closed and others forgotten.
        for (const event of ledgers.get(sequence)?.events ?? []) if (event.id > afterId) yield event;
      }
    },
    fees(): NetworkFees {
      const fees: NetworkFees = { soroban: [], classic: [] };
      for (let ledger = Math.max(oldest, latest - FEE_WINDOW_LEDGERS + 1); ledger <= latest; ledger++) {
        for (const { soroban, fee } of need(ledger).fees) fees[soroban ? "soroban" : "classic"].push({ ledger, fee });
      }
      return fees;
    },
  };
}

function hold(record: LedgerRecord): HeldLedger {
  const { sequence, closeTime, hash, headerXdr } = record;
  const transactions = record.transactions.map((transaction, index) => applied(transaction, index, record));
  return {
    closed: {
      sequence,
      closeTime,
      hash,
      headerXdr,
      // Made when it is asked for: it repeats everything the transactions hold.
      get metadataXdr() {
        return closeMetaXdr(record);
      },
    },
    transactions,
    hashes: record.transactions.flatMap(({ hash, innerHash }) => innerHash ? [hash, innerHash] : [hash]),
    events: ledgerEvents(transactions),
    fees: record.transactions.map(({ soroban, inclusionFee }) => ({ soroban, fee: inclusionFee })),
  };
}

function applied(record: TransactionRecord, index: number, ledger: LedgerRecord): AppliedTransaction {
  const { metaXdr, slices } = record;
  const cut = ([at, length]: Slice) => metaXdr.subarray(at, at + length);
  return {
    hash: record.hash,
    ledger: ledger.sequence,
    createdAt: ledger.closeTime,
    applicationOrder: index + 1,
    feeBump: record.innerHash !== undefined,
    successful: record.successful,
    envelopeXdr: record.envelopeXdr,
    resultXdr: record.resultXdr,
    resultMetaXdr: metaXdr,
    diagnosticEventsXdr: slices.diagnosticEvents.map(cut),
    transactionEventsXdr: slices.transactionEvents.map(cut),
    contractEventsXdr: slices.contractEvents.map((events) => events.map(cut)),
  };
}

const TRANSACTION_MASK = (1 << 20) - 1;
const AFTER_ALL_TRANSACTIONS = 2;

/** Event id: SEP-35's operation id (TOID) in 19 digits, a hyphen, the place among the operation's events in ten. */
function eventId(ledger: number, transaction: number, operation: number, index: number): string {
  const toid = (BigInt(ledger) << 32n) | (BigInt(transaction) << 12n) | BigInt(operation);
  return `${toid.toString().padStart(19, "0")}-${String(index).padStart(10, "0")}`;
}

function ledgerOfEventId(id: string): number {
  const toid = id.split("-")[0] ?? "";
  return toid === "" ? 0 : Number(BigInt(toid) >> 32n);
}

/**
 * The events of a ledger in the order of their ids, as stellar-rpc numbers them: fees before all transactions have the
 * transaction number 0, refunds after all of them the highest there is, and both are counted through the ledger.
 */
function ledgerEvents(transactions: AppliedTransaction[]): NetworkEvent[] {
  const before: NetworkEvent[] = [];
  const within: NetworkEvent[] = [];
  const after: NetworkEvent[] = [];
  for (const transaction of transactions) {
    const { ledger, applicationOrder } = transaction;
    for (const staged of transaction.transactionEventsXdr) {
      const stage = new DataView(staged.buffer, staged.byteOffset).getUint32(0);
      const group = stage === AFTER_ALL_TRANSACTIONS ? after : before;
      const place = stage === AFTER_ALL_TRANSACTIONS ? TRANSACTION_MASK : 0;
      const id = eventId(ledger, place, 0, group.length);
      group.push(networkEvent(transaction, sliceContractEvent(staged.subarray(4)), id, place, 0));
    }
    for (const [operation, events] of transaction.contractEventsXdr.entries()) {
      for (const [index, event] of events.entries()) {
        const id = eventId(ledger, applicationOrder, operation, index);
        within.push(networkEvent(transaction, sliceContractEvent(event), id, applicationOrder, operation));
      }
    }
  }
  return [...before, ...within, ...after];
}

function networkEvent(
  transaction: AppliedTransaction,
  slices: EventSlices,
  id: string,
  transactionIndex: number,
  operationIndex: number,
): NetworkEvent {
  return {
    type: slices.type === "system" ? "system" : "contract",
    ledger: transaction.ledger,
    closeTime: transaction.createdAt,
    contractId: slices.contractId ? StrKey.encodeContract(slices.contractId) : "",
    id,
    operationIndex,
    transactionIndex,
    txHash: transaction.hash,
    inSuccessfulContractCall: transaction.successful,
    topicsXdr: slices.topicsXdr,
    valueXdr: slices.valueXdr,
  };
}
