import type { StoredEvent } from "../store/store.ts";

/** An event as callers and webhooks see it: the common fields, then those its type has. */
export interface PublicEvent {
  /** Unique over all epochs; consumers deduplicate on it. */
  id: string;
  type: string;
  contractId: string;
  ledger: number;
  /** ISO 8601 UTC. */
  ledgerClosedAt: string;
  txHash: string;
  deviceHash?: string;
  agent?: string;
  merchant?: string;
  /** Decimal string of the smallest unit. */
  amount?: string;
}

/** The public form of a decoded event. Throws a plain Error for one that is kept raw: those are never shown. */
export function publicEvent(event: StoredEvent): PublicEvent {
  const { id, type, contractId, ledger, ledgerClosedAt, txHash } = event;
  if (type === null) throw new Error(`event ${id} is not decoded`);
  const shown: PublicEvent = { id, type, contractId, ledger, ledgerClosedAt, txHash };
  for (const field of ["deviceHash", "agent", "merchant", "amount"] as const) {
    if (event[field] !== undefined) shown[field] = event[field];
  }
  return shown;
}
