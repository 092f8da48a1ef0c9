// @ts-check
/** @import { Event } from "../event_views.js" */
import { failure, fill, h, panel, table } from "../dom.js";
import { eventsBefore, typeTag } from "../event_views.js";
import { ago } from "../format.js";
import { cardLink, pageOf } from "../links.js";

const LOOKED_THROUGH = 200;

/** Finds cards by hash or wallet, and lists those with recent events. @param {import("../screens.js").Visit} visit @returns {import("../screens.js").Screen} */
export function cards({ signal }) {
  const input = h("input", {
    id: "card",
    type: "search",
    required: true,
    placeholder: "64 hex digits, G… or C…",
    autocomplete: "off",
    spellcheck: "false",
  });
  input.addEventListener("input", () => input.setCustomValidity(""));
  const form = h(
    "form",
    {
      class: "look-up",
      onsubmit: (/** @type {globalThis.Event} */ event) => {
        event.preventDefault();
        const page = pageOf(input.value);
        if (page?.startsWith("#/cards/") || page?.startsWith("#/accounts/")) return void (location.hash = page);
        input.setCustomValidity(
          "Enter the SHA-256 of a card's UID in 64 hex digits, or the wallet of its owner, G… or C….",
        );
        input.reportValidity();
      },
    },
    h("label", { for: "card" }, "Card's hash or owner's wallet"),
    h("div", { class: "actions" }, input, h("button", { type: "submit", class: "primary" }, "Look up")),
  );
  const { section, body } = panel("Recent cards", { class: "wide" });
  eventsBefore({}, { limit: LOOKED_THROUGH, signal }).then(
    ({ events }) => fill(body, lately(events)),
    (error) => signal.aborted || fill(body, failure(error)),
  );
  return { title: "Cards", content: [form, section] };
}

/** Each card with its newest event. @param {Event[]} events */
function lately(events) {
  /** @type {Map<string, Event>} */
  const newest = new Map();
  for (const event of events) {
    if (event.deviceHash && !newest.has(event.deviceHash)) newest.set(event.deviceHash, event);
  }
  if (newest.size === 0) return h("p", { class: "dim" }, "No card has an event yet.");
  return table(
    "Cards with recent events",
    ["Card", "Last event", "When"],
    [...newest].map(([deviceHash, event]) => [
      cardLink(deviceHash),
      typeTag(event.type),
      ago(event.ledgerClosedAt),
    ]),
  );
}
