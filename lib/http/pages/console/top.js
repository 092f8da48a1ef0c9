// @ts-check
import { keyId, listeners } from "./api.js";
import { button, fill, h, say } from "./dom.js";
import { listen } from "./feed.js";
import { grouped } from "./format.js";
import { LOOK_UP_HINT, pageOf } from "./links.js";
import { networkName } from "./session.js";

/** The top of every screen: the navigation, the latest ledger and the remaining rate of the key. */

const PLACES = [
  ["", "Overview"],
  ["events", "Events"],
  ["cards", "Cards"],
  ["payments", "Payments"],
  ["webhooks", "Webhooks"],
];

const STATES = { live: "live", away: "not connected" };

/** @type {import("./session.js").Session | undefined} */
let shownFor;

/**
 * @param {HTMLElement} place
 * @param {import("./session.js").Session} session
 * @param {string} path of the screen
 */
export function showTop(place, session, path) {
  if (shownFor !== session) build(place, session);
  shownFor = session;
  const [first = ""] = path.split("/");
  const here = { accounts: "cards", transactions: "events" }[first] ?? first;
  for (const link of place.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === `#/${here}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** @param {HTMLElement} place @param {import("./session.js").Session} session */
function build(place, session) {
  const places = session.sandbox === undefined ? PLACES : [...PLACES, ["sandbox", "Sandbox"]];
  fill(
    place,
    h("a", { class: "brand", href: "#/" }, h("span", { class: "mark", "aria-hidden": "true" }), "Gateway"),
    h("nav", { "aria-label": "Screens" }, places.map(([path, name]) => h("a", { href: `#/${path}` }, name))),
    search(),
    h(
      "div",
      { class: "standing" },
      height(session),
      rate(),
      button("Sign out", () => dispatchEvent(new Event("sign-out")), {
        class: "quiet",
        title: `key ${keyId()}`,
      }),
    ),
  );
}

/** One field for all ids. The key "/" moves the focus to it. */
function search() {
  const input = h("input", {
    type: "search",
    "aria-label": "Look up a card, account, transaction, webhook or event",
    placeholder: "Look up …  /",
    autocomplete: "off",
    spellcheck: "false",
    enterkeyhint: "go",
    title: `${LOOK_UP_HINT}. Press / to search.`,
  });
  input.addEventListener("input", () => input.setCustomValidity(""));
  return h("form", {
    role: "search",
    onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      const page = pageOf(input.value);
      if (page === undefined) {
        input.setCustomValidity(`Enter one of these: ${LOOK_UP_HINT}.`);
        return void input.reportValidity();
      }
      input.value = "";
      location.hash = page;
    },
  }, input);
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const input = document.querySelector("#top input");
  if (!(input instanceof HTMLElement)) return;
  event.preventDefault();
  input.focus();
});

/** @param {import("./session.js").Session} session */
function height(session) {
  const dot = h("span", { class: "dot", "aria-hidden": "true" });
  const number = h("span", { class: "number" }, "–");
  const element = h("span", { class: "height" }, dot, h("span", { class: "name" }, networkName(session)), " ", number);
  listen({
    ledger: (ledger) => {
      number.textContent = grouped(ledger);
      dot.classList.remove("beat");
      void dot.offsetWidth;
      dot.classList.add("beat");
    },
    state: (state) => {
      dot.dataset.state = state;
      element.title = `${session.network?.networkPassphrase ?? "this key lacks the scope read"}: ${STATES[state]}`;
      if (state === "away") say("not connected to the gateway");
    },
  }, session.signal);
  return element;
}

/** The remaining rate of the key: a bucket that refills within a minute. */
function rate() {
  const meter = h("meter", { min: 0, "aria-label": "Remaining rate of this key" });
  const text = h("span", { class: "number" }, "–");
  const element = h("span", { class: "rate" }, meter, text);
  listeners.rate = ({ limit, remaining }) => {
    Object.assign(meter, { max: limit, low: limit * 0.25, optimum: limit, value: remaining });
    text.textContent = `${grouped(remaining)} / ${grouped(limit)}`;
    element.title = `Remaining requests of ${limit} a minute of the key ${keyId()}. This page uses them, too.`;
  };
  return element;
}
