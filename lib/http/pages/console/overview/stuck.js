// @ts-check
/** @import { GatewayStatus } from "../../../status_response.ts" */
import { keepLoading } from "../api.js";
import { amountOf } from "../assets.js";
import { failure, h } from "../dom.js";
import { listen } from "../feed.js";
import { ago, counted, nowMs } from "../format.js";
import { sinceTime, stuckMoney, unknownSince } from "../health.js";
import { accountLink } from "../links.js";
import { firstLost, loadWaiting, pressing, timeToClaim, withoutClaim } from "../pending.js";
import { answer, findings, note, worstOf } from "./answer.js";

const EVERY_MS = 60_000;
/** The pause between a payment's event and the reload, which then covers later events as well. */
const AFTER_EVENT_MS = 1_500;
const MERCHANTS_SHOWN = 5;

/**
 * Answers "Is money stuck?" from the pending payments and the status.
 * @param {Element} place
 * @param {AbortSignal} signal
 * @param {boolean} isSandbox
 * @returns {(status: GatewayStatus | undefined) => void} takes the newest status; undefined when the gateway did not answer
 */
export function watchMoney(place, signal, isSandbox) {
  /** The findings of the last status, and since when they are not known. */
  /** @type {{ found: import("../health.js").Finding[], since: string | undefined, atMs: number } | undefined} */
  let known;
  /** @type {Awaited<ReturnType<typeof loadWaiting>> | { error: unknown } | undefined} */
  let money;

  function show() {
    if (money === undefined || known === undefined) return;
    if ("error" in money) return answer(place, "doubt", `Not known${known.since ?? ""}.`, failure(money.error));
    const { waiting, gone, more } = money;
    const found = [...withoutClaim(gone), ...known.found];
    const soon = waiting.map(({ pending }) => pressing(firstLost(pending))).filter((tone) => tone !== "good");
    const list = waiting.length > 0 && h("ul", { class: "rows" }, waiting.map(waitingRow));
    const others = more > 0 && h("p", {}, h("a", { href: "#/payments" }, `All payments, ${more} more merchants`));
    const rest = [findings(found), list, others];
    if (known.since !== undefined) {
      const why = "The gateway has not read the network's events since then. Payments and claims may be missing here.";
      answer(place, worstOf(found), `Not known${known.since}.`, note(why), rest);
    } else if (soon.length > 0) {
      const tone = soon.includes("bad") ? "bad" : worstOf(found);
      answer(place, tone, `${counted(soon.length, "merchant")} should claim soon.`, rest);
    } else if (found.length > 0) answer(place, worstOf(found), "Perhaps. Check this:", rest);
    else if (waiting.length === 0) answer(place, "good", "No.", note("No payment of the newest events is pending."));
    else answer(place, "good", "No.", note(`${counted(waiting.length + more, "merchant")} can claim:`), rest);
  }

  const again = keepLoading({
    load: () => loadWaiting(MERCHANTS_SHOWN),
    show(loaded) {
      money = loaded;
      show();
    },
    fail(error) {
      money = { error };
      show();
    },
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
    const before = JSON.stringify([known?.found, known?.since]);
    const sinceLast = known === undefined ? "" : known.since ?? sinceTime(new Date(known.atMs).toISOString());
    known = status === undefined
      ? { found: [], atMs: 0, ...known, since: sinceLast }
      : { found: stuckMoney(status), since: unknownSince(status, isSandbox), atMs: nowMs() };
    if (JSON.stringify([known.found, known.since]) !== before) show();
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
