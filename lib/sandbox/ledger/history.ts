import type { AppliedTransaction, ClosedLedger, NetworkEvent, NetworkFees } from "../network_types.ts";
import { closeMetaXdr } from "./headers.ts";
import { ledgerEvents, ledgerOfEventId } from "./ledger_events.ts";
import type { Slice } from "./meta.ts";
import type { LedgerRecord, TransactionRecord } from "./records.ts";
import { createSkippedLedgers } from "./skipped.ts";

interface HeldLedger {
  record: LedgerRecord;
  closed: ClosedLedger;
  transactions: AppliedTransaction[];
  /** Hashes of the transactions and of the inner ones of fee bumps. */
  hashes: string[];
  events: NetworkEvent[];
  fees: { soroban: boolean; fee: bigint }[];
}

/** Ledgers of the fee statistics. */
const FEE_WINDOW_LEDGERS = 50;

export type History = ReturnType<typeof createHistory>;

/**
 * The last closed ledgers with their transactions and events. Skipped empty ledgers are not held: only the ledgers around
 * them are, and only held ledgers count for the retention.
 */
export function createHistory(retentionLedgers: number) {
  const ledgers = new Map<number, HeldLedger>();
  /** Sequences of the held ledgers, ascending. */
  const held: number[] = [];
  const byHash = new Map<string, AppliedTransaction>();
  const skipped = createSkippedLedgers();

  function need(sequence: number | undefined): HeldLedger {
    const ledger = ledgers.get(sequence ?? 0);
    if (!ledger) throw new Error(`ledger ${sequence} is not held`);
    return ledger;
  }

  function drop(sequence: number) {
    for (const hash of ledgers.get(sequence)?.hashes ?? []) byHash.delete(hash);
    ledgers.delete(sequence);
  }

  function put(record: LedgerRecord): void {
    const ledger = hold(record);
    ledgers.set(record.sequence, ledger);
    held.push(record.sequence);
    for (const [index, transaction] of ledger.transactions.entries()) {
      byHash.set(transaction.hash, transaction);
      const innerHash = record.transactions[index]?.innerHash;
      if (innerHash) byHash.set(innerHash, transaction);
    }
  }

  /** Index of the first held ledger from `sequence` on. */
  function indexFrom(sequence: number): number {
    let [low, high] = [0, held.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (held[middle]! < sequence) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function skippedLedger(sequence: number): ClosedLedger | undefined {
    const index = indexFrom(sequence);
    if (index === 0 || index === held.length) return undefined;
    const { record: before } = need(held[index - 1]);
    return closedLedger(skipped({ before, next: need(held[index]).record }, sequence));
  }

  return {
    latestLedger: () => need(held.at(-1)).closed,
    latestRecord: () => need(held.at(-1)).record,
    oldestLedger: () => need(held[0]).closed,
    ledger: (sequence: number) => ledgers.get(sequence)?.closed ?? skippedLedger(sequence),
    /** The oldest held ledger after adding these. */
    oldestWith(added: readonly { sequence: number }[]): number {
      const beyond = Math.max(0, held.length + added.length - retentionLedgers);
      return held[beyond] ?? added[beyond - held.length]!.sequence;
    },
    /** Adds the next ledger and drops ledgers beyond the retention. */
    add(record: LedgerRecord): void {
      put(record);
      const beyond = held.length - retentionLedgers;
      if (beyond > 0) { for (const sequence of held.splice(0, beyond)) drop(sequence); }
    },
    /** Makes this ledger the latest one again and drops the later ones. */
    returnTo(record: LedgerRecord) {
      while ((held.at(-1) ?? 0) > record.sequence) drop(held.pop()!);
      if (!ledgers.has(record.sequence)) put(record);
    },
    /** Finds a transaction by the hash of the outer or the inner one. */
    transaction: (hash: string) => byHash.get(hash),
    transactionsAfter(ledger: number, applicationOrder: number, limit: number): AppliedTransaction[] {
      const found: AppliedTransaction[] = [];
      for (let index = indexFrom(ledger); index < held.length && found.length < limit; index++) {
        const { transactions } = need(held[index]);
        const start = held[index] === ledger ? applicationOrder : 0;
        found.push(...transactions.slice(start, start + limit - found.length));
      }
      return found;
    },
    *eventsAfter(afterId: string, lastLedger: number): Generator<NetworkEvent> {
      let sequence = held[indexFrom(ledgerOfEventId(afterId))];
      while (sequence !== undefined && sequence <= lastLedger) {
        for (const event of ledgers.get(sequence)?.events ?? []) if (event.id > afterId) yield event;
        // Ledgers may close and be dropped between two reads.
        sequence = held[indexFrom(sequence + 1)];
      }
    },
    fees(): NetworkFees {
      const fees: NetworkFees = { soroban: [], classic: [] };
      for (const ledger of held.slice(-FEE_WINDOW_LEDGERS)) {
        for (const { soroban, fee } of need(ledger).fees) fees[soroban ? "soroban" : "classic"].push({ ledger, fee });
      }
      return fees;
    },
  };
}

function hold(record: LedgerRecord): HeldLedger {
  const transactions = record.transactions.map((transaction, index) => applied(transaction, index, record));
  return {
    record,
    closed: closedLedger(record),
    transactions,
    hashes: record.transactions.flatMap(({ hash, innerHash }) => innerHash ? [hash, innerHash] : [hash]),
    events: ledgerEvents(transactions),
    fees: record.transactions.map(({ soroban, inclusionFee }) => ({ soroban, fee: inclusionFee })),
  };
}

function closedLedger(record: LedgerRecord): ClosedLedger {
  const { sequence, closeTime, hash, headerXdr } = record;
  return {
    sequence,
    closeTime,
    hash,
    headerXdr,
    // Built on demand, because it repeats the content of the transactions.
    get metadataXdr() {
      return closeMetaXdr(record);
    },
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
