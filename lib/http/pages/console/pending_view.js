// @ts-check
import { get, keepLoading } from "./api.js";
import { amountOf } from "./assets.js";
import { failure, fill, h, table } from "./dom.js";
import { ago } from "./format.js";
import { cardLink } from "./links.js";
import { firstLost, timeToClaim } from "./pending.js";

const EVERY_MS = 60_000;

/**
 * The payments that a merchant can claim, with their ends.
 * @param {Element} place
 * @param {string} address
 * @param {AbortSignal} signal
 * @returns {() => void} loads again at once
 */
export function pendingView(place, address, signal) {
  return keepLoading({
    load: async () => {
      /** @type {import("./pending.js").Pending} */
      const pending = await get(`v1/merchants/${address}/pending`, {}, signal);
      const { events } = await get("v1/events", {
        merchant: address,
        types: "payment.authorized",
        order: "desc",
        limit: 1,
      }, signal);
      return { pending, asset: events[0]?.asset };
    },
    show: ({ pending, asset }) => fill(place, shown(pending, asset)),
    fail: (error) => fill(place, failure(error)),
    everyMs: EVERY_MS,
    signal,
  });
}

/**
 * @param {import("./pending.js").Pending} pending
 * @param {string | null | undefined} asset
 */
function shown(pending, asset) {
  if (pending.pending === "0") return h("p", { class: "dim" }, "No payment waits for a claim.");
  const lost = firstLost(pending);
  const { payments, more } = pending;
  return h(
    "div",
    {},
    h(
      "p",
      { class: "sum" },
      amountOf(pending.pending, asset),
      lost !== undefined && h("span", {}, "the first to expire: ", timeToClaim(lost)),
    ),
    !payments ? h("p", { class: "dim" }, "The gateway cannot list the payments.") : table(
      "Pending payments, the oldest first",
      ["Card", "Amount", "Authorised", "Time to claim"],
      payments.map((payment) => [
        cardLink(payment.deviceHash),
        amountOf(payment.amount, asset),
        ago(payment.authorizedAt),
        timeToClaim(payment),
      ]),
    ),
    more && h("p", { class: "dim" }, "The merchant has more payments than these."),
  );
}
