// @ts-check
/** @import { GatewayStatus } from "../../../status_response.ts" */
import { keepLoading } from "../api.js";
import { amountOf } from "../assets.js";
import { failure, h } from "../dom.js";
import { listen } from "../feed.js";
import { ago, counted } from "../format.js";
import { stuckMoney } from "../health.js";
import { accountLink } from "../links.js";
import { firstLost, loadWaiting, pressing, timeToClaim } from "../pending.js";
import { answer, findings, note, worstOf } from "./answer.js";

const EVERY_MS = 60_000;
/** The pause between a payment's event and the reload, which then covers later events as well. */
const AFTER_EVENT_MS = 1_500;
const MERCHANTS_SHOWN = 5;

/**
 * Answers "Is money stuck?" from the pending payments and, once it is loaded, from the status.
 * @param {Element} place
 * @param {AbortSignal} signal
 * @returns {(status: GatewayStatus) => void} takes the newest status
 */
export function watchMoney(place, signal) {
  /** @type {import("../health.js").Finding[]} */
  let found = [];
  /** @type {Awaited<ReturnType<typeof loadWaiting>> | undefined} */
  let money;

  function show() {
    if (money === undefined) return;
    const { waiting, more } = money;
    const soon = waiting.map(({ pending }) => pressing(firstLost(pending))).filter((tone) => tone !== "good");
    const list = waiting.length > 0 && h("ul", { class: "rows" }, waiting.map(waitingRow));
    const others = more > 0 && h("p", {}, h("a", { href: "#/payments" }, `All payments, ${more} more merchants`));
    const rest = [findings(found), list, others];
    if (soon.length > 0) {
      const tone = soon.includes("bad") ? "bad" : worstOf(found);
      answer(place, tone, `${counted(soon.length, "merchant")} should claim soon.`, rest);
    } else if (found.length > 0) answer(place, worstOf(found), "Perhaps. Check this:", rest);
    else if (waiting.length === 0) {
      answer(place, "good", "No.", note("The merchants have claimed every payment of the newest events."));
    } else answer(place, "good", "No.", note(`${counted(waiting.length + more, "merchant")} can claim:`), rest);
  }

  const again = keepLoading({
    load: () => loadWaiting(MERCHANTS_SHOWN),
    show(loaded) {
      money = loaded;
      show();
    },
    fail: (error) => answer(place, "doubt", "The gateway does not answer.", failure(error)),
    everyMs: EVERY_MS,
    signal,
  });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  listen({
    event({ type }) {
      if (!type.startsWith("payment.") || timer !== undefined) return;
      timer = setTimeout(() => {
        timer = undefined;
        again();
      }, AFTER_EVENT_MS);
    },
  }, signal);

  return (status) => {
    const now = stuckMoney(status);
    if (JSON.stringify(now) === JSON.stringify(found)) return;
    found = now;
    show();
  };
}

/** @param {import("../pending.js").Waiting} one */
function waitingRow({ merchant, asset, since, pending }) {
  const lost = firstLost(pending);
  const left = lost !== undefined && h("small", {}, timeToClaim(lost), " to claim");
  return h(
    "li",
    {},
    h("span", {}, accountLink(merchant), h("small", { class: "dim" }, "waits since ", ago(since))),
    h("span", { class: "end" }, amountOf(pending.pending, asset), left),
  );
}
