// @ts-check
import { keepLoading } from "../api.js";
import { amountOf } from "../assets.js";
import { failure, fill, h, panel, table } from "../dom.js";
import { ago, counted } from "../format.js";
import { accountLink, pageOf } from "../links.js";
import { listen } from "../feed.js";
import { findings } from "../overview/answer.js";
import { firstLost, loadWaiting, timeToClaim, withoutClaim } from "../pending.js";

const EVERY_MS = 60_000;
const AFTER_EVENT_MS = 1_000;
const MERCHANTS_SHOWN = 20;

/** The merchants with pending payments, and the time until these expire. @param {import("../screens.js").Visit} visit @returns {import("../screens.js").Screen} */
export function payments({ signal }) {
  const { section, body } = panel("Waiting for a claim", { class: "wide" });
  const again = keepLoading({
    load: () => loadWaiting(MERCHANTS_SHOWN),
    show: ({ waiting, gone, more }) =>
      fill(
        body,
        findings(withoutClaim(gone)),
        list(waiting),
        more > 0 &&
          h("p", { class: "dim" }, `${counted(more, "more merchant")} with recent payments. Look them up by address.`),
      ),
    fail: (error) => fill(body, failure(error)),
    everyMs: EVERY_MS,
    signal,
  });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  listen({
    event({ type }) {
      if (!type.startsWith("payment.")) return;
      // Payments may come without a pause, so the first one starts the timer.
      timer ??= setTimeout(() => {
        timer = undefined;
        again();
      }, AFTER_EVENT_MS);
    },
  }, signal);
  return { title: "Payments", content: [lookUp(), section] };
}

function lookUp() {
  const input = h("input", {
    id: "merchant",
    type: "search",
    required: true,
    placeholder: "G… or C…",
    autocomplete: "off",
    spellcheck: "false",
  });
  input.addEventListener("input", () => input.setCustomValidity(""));
  return h(
    "form",
    {
      class: "look-up",
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        const page = pageOf(input.value);
        if (page?.startsWith("#/accounts/")) return void (location.hash = page);
        input.setCustomValidity("Enter the merchant's account, G…, or contract, C….");
        input.reportValidity();
      },
    },
    h("label", { for: "merchant" }, "Merchant"),
    h("div", { class: "actions" }, input, h("button", { type: "submit", class: "primary" }, "Look up")),
  );
}

/** @param {import("../pending.js").Waiting[]} waiting */
function list(waiting) {
  if (waiting.length === 0) {
    return h(
      "p",
      { class: "dim" },
      "No payment of the newest 500 payment events is pending, as far as the gateway knows.",
    );
  }
  return table(
    "Merchants that can claim",
    ["Merchant", "Can claim", "Payments", "Waits since", "Time to claim"],
    waiting.map(({ merchant, asset, since, pending }) => [
      accountLink(merchant),
      amountOf(pending.pending, asset),
      pending.payments ? `${pending.payments.length}${pending.more ? " and more" : ""}` : "not listed",
      ago(since),
      timeToClaim(firstLost(pending)),
    ]),
  );
}
