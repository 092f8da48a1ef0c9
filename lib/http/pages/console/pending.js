// @ts-check
/** @import { Event } from "./event_views.js" */
import { get } from "./api.js";
import { msOf, nowMs } from "./format.js";

/** Payments that were authorised and wait to be claimed. The contract holds each for a time: what is not claimed by then is lost to the merchant. */

/** As `/v1/merchants/:address/pending` answers; without `payments` by a gateway that does not list them. */
/** @typedef {{ pending: string, payments?: Payment[], more?: boolean }} Pending */
/** @typedef {{ deviceHash: string, amount: string, authorizedAt: number | string, expiresAt: number | string | null }} Payment */
/** @typedef {{ merchant: string, asset: string | null | undefined, since: string, pending: Pending }} Waiting */

/** How many events are looked through for merchants that are owed something. */
const LOOKED_THROUGH = 500;
/** Claimed within a day, or somebody should know. */
const SOON_MS = 86_400_000;

/**
 * The merchants whose last authorised payment came after their last claim, those who wait longest first.
 * @param {Event[]} events newest first
 */
export function merchantsWaiting(events) {
  /** @type {Map<string, { merchant: string, asset: string | null | undefined, since: string }>} */
  const waiting = new Map();
  const claimed = new Set();
  for (const { type, merchant, asset, ledgerClosedAt } of events) {
    if (merchant === undefined || claimed.has(merchant)) continue;
    if (type === "payment.claimed") claimed.add(merchant);
    else waiting.set(merchant, { merchant, asset: waiting.get(merchant)?.asset ?? asset, since: ledgerClosedAt });
  }
  return [...waiting.values()].reverse();
}

/**
 * What these merchants are owed, at most `most` of them.
 * @param {number} most
 * @returns {Promise<{ waiting: Waiting[], more: number }>} `more`: merchants that were not looked at
 */
export async function loadWaiting(most) {
  const { events } = await get("v1/events", {
    types: "payment.authorized,payment.claimed",
    order: "desc",
    limit: LOOKED_THROUGH,
  });
  const merchants = merchantsWaiting(events);
  const waiting = await Promise.all(
    merchants.slice(0, most).map(async (one) => {
      /** @type {Pending} */
      const pending = await get(`v1/merchants/${one.merchant}/pending`);
      return { ...one, pending };
    }),
  );
  return {
    waiting: waiting.filter(({ pending }) => pending.pending !== "0"),
    more: Math.max(0, merchants.length - most),
  };
}

/** When the first of them is lost, Unix ms; undefined: that is not told. @param {Pending} pending */
export function firstLost({ payments = [] }) {
  const times = payments.flatMap(({ expiresAt }) => expiresAt === null ? [] : [msOf(expiresAt)]);
  return times.length === 0 ? undefined : Math.min(...times);
}

/** How pressing that is. @param {number | undefined} lostMs @returns {"good" | "doubt" | "bad"} */
export function pressing(lostMs) {
  if (lostMs === undefined || lostMs - nowMs() > SOON_MS) return "good";
  return lostMs - nowMs() > SOON_MS / 24 ? "doubt" : "bad";
}
