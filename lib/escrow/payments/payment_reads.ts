import { isoSeconds } from "../../clock.ts";
import { GatewayError } from "../../errors.ts";
import type { LedgerTimes } from "../../stellar/ledger_clock.ts";
import { type LoggedEvent, OWN_EVENT_TYPES } from "../../store/event.ts";
import type { PaymentFilter, PaymentState, StoredPayment } from "../../store/payment.ts";
import type { Store } from "../../store/store.ts";
import { type Order, placeCursor, readPlaceCursor } from "../place_cursor.ts";
import { paymentsOfReference } from "./payments_of_reference.ts";
import { paymentsHoldTo } from "./projection.ts";
import { lastQuarterFrom } from "./retelling.ts";

/** A payment as clients see it. Times are ISO 8601. */
export interface PublicPayment {
  id: string;
  state: PaymentState;
  expiring: boolean;
  deviceHash: string;
  agent: string | null;
  merchant: string;
  asset: string | null;
  amount: string;
  ledger: number;
  authorizedAt: string;
  txHash: string;
  expiresAtLedger: number;
  /** An estimate from the pace of the ledgers. */
  expiresAt: string | null;
  expired: { eventId: string; ledger: number; expiredAt: string } | null;
  claim: { eventId: string; txHash: string; ledger: number; claimedAt: string; asset: string | null } | null;
  /** The calling API key gave it with prepare. */
  reference: string | null;
  /** The calling API key sent it with its submit. */
  idempotencyKey: string | null;
}

export interface PaymentWithTransaction extends PublicPayment {
  /** Source and fee (stroops) are null when the node does not have the transaction. */
  transaction: { hash: string; ledger: number; source: string | null; fee: string | null };
}

/** A payment, and its events in the order of its life. */
export interface PaymentWithEvents {
  payment: PaymentWithTransaction;
  events: LoggedEvent[];
}

export interface PaymentPage {
  payments: PublicPayment[];
  /** Null on the last page. */
  cursor: string | null;
}

export interface PaymentListQuery {
  /** The calling API key. */
  keyId: string;
  filter: PaymentFilter & { reference?: string };
  order?: Order;
  cursor?: string;
  limit: number;
}

export interface PaymentReads {
  /** @throws {GatewayError} `invalid_request` for a cursor of another list */
  page(query: PaymentListQuery): Promise<PaymentPage>;
  /** The payments hold up to this ledger. 0 while the gateway has read none. */
  holdTo(): Promise<number>;
  /** @throws {GatewayError} `not_found` */
  payment(id: string, keyId: string): Promise<PaymentWithEvents>;
}

/** The network bounds the payments of a transaction. A payment has two events of the gateway's own. */
const MOST_OWN_EVENTS = 1_000;
const PLACE = /^(\d{1,12}) ((?:[1-9]\d{0,3}-)?\d{19}-\d{10})$/;

/** Reads payments from the store. */
export function createPaymentReads({ store, ledgerTimes, latestLedger, sourceAndFee }: {
  store: Pick<Store, "events" | "payments" | "references" | "transactions">;
  ledgerTimes(): Promise<LedgerTimes>;
  latestLedger(): number;
  /** Of an applied transaction. Undefined when no node returns it. */
  sourceAndFee(hash: string): Promise<{ source: string; fee: string } | undefined>;
}): PaymentReads {
  /** Undefined while no node reports a time. */
  const times = async () => {
    const known = await ledgerTimes().catch(() => undefined);
    return known && { ...known, ledger: latestLedger() };
  };

  async function byTime({ filter, cursor, limit, ...query }: PaymentListQuery) {
    const { order, place } = readPlaceCursor(cursor, query.order, PLACE);
    const after = place && { authorizedAt: Number(place[0]), id: place[1]! };
    const rows = await store.payments.list({ filter, order, after, limit });
    const last = rows.at(-1);
    return { rows, cursor: rows.length < limit ? null : placeCursor(order, last!.authorizedAt, last!.id) };
  }

  /** As this API key sees them. */
  async function shownTo(keyId: string, rows: StoredPayment[]): Promise<PublicPayment[]> {
    const hashes = [...new Set(rows.map(({ txHash }) => txHash))];
    const [references, sent, now] = await Promise.all([
      store.references.ofKey(keyId, hashes),
      hashes.length === 0 ? [] : store.transactions.find(hashes),
      times(),
    ]);
    const keys = new Map(sent.filter((one) => one.keyId === keyId).map((one) => [one.hash, one.idempotencyKey]));
    return rows.map((row) => ({
      ...publicPayment(row, now),
      reference: references.get(row.txHash) ?? null,
      idempotencyKey: keys.get(row.txHash) ?? null,
    }));
  }

  /** Of the authorisation, of the gateway's own, and of the claim. Deleted events are missing. */
  async function eventsOf({ id, txHash, claim }: StoredPayment): Promise<LoggedEvent[]> {
    const filter = { txHash, types: [...OWN_EVENT_TYPES] };
    const [authorized, own, claimed] = await Promise.all([
      store.events.get(id),
      store.events.read({ filter, order: "asc", limit: MOST_OWN_EVENTS }),
      claim && store.events.get(claim.eventId),
    ]);
    return [authorized, ...own.filter(({ payment }) => payment?.of === id), claimed].filter((one) => one !== undefined);
  }

  return {
    holdTo: () => paymentsHoldTo(store),
    async page(query) {
      const { keyId, filter: { reference, ...filter } } = query;
      const { rows, cursor } = reference === undefined
        ? await byTime(query)
        : await paymentsOfReference(store, { ...query, reference, filter });
      return { payments: await shownTo(keyId, rows), cursor };
    },
    async payment(id, keyId) {
      const row = await store.payments.get(id);
      if (row === undefined) throw new GatewayError("not_found", `payment ${JSON.stringify(id)} is not held`);
      const { txHash: hash, ledger } = row;
      const [[payment], known, events] = await Promise.all([shownTo(keyId, [row]), sourceAndFee(hash), eventsOf(row)]);
      const { source = null, fee = null } = known ?? {};
      return { payment: { ...payment!, transaction: { hash, ledger, source, fee } }, events };
    },
  };
}

/**
 * A payment without what an API key gave.
 * @param now the newest ledger with its time; undefined while no time is known
 */
export function publicPayment(row: StoredPayment, now: (LedgerTimes & { ledger: number }) | undefined): PublicPayment {
  const { agent = null, asset = null, expiresAtLedger, claim, expired } = row;
  const inSeconds = now === undefined ? undefined : now.seconds + (expiresAtLedger - now.ledger) * now.pace;
  return {
    id: row.id,
    state: row.state,
    expiring: row.state === "pending" && now !== undefined && now.ledger >= lastQuarterFrom(row),
    deviceHash: row.deviceHash,
    agent,
    merchant: row.merchant,
    asset,
    amount: row.amount,
    ledger: row.ledger,
    authorizedAt: isoSeconds(row.authorizedAt * 1_000),
    txHash: row.txHash,
    expiresAtLedger,
    expiresAt: inSeconds === undefined ? null : isoSeconds(Math.round(inSeconds) * 1_000),
    expired: expired === undefined || row.state !== "expired" ? null : {
      eventId: expired.eventId,
      ledger: expired.ledger,
      expiredAt: isoSeconds(expired.at * 1_000),
    },
    claim: claim === undefined ? null : {
      eventId: claim.eventId,
      txHash: claim.txHash,
      ledger: claim.ledger,
      claimedAt: isoSeconds(claim.claimedAt * 1_000),
      asset: claim.asset ?? null,
    },
    reference: null,
    idempotencyKey: null,
  };
}
