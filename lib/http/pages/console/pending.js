// @ts-check
/** @import { Event } from "./event_views.js" */
import { get } from "./api.js";
import { h } from "./dom.js";
import { nowMs, timeLeft } from "./format.js";

/** Payments that were authorised and wait to be claimed. The contract holds each for a time: what is not claimed by then is lost to the merchant. */

/** As `/v1/merchants/:address/pending` answers; `payments` null or absent: they could not be listed. @typedef {{ pending: string, payments?: Payment[] | null, more?: boolean }} Pending */
/** Times are Unix seconds; `expiresAt` null: not known. @typedef {{ deviceHash: string, amount: string, authorizedAt: number, expiresAt: number | null }} Payment */
/** @typedef {{ merchant: string, asset: string | null | undefined, since: string, pending: Pending }} Waiting */

/** How many events are looked through for merchants that are owed something. */
const LOOKED_THROUGH = 500;
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

/** The one that is lost first; undefined: that is not told. @param {Pending} pending */
export function firstLost({ payments }) {
  const dated = (payments ?? []).filter(({ expiresAt }) => expiresAt !== null);
  return dated.toSorted((a, b) => Number(a.expiresAt) - Number(b.expiresAt))[0];
}

/** How pressing it is to claim a payment: more so in the last quarter of its life, and in the last sixteenth. @param {Payment | undefined} payment @returns {"good" | "doubt" | "bad"} */
export function pressing(payment) {
  if (payment === undefined || payment.expiresAt === null) return "good";
  const life = payment.expiresAt - payment.authorizedAt;
  const left = payment.expiresAt - nowMs() / 1_000;
  return left > life / 4 ? "good" : left > life / 16 ? "doubt" : "bad";
}

/** How long there is to claim it. @param {Payment | undefined} payment */
export function timeToClaim(payment) {
  if (payment === undefined || payment.expiresAt === null) return "not known";
  return h("span", { class: pressing(payment) }, timeLeft(payment.expiresAt));
}
