import type { AppliedTransaction, ClosedLedger, NetworkEvent, NetworkFees } from "../network_types.ts";
import { closeMetaXdr } from "./headers.ts";
import { ledgerEvents, ledgerOfEventId } from "./ledger_events.ts";
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
