// @ts-check
/** @import { Event } from "../event_views.js" */
import { failure, fill, h, panel, table } from "../dom.js";
import { eventsBefore, typeTag } from "../event_views.js";
import { ago } from "../format.js";
import { cardLink, pageOf } from "../links.js";

const LOOKED_THROUGH = 200;

/** Cards by hash or wallet, and those that something happened to lately. @param {import("../screens.js").Visit} visit @returns {import("../screens.js").Screen} */
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
          "A card is the SHA-256 of its UID in 64 hex digits, a wallet an account G… or a contract C….",
        );
        input.reportValidity();
      },
    },
    h("label", { for: "card" }, "Card's hash or owner's wallet"),
    h("div", { class: "actions" }, input, h("button", { type: "submit", class: "primary" }, "Look up")),
  );
  const { section, body } = panel("Lately", { class: "wide" });
  eventsBefore({}, { limit: LOOKED_THROUGH, signal }).then(
    ({ events }) => fill(body, lately(events)),
    (error) => signal.aborted || fill(body, failure(error)),
  );
  return { title: "Cards", content: [form, section] };
}

/** Each card with the newest that happened to it. @param {Event[]} events */
function lately(events) {
  /** @type {Map<string, Event>} */
  const newest = new Map();
  for (const event of events) {
    if (event.deviceHash && !newest.has(event.deviceHash)) newest.set(event.deviceHash, event);
  }
  if (newest.size === 0) return h("p", { class: "dim" }, "Nothing has happened to a card yet.");
  return table(
    "Cards that something happened to lately",
    ["Card", "Last event", "When"],
    [...newest].map(([deviceHash, event]) => [
      cardLink(deviceHash),
      typeTag(event.type),
      ago(event.ledgerClosedAt),
    ]),
  );
}
