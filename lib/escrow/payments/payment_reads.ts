import { Buffer } from "node:buffer";
import { isoSeconds } from "../../clock.ts";
import { GatewayError } from "../../errors.ts";
import type { LedgerTimes } from "../../stellar/ledger_clock.ts";
import { parseEventId } from "../../store/event.ts";
import type { PaymentFilter, PaymentPlace, PaymentQuery, PaymentState, StoredPayment } from "../../store/payment.ts";
import type { Store } from "../../store/store.ts";
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
  reference: string | null;
  idempotencyKey: string | null;
}

export interface PaymentPage {
  payments: PublicPayment[];
  /** Null on the last page. */
  cursor: string | null;
  /** The payments hold up to this ledger. */
  latestLedger: number;
}

export interface PaymentReads {
  /** @throws {GatewayError} `invalid_request` for a cursor of another list */
  list(
    query: { filter: PaymentFilter; order?: PaymentQuery["order"]; cursor?: string; limit: number },
  ): Promise<PaymentPage>;
  /** @throws {GatewayError} `not_found` */
  payment(id: string): Promise<PublicPayment>;
}

/** Reads payments from the store. */
export function createPaymentReads({ store, ledgerTimes, latestLedger }: {
  store: Pick<Store, "events" | "payments">;
  ledgerTimes(): Promise<LedgerTimes>;
  latestLedger(): number;
}): PaymentReads {
  /** Undefined while no node reports a time. */
  const times = async () => {
    const known = await ledgerTimes().catch(() => undefined);
    return known && { ...known, ledger: latestLedger() };
  };

  return {
    async list({ filter, order, cursor, limit }) {
      const place = cursor === undefined ? undefined : placeOf(cursor);
      if (place !== undefined && order !== undefined && order !== place.order) {
        throw refused("order", `order must be ${place.order}, as it was for this cursor; got ${order}`);
      }
      const inOrder = place?.order ?? order ?? "desc";
      // Read first, so that the page holds up to this ledger at least.
      const holdsTo = await paymentsHoldTo(store);
      const rows = await store.payments.list({ filter, order: inOrder, after: place?.after, limit });
      const now = await times();
      return {
        payments: rows.map((row) => publicPayment(row, now)),
        cursor: rows.length < limit ? null : cursorOf(inOrder, rows.at(-1)!),
        latestLedger: holdsTo,
      };
    },
    async payment(id) {
      const row = await store.payments.get(id);
      if (row === undefined) throw new GatewayError("not_found", `payment ${JSON.stringify(id)} is not held`);
      return publicPayment(row, await times());
    },
  };
}

/** @param now the newest ledger with its time; undefined while no time is known */
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

/** Order, time and id of the last payment. */
function cursorOf(order: PaymentQuery["order"], { authorizedAt, id }: PaymentPlace): string {
  return Buffer.from(`${order} ${authorizedAt} ${id}`).toString("base64url");
}

function placeOf(cursor: string): { order: PaymentQuery["order"]; after: PaymentPlace } {
  const text = Buffer.from(cursor, "base64url").toString();
  const [, order, seconds, id] = /^(asc|desc) (\d{1,12}) ([\d-]{30,40})$/.exec(text) ?? [];
  if (id === undefined || parseEventId(id) === undefined) {
    throw refused("cursor", "cursor must be a cursor from an earlier response");
  }
  return { order: order as PaymentQuery["order"], after: { authorizedAt: Number(seconds), id } };
}

function refused(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}
