import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { StrKey, xdr } from "@stellar/stellar-sdk/base";
import type { AppliedTransaction } from "../../stellar/rpc/schemas.ts";
import { contractEvents } from "../../stellar/transactions/results.ts";
import { type NewEvent, parseEventId, type PaymentFacts } from "../../store/event.ts";
import { calledFor } from "../assets/moved_asset.ts";
import type { ContractIds } from "../contracts/errors.ts";
import { asAddress, asPayment, asU32, type Payment } from "../decode.ts";
import { type DecodedEvent, decodeEvent } from "../events.ts";

/**
 * Returns agent, slot and end of a payment's entry, or the entries that a claim took, as its transaction shows them. Undefined
 * for other events, and when the transaction shows nothing. Never throws.
 */
export function paymentFacts(
  event: NewEvent,
  transaction: AppliedTransaction,
  contracts: ContractIds,
): PaymentFacts | undefined {
  const facts: PaymentFacts = {};
  try {
    const changes = slotChanges(transaction, event, contracts.paymentEscrow);
    if (event.type === "payment.claimed") return changes && { taken: takenEntries(changes, event.ledger) };
    if (event.type !== "payment.authorized") return undefined;
    const agents = new Set(calledFor(event, transaction, contracts).map(({ source }) => source!));
    if (agents.size === 1) [facts.agent] = agents;
    const own = changes && ownSlot(event, transaction, contracts, changes);
    if (own !== undefined) facts.slot = own.slot;
    if (own?.endLedger !== undefined) facts.endLedger = own.endLedger;
  } catch {
    // Invalid XDR, or another layout: the rest stays unknown.
  }
  return Object.keys(facts).length === 0 ? undefined : facts;
}

/** The change that a transaction made to the entry of one slot of a merchant. */
interface SlotChange {
  slot: number;
  before?: Payment;
  /** The end of the entry before. */
  endedAt?: number;
  after?: Payment;
  endLedger?: number;
}

/** The changed slots of the event's merchant, ascending; undefined without metadata. */
function slotChanges(
  { resultMetaXdr }: AppliedTransaction,
  { merchant }: NewEvent,
  paymentEscrow: string,
): SlotChange[] | undefined {
  if (resultMetaXdr === undefined) return undefined;
  const changes = entryChanges(xdr.TransactionMeta.fromXdr(resultMetaXdr, "base64"));
  if (changes === undefined) return undefined;
  const slots = new Map<number, SlotChange & { ttlKey: string }>();
  const slotOf = (data: { contract: xdr.ScAddress; key: xdr.ScVal; durability: xdr.ContractDataDurability }) => {
    const slot = pendingSlot(data, paymentEscrow, merchant);
    if (slot === undefined) return undefined;
    if (!slots.has(slot)) slots.set(slot, { slot, ttlKey: ttlKeyOf(data) });
    return slots.get(slot)!;
  };
  const ends = new Map<string, { before?: number; after?: number }>();
  for (const change of changes) {
    if (change.type === "ledgerEntryRemoved") {
      if (change.removed.type === "contractData") {
        const one = slotOf(change.removed.contractData);
        if (one !== undefined) delete one.after;
      }
      continue;
    }
    const entry = entryOf(change);
    const isBefore = change.type === "ledgerEntryState";
    if (entry.data.type === "contractData") {
      const one = slotOf(entry.data.contractData);
      if (one === undefined) continue;
      const payment = asPayment(entry.data.contractData.val);
      if (isBefore) one.before ??= payment;
      else one.after = payment;
    } else if (entry.data.type === "ttl") {
      const { keyHash, liveUntilLedgerSeq: end } = entry.data.ttl;
      const key = xdr.encodeBytes(keyHash.value, "hex");
      const known = ends.get(key) ?? {};
      ends.set(key, isBefore ? { ...known, before: known.before ?? end } : { ...known, after: end });
    }
  }
  // A transaction may name slots that it leaves alone, so that payments of the same time may each find a free one.
  const changed = [...slots.values()].filter(({ before, after }) => !isDeepStrictEqual(before, after));
  return changed.sort((one, other) => one.slot - other.slot).map(({ ttlKey, ...change }) => {
    const { before, after } = ends.get(ttlKey) ?? {};
    return { ...change, endedAt: before, endLedger: after };
  });
}

