// @ts-check
/** @import { Event } from "./event_views.js" */
import { get } from "./api.js";
import { h } from "./dom.js";
import { counted, nowMs, timeLeft } from "./format.js";

/** Authorised payments that wait for a claim. The contract keeps each for a time, and then the merchant loses it. */

/** The answer of `/v1/merchants/:address/pending`. `payments` is null or absent when the gateway cannot list them. */
/** @typedef {{ pending: string, payments?: Payment[] | null, more?: boolean }} Pending */
/** Times are Unix seconds. `expiresAt` is null when it is unknown. */
/** @typedef {{ deviceHash: string, amount: string, authorizedAt: number, expiresAt: number | null }} Payment */
/** @typedef {{ merchant: string, asset: string | null | undefined, since: string, pending: Pending }} Waiting */

/** The number of events that the page searches for merchants with pending payments. */
const LOOKED_THROUGH = 500;
/**
 * The merchants whose last authorised payment came after their last claim, the longest wait first.
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
 * The pending payments of merchants, of at most `most` merchants.
 * @param {number} most
 * @returns {Promise<{ waiting: Waiting[], gone: number, more: number }>} `gone` counts merchants without a pending payment
 *   and without a claim, `more` those that were not read
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
  const pending = waiting.filter(({ pending }) => pending.pending !== "0");
  return {
    waiting: pending,
    gone: waiting.length - pending.length,
    more: Math.max(0, merchants.length - most),
  };
}

/**
 * The finding on merchants whose payments are no longer pending although no claim was seen.
 * @param {number} merchants
 * @returns {import("./health.js").Finding[]}
 */
export function withoutClaim(merchants) {
  if (merchants === 0) return [];
  const of = counted(merchants, "merchant");
  const text =
    `Payments of ${of} are no longer pending, and the gateway saw no claim. They may have expired, and are then lost.`;
  return [{ tone: "bad", text }];
}

/** The payment that expires first; undefined when no time is known. @param {Pending} pending */
export function firstLost({ payments }) {
  const dated = (payments ?? []).filter(({ expiresAt }) => expiresAt !== null);
  return dated.toSorted((a, b) => Number(a.expiresAt) - Number(b.expiresAt))[0];
}

/**
 * The urgency of a claim: `doubt` in the last quarter of the payment's life, `bad` in the last sixteenth.
 * @param {Payment | undefined} payment
 * @returns {"good" | "doubt" | "bad"}
 */
export function pressing(payment) {
  if (payment === undefined || payment.expiresAt === null) return "good";
  const life = payment.expiresAt - payment.authorizedAt;
  const left = payment.expiresAt - nowMs() / 1_000;
  return left > life / 4 ? "good" : left > life / 16 ? "doubt" : "bad";
}

/** The time until a payment expires. @param {Payment | undefined} payment */
export function timeToClaim(payment) {
  if (payment === undefined || payment.expiresAt === null) return "unknown";
  return h("span", { class: pressing(payment) }, timeLeft(payment.expiresAt));
}
