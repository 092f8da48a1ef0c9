import type { AppliedTransaction, Network } from "../network_types.ts";
import { INVALID_PARAMS, JsonRpcError, type Params } from "./json_rpc.ts";
import { readPageRequest } from "./pages.ts";
import { readString } from "./params.ts";
import { readXdrFormat, unlessEmpty, type XdrFormat } from "./xdr_format.ts";

const HASH_HEX_LENGTH = 64;

/** `getTransaction`: a transaction by its hash. `NOT_FOUND` is no error. */
export function getTransaction(network: Network, params: Params) {
  const hash = readString(params, "hash");
  const format = readXdrFormat(network, params);
  if (hash.length !== HASH_HEX_LENGTH) {
    throw new JsonRpcError(INVALID_PARAMS, `unexpected hash length (${hash.length})`);
  }
  if (!/^[0-9a-f]*$/i.test(hash)) throw new JsonRpcError(INVALID_PARAMS, `incorrect hash: ${hash} is not hexadecimal`);
  const latest = network.latestLedger();
  const oldest = network.oldestLedger();
  const transaction = network.transaction(hash.toLowerCase());
  const range = {
    latestLedger: latest.sequence,
    latestLedgerCloseTime: String(latest.closeTime),
    oldestLedger: oldest.sequence,
    oldestLedgerCloseTime: String(oldest.closeTime),
  };
  if (!transaction) {
    // The real node sends the zero values too, and typed clients need them.
    const absent = { applicationOrder: 0, feeBump: false, events: {}, ledger: 0, createdAt: "0" };
    return { ...range, status: "NOT_FOUND", txHash: hash, ...absent };
  }
  // `createdAt` is a string here and a number in getTransactions, as at the real node.
  return {
    ...range,
    ...transactionDetails(transaction, format),
    txHash: hash,
    createdAt: String(transaction.createdAt),
  };
}

/** `getTransactions`: transactions from `startLedger` or after `pagination.cursor` (a TOID), oldest first. */
export function getTransactions(network: Network, params: Params) {
  const { startLedger, cursor, limit, format } = readPageRequest(network, params);
  const latest = network.latestLedger();
  const oldest = network.oldestLedger();
  const start = cursor === "" ? { ledger: startLedger, order: 0 } : parseTransactionCursor(cursor);
  if (start.ledger < oldest.sequence) {
    const message = `database does not contain metadata for ledger: ${start.ledger}`;
    throw new JsonRpcError(INVALID_PARAMS, message);
  }
  const page = network.transactionsAfter(start.ledger, start.order, limit);
  return {
    transactions: page.map((transaction) => ({
      ...transactionDetails(transaction, format),
      createdAt: transaction.createdAt,
    })),
    latestLedger: latest.sequence,
    latestLedgerCloseTimestamp: latest.closeTime,
    oldestLedger: oldest.sequence,
    oldestLedgerCloseTimestamp: oldest.closeTime,
    cursor: nextCursor(start, page, page.length === limit, latest.sequence),
  };
}

interface Place {
  ledger: number;
  /** Position of the transaction within its ledger, 1-based. 0 is before all of them. */
  order: number;
}

/** A page that is not full has searched up to the latest ledger. */
function nextCursor(start: Place, page: AppliedTransaction[], full: boolean, latestLedger: number): string {
  const last = page.at(-1);
  const reached = last ? { ledger: last.ledger, order: last.applicationOrder } : start;
  return transactionCursor(full || reached.ledger >= latestLedger ? reached : { ledger: latestLedger, order: 0 });
}

// A TOID (SEP-35) has 32 bits of ledger, 20 of transaction order and 12 of operation, which is always 1 here.
function transactionCursor({ ledger, order }: Place): string {
  return String((BigInt(ledger) << 32n) | (BigInt(order) << 12n) | 1n);
}

function parseTransactionCursor(cursor: string): Place {
  const toid = /^\d{1,19}$/.test(cursor) ? BigInt(cursor) : 2n ** 63n;
  if (toid >= 2n ** 63n) throw new JsonRpcError(INVALID_PARAMS, `cursor must be a TOID; got '${cursor}'`);
  return { ledger: Number(toid >> 32n), order: Number((toid >> 12n) & 0xfffffn) };
}

function transactionDetails(transaction: AppliedTransaction, format: XdrFormat) {
  const { diagnosticEventsXdr, transactionEventsXdr, contractEventsXdr } = transaction;
  return {
    status: transaction.successful ? "SUCCESS" : "FAILED",
    txHash: transaction.hash,
    applicationOrder: transaction.applicationOrder,
    feeBump: transaction.feeBump,
    ...format.one("envelopeXdr", "TransactionEnvelope", transaction.envelopeXdr),
    ...format.one("resultXdr", "TransactionResult", transaction.resultXdr),
    ...format.one("resultMetaXdr", "TransactionMeta", transaction.resultMetaXdr),
    ...unlessEmpty(diagnosticEventsXdr, (events) => format.list("diagnosticEventsXdr", "DiagnosticEvent", events)),
    events: {
      ...unlessEmpty(transactionEventsXdr, (events) => format.list("transactionEventsXdr", "TransactionEvent", events)),
      ...unlessEmpty(contractEventsXdr, (events) => format.lists("contractEventsXdr", "ContractEvent", events)),
    },
    ledger: transaction.ledger,
  };
}