function entryChanges(meta: xdr.TransactionMeta): xdr.LedgerEntryChange[] | undefined {
  if (meta.type === "v3") return meta.v3.operations.flatMap(({ changes }) => changes);
  if (meta.type === "v4") return meta.v4.operations.flatMap(({ changes }) => changes);
  return undefined;
}

function entryOf(change: Exclude<xdr.LedgerEntryChange, { type: "ledgerEntryRemoved" }>): xdr.LedgerEntry {
  switch (change.type) {
    case "ledgerEntryCreated":
      return change.created;
    case "ledgerEntryUpdated":
      return change.updated;
    case "ledgerEntryState":
      return change.state;
    case "ledgerEntryRestored":
      return change.restored;
  }
}

/** The slot of a key `PendingPayment((merchant, slot))`, undefined for another key. */
function pendingSlot(
  { contract, key, durability }: { contract: xdr.ScAddress; key: xdr.ScVal; durability: xdr.ContractDataDurability },
  paymentEscrow: string,
  merchant: string | undefined,
): number | undefined {
  if (contract.type !== "scAddressTypeContract" || durability.name !== "temporary") return undefined;
  if (StrKey.encodeContract(contract.contractId.toBytes()) !== paymentEscrow) return undefined;
  const [name, pair] = key.type === "scvVec" ? key.vec ?? [] : [];
  if (name?.type !== "scvSymbol" || name.sym.toString() !== "PendingPayment") return undefined;
  const [address, slot] = pair?.type === "scvVec" ? pair.vec ?? [] : [];
  return address !== undefined && slot !== undefined && asAddress(address) === merchant ? asU32(slot) : undefined;
}

/** An entry's end is an entry of its own, under the SHA-256 of its key. */
function ttlKeyOf(data: { contract: xdr.ScAddress; key: xdr.ScVal; durability: xdr.ContractDataDurability }): string {
  const { contract, key, durability } = data;
  const ledgerKey = xdr.LedgerKey.contractData(new xdr.LedgerKeyContractData({ contract, key, durability }));
  return createHash("sha256").update(ledgerKey.toXdr()).digest("hex");
}

/** An entry that had ended is no payment any more, and the network removes or overwrites it all the same. */
function takenEntries(changes: SlotChange[], ledger: number): PaymentFacts["taken"] {
  return changes.flatMap(({ slot, before, endedAt = ledger }) =>
    before === undefined || endedAt < ledger ? [] : [{ slot, at: Number(before.timestamp) }]
  );
}

/** The slot of this payment. Undefined when its own transaction claimed it, and when the transaction does not show it. */
function ownSlot(
  event: NewEvent,
  transaction: AppliedTransaction,
  contracts: ContractIds,
  changes: SlotChange[],
): SlotChange | undefined {
  const written = changes.filter(({ after }) => after !== undefined);
  const events = contractEvents(transaction).map((one) => decoded(one, contracts));
  const isOwn = (one: DecodedEvent | undefined) => one?.merchant === event.merchant;
  const claimed = events.findLastIndex((one) => isOwn(one) && one?.type === "payment.claimed");
  // After the last claim the slots ascend.
  const left = events.flatMap((one, at) =>
    at > claimed && isOwn(one) && one?.type === "payment.authorized" ? [at] : []
  );
  const isSame = (one: DecodedEvent | undefined) =>
    isOwn(one) && one?.deviceHash === event.deviceHash && one?.amount === event.amount;
  const place = parseEventId(event.id)?.index ?? -1;
  const same = left.filter((at) => isSame(events[at]));
  const at = isSame(events[place]) ? left.indexOf(place) : same.length === 1 ? left.indexOf(same[0]!) : -1;
  const slot = left.length === written.length ? written[at] : undefined;
  return slot?.after?.deviceHash === event.deviceHash && `${slot?.after?.amount}` === event.amount ? slot : undefined;
}

function decoded(event: xdr.ContractEvent, contracts: ContractIds): DecodedEvent | undefined {
  if (event.contractId === null) return undefined;
  const { topics, data } = event.body.v0;
  return decodeEvent({
    contractId: StrKey.encodeContract(event.contractId.toBytes()),
    topic: topics.map((topic) => topic.toXdr("base64")),
    value: data.toXdr("base64"),
  }, contracts);
}
