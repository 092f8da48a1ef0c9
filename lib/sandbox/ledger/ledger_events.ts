import { StrKey } from "@stellar/stellar-sdk";
import type { AppliedTransaction, NetworkEvent } from "../network_types.ts";
import { type EventSlices, sliceContractEvent } from "./event_slices.ts";

const TRANSACTION_MASK = (1 << 20) - 1;
const AFTER_ALL_TRANSACTIONS = 2;

/** An event id: the operation id of SEP-35 (TOID) in 19 digits, a hyphen, the index among the operation's events in 10. */
function eventId(ledger: number, transaction: number, operation: number, index: number): string {
  const toid = (BigInt(ledger) << 32n) | (BigInt(transaction) << 12n) | BigInt(operation);
  return `${toid.toString().padStart(19, "0")}-${String(index).padStart(10, "0")}`;
}

/** The ledger of an event id. 0 for the empty id, which is before all events. */
export function ledgerOfEventId(id: string): number {
  const toid = id.split("-")[0] ?? "";
  return toid === "" ? 0 : Number(BigInt(toid) >> 32n);
}

/**
 * The events of a ledger in the order of their ids, numbered as stellar-rpc does. Fees have the transaction number 0, refunds
 * the highest number. Both have one index through the ledger.
 */
export function ledgerEvents(transactions: AppliedTransaction[]): NetworkEvent[] {
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
