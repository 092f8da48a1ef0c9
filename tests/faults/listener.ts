import type { Happening } from "./card_traffic.ts";
import type { Moods, Receipt } from "./moody_receiver.ts";

/** A subscription: its filter, and the behaviour of its endpoint. */
export interface Listener {
  /** Also the path of its endpoint. */
  name: string;
  filter: { types?: string[]; deviceHash?: string; merchant?: string };
  moods: Moods;
  /** It is created late, and has all earlier events replayed. */
  isLate?: true;
}

export function listenersOf(deviceHashes: string[], merchants: string[]): Listener[] {
  const moody = { ok: 0.45, error: 0.15, tooMany: 0.15, close: 0.15, hang: 0.1 };
  return [
    { name: "all", filter: {}, moods: { ok: 1 } },
    { name: "all-moody", filter: {}, moods: moody },
    { name: "all-wretched", filter: {}, moods: { error: 0.3, close: 0.3, hang: 0.4 } },
    { name: "type", filter: { types: ["escrow.funded", "escrow.defunded"] }, moods: moody },
    { name: "device", filter: { deviceHash: deviceHashes[0] }, moods: moody },
    { name: "merchant", filter: { merchant: merchants[0] }, moods: moody },
    { name: "claims", filter: { merchant: merchants[1], types: ["payment.claimed"] }, moods: moody },
    { name: "both", filter: { deviceHash: deviceHashes[1], merchant: merchants[1] }, moods: { ok: 1 } },
    { name: "late", filter: {}, moods: moody, isLate: true },
    { name: "nothing", filter: { deviceHash: "0".repeat(64) }, moods: { ok: 1 } },
  ];
}

/** Whether its filter matches this event, by the documentation. */
export function hears({ filter }: Listener, { type, deviceHash, merchant }: Happening): boolean {
  return (filter.types === undefined || filter.types.includes(type)) &&
    (filter.deviceHash === undefined || filter.deviceHash === deviceHash) &&
    (filter.merchant === undefined || filter.merchant === merchant);
}

/** The matching events that its endpoint has not yet answered with 200. */
export function missing(listener: Listener, happenings: Happening[], receipts: Receipt[]): Happening[] {
  const taken = new Set(
    receipts.filter((one) => one.listener === listener.name && one.mood === "ok").map(({ event }) => event.txHash),
  );
  return happenings.filter((happening) => hears(listener, happening) && !taken.has(happening.txHash));
}
