// @ts-check
import { get } from "../api.js";
import { failure, fill, h, panel, table } from "../dom.js";
import { amountOf, assetName } from "../assets.js";
import { eventList } from "../event_views.js";
import { listen } from "../feed.js";
import { ago } from "../format.js";
import { cardLink, wholeId } from "../links.js";
import { pendingView } from "../pending_view.js";

/** The number of a wallet's cards that the screen loads. */
const CARDS_SHOWN = 20;

/** An account in its roles: owner of cards, merchant and agent. @param {import("../screens.js").Visit} visit @returns {import("../screens.js").Screen} */
export function account({ part: address, signal }) {
  const pending = panel("As a merchant: pending payments", { class: "wide" });
  const owned = panel("As an owner: cards", { class: "wide" });
  const received = panel("Its payments", { class: "wide" });
  const acted = panel("As an agent: events", { class: "wide" });

  const again = pendingView(pending.body, address, signal);
  get(`v1/wallets/${address}/devices`, {}, signal).then(
    ({ devices }) => showCards(owned.body, devices, signal),
    (error) => signal.aborted || fill(owned.body, failure(error)),
  );
  const payments = eventList({ merchant: address }, signal, "The history has no payment to this account.");
  fill(received.body, payments.place);
  const agent = eventList({ agent: address }, signal, "The history has no card with this agent.");
  fill(acted.body, agent.place);
  listen({
    event(event) {
      if (event.merchant === address) {
        payments.add(event);
        again();
      }
      if (event.agent === address) agent.add(event);
    },
  }, signal);
  return {
    title: "Account",
    content: [h("p", {}, wholeId(address, "address")), pending.section, received.section, owned.section, acted.section],
  };
}

/**
 * @param {Element} place
 * @param {string[]} devices
 * @param {AbortSignal} signal
 */
async function showCards(place, devices, signal) {
  if (devices.length === 0) return fill(place, h("p", { class: "dim" }, "The account owns no card."));
  /** Each card, or the error of its request. @type {(import("./card.js").Card | Error)[]} */
  const found = await Promise.all(
    devices.slice(0, CARDS_SHOWN).map((hash) => get(`v1/devices/${hash}`, {}, signal).catch((error) => error)),
  );
  if (signal.aborted) return;
  fill(
    place,
    table(
      "Its cards",
      ["Card", "In escrow", "Asset", "Policy ends"],
      devices.slice(0, CARDS_SHOWN).map((hash, at) => {
        const one = found[at];
        if (one === undefined || one instanceof Error) {
          return [cardLink(hash), null, `unknown: ${one?.message}`, null];
        }
        const { escrowBalance, policy } = one;
        return [
          cardLink(hash),
          amountOf(escrowBalance, policy.asset),
          policy.asset ? assetName(policy.asset) : "no agent",
          policy.agent ? policy.expiresAt ? ago(policy.expiresAt) : "never" : null,
        ];
      }),
    ),
    devices.length > CARDS_SHOWN &&
      h("p", { class: "dim" }, `These are the first ${CARDS_SHOWN} of ${devices.length} cards.`),
  );
}
