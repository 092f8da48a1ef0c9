import { createHash } from "node:crypto";
import { Address, xdr } from "@stellar/stellar-sdk/base";
import { pendingPaymentKey } from "../../lib/escrow/reads/storage_keys.ts";
import type { RawEvent } from "../../lib/stellar/rpc/schemas.ts";
import { type Chain, CONTRACTS, type Ledgers } from "./chain.ts";
import { dataOf, isListedWhenEnded, valueOf } from "./contract_state.ts";
import { endOf, type TruePayment } from "./escrow_state.ts";
import type { Answer } from "./lies.ts";

// Answers of `getTransactions`. The transactions of some payments and claims show their changes.

const { LedgerEntryChange } = xdr;

/** The transactions behind a place (a TOID), up to a ledger. Each event has its own. */
export function appliedTransactions(
  chain: Chain,
  life: Ledgers,
  { place, latest, limit }: { place: bigint; latest: number; limit: number },
): Answer[] {
  const found: RawEvent[] = [];
  for (let ledger = Number(place >> 32n); ledger <= latest && found.length < limit; ledger++) {
    found.push(...(life.events.get(ledger) ?? []).filter(({ id }) => BigInt(id.slice(0, 19)) > place));
  }
  return found.slice(0, limit).map((event) => appliedTransaction(chain, life, event));
}

function appliedTransaction({ accounts }: Chain, life: Ledgers, event: RawEvent): Answer {
  const { txHash } = event;
  const about = { status: "SUCCESS", txHash };
  const { escrow } = life;
  const payment = escrow.payments.find((one) => one.txHash === txHash);
  const claim = escrow.claims.find((one) => one.txHash === txHash);
  if (payment === undefined && claim === undefined) return about;
  if (Number.parseInt(txHash.at(-1)!, 16) >= escrow.habits.shown) return about;
  const changes = payment !== undefined
    ? authorised(payment)
    : [...claim!.taken, ...claim!.ended.filter(isListedWhenEnded)].flatMap((one) => removed(one, claim!.ledger));
  return {
    ...about,
    envelopeXdr: accounts.transaction(txHash, event.ledger, event.ledger)?.xdr,
    resultMetaXdr: metaOf(changes),
    events: { contractEventsXdr: [[contractEvent(event)]] },
  };
}

function authorised(payment: TruePayment): xdr.LedgerEntryChange[] {
  const { data, ttl } = entriesOf(payment, payment.ledger);
  return [LedgerEntryChange.ledgerEntryCreated(data), LedgerEntryChange.ledgerEntryCreated(ttl)];
}

function removed(payment: TruePayment, ledger: number): xdr.LedgerEntryChange[] {
  const { key, data, ttl } = entriesOf(payment, ledger - 1);
  return [
    LedgerEntryChange.ledgerEntryState(data),
    LedgerEntryChange.ledgerEntryState(ttl),
    LedgerEntryChange.ledgerEntryRemoved(key),
  ];
}

/** The entry of a payment and that of its life, as of a ledger. */
function entriesOf(payment: TruePayment, ledger: number) {
  const { merchant, slot, ledger: lastModifiedLedgerSeq } = payment;
  const key = xdr.LedgerKey.fromXdr(pendingPaymentKey(CONTRACTS.paymentEscrow, merchant, slot), "base64");
  if (key.type !== "contractData") throw new TypeError(`got a key of type ${key.type}`);
  const ext = xdr.LedgerEntryExt.v0();
  const life = new xdr.TtlEntry({
    keyHash: createHash("sha256").update(key.toXdr()).digest(),
    liveUntilLedgerSeq: endOf(payment, Math.max(ledger, payment.ledger)),
  });
  return {
    key,
    data: new xdr.LedgerEntry({ lastModifiedLedgerSeq, data: dataOf(key.contractData, valueOf(payment)), ext }),
    ttl: new xdr.LedgerEntry({ lastModifiedLedgerSeq, data: xdr.LedgerEntryData.ttl(life), ext }),
  };
}

function metaOf(changes: xdr.LedgerEntryChange[]): string {
  const ext = xdr.ExtensionPoint.v0();
  const operation = new xdr.OperationMetaV2({ ext, changes, events: [] });
  const nothing = { txChangesBefore: [], txChangesAfter: [], sorobanMeta: null, events: [], diagnosticEvents: [] };
  const meta = new xdr.TransactionMetaV4({ ext, operations: [operation], ...nothing });
  return xdr.TransactionMeta.v4(meta).toXdr("base64");
}

function contractEvent({ contractId, topic, value }: RawEvent): string {
  const contract = new Address(contractId).toScAddress();
  if (contract.type !== "scAddressTypeContract") throw new TypeError(`${contractId} is no contract`);
  const body = new xdr.ContractEventV0({
    topics: topic.map((one) => xdr.ScVal.fromXdr(one, "base64")),
    data: xdr.ScVal.fromXdr(value, "base64"),
  });
  return new xdr.ContractEvent({
    ext: xdr.ExtensionPoint.v0(),
    contractId: contract.contractId,
    type: xdr.ContractEventType.contract,
    body: xdr.ContractEventBody.v0(body),
  }).toXdr("base64");
}
