// @ts-check
import { get, keepLoading } from "./api.js";
import { amountOf } from "./assets.js";
import { failure, fill, h, table } from "./dom.js";
import { ago, timeLeft } from "./format.js";
import { cardLink } from "./links.js";
import { firstLost, pressing } from "./pending.js";
import { msOf } from "./format.js";

const EVERY_MS = 60_000;

/**
 * What a merchant can claim, and until when.
 * @param {Element} place
 * @param {string} address
 * @param {{ signal: AbortSignal, session: import("./session.js").Session }} options
 * @returns {() => void} looks again
 */
export function pendingView(place, address, { signal, session }) {
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
      return { pending, asset: events[0]?.asset ?? session.sandbox?.asset };
    },
    show: ({ pending, asset }) => fill(place, shown(pending, asset)),
    fail: (error) => fill(place, failure(error)),
    everyMs: EVERY_MS,
    signal,
  });
}

/**
 * @param {import("./pending.js").Pending} pending
 * @param {string | undefined} asset
 */
function shown(pending, asset) {
  if (pending.pending === "0") return h("p", { class: "dim" }, "Nothing waits to be claimed.");
  const lost = firstLost(pending);
  const { payments, more } = pending;
  return h(
    "div",
    {},
    h(
      "p",
      { class: "sum" },
      amountOf(pending.pending, asset),
      lost !== undefined &&
        h("span", { class: pressing(lost) }, "the first is lost unless claimed: ", timeLeft(lost / 1_000)),
    ),
    payments === undefined ? h("p", { class: "dim" }, "This gateway does not say of which payments.") : table(
      "Pending payments, the oldest first",
      ["Card", "Amount", "Authorised", "Time to claim"],
      payments.map(({ deviceHash, amount, authorizedAt, expiresAt }) => [
        cardLink(deviceHash),
        amountOf(amount, asset),
        ago(authorizedAt),
        expiresAt === null ? "not known" : h("span", { class: pressing(msOf(expiresAt)) }, timeLeft(expiresAt)),
      ]),
    ),
    more && h("p", { class: "dim" }, "There are more than these."),
  );
}
