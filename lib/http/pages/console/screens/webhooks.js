// @ts-check
/** @import { PublicWebhook } from "../../../../webhooks/public_webhook.ts" */
import { get, isOutOfScope, keepLoading, postOnce } from "../api.js";
import { button, copyButton, failure, fill, h, panel, table, tag } from "../dom.js";
import { EVENT_TYPES } from "../event_views.js";
import { ago, counted, grouped } from "../format.js";
import { failingFirst } from "../health.js";
import { webhookLink } from "../links.js";

const EVERY_MS = 15_000;

/** The key's webhooks, the failing first. @param {import("../screens.js").Visit} visit @returns {import("../screens.js").Screen} */
export function webhooks({ signal }) {
  const making = h("div");
  const add = button("New webhook", () => {
    // A form that is not done keeps what was typed; the secret of one that is stays until the screen is left.
    if (making.querySelector("form #new-url") === null) making.prepend(newWebhook(() => again()));
    making.querySelector("input")?.focus();
  });
  const { section, body } = panel("Of this key, the failing first", { class: "wide", beside: add });
  const again = keepLoading({
    load: () => get("v1/webhooks", {}, signal),
    show: (/** @type {{ webhooks: PublicWebhook[] }} */ { webhooks }) => fill(body, list(webhooks)),
    fail(error) {
      add.hidden = isOutOfScope(error);
      fill(body, isOutOfScope(error) ? h("p", { class: "dim" }, "This key has no scope webhooks.") : failure(error));
    },
    everyMs: EVERY_MS,
    signal,
  });
  return { title: "Webhooks", content: [making, section] };
}

/** @param {PublicWebhook[]} webhooks */
function list(webhooks) {
  if (webhooks.length === 0) {
    return h("p", { class: "dim" }, "None yet. A webhook has every event POSTed to your URL, signed.");
  }
  return table(
    "Webhooks",
    ["URL", "How it is", "To be tried again", "Rejected", "Given up", "Hears", "Since"],
    failingFirst(webhooks).map((webhook) => [
      webhookLink(webhook),
      condition(webhook),
      grouped(webhook.retrying),
      grouped(webhook.rejected),
      grouped(webhook.dead),
      webhook.types === null ? "all events" : counted(webhook.types.length, "type"),
      ago(webhook.createdAt),
    ]),
  );
}

/** @param {PublicWebhook} webhook */
export function condition({ failingSince, rejected, dead }) {
  if (failingSince !== null) {
    return h("span", {}, tag("bad", "failing"), " ", h("small", { class: "dim" }, "since ", ago(failingSince)));
  }
  return rejected + dead > 0 ? tag("doubt", "missed some") : tag("good", "well");
}

/** A form for a new one; what the gateway refuses it says in its own words. @param {() => void} onMade */
function newWebhook(onMade) {
  const url = h("input", {
    id: "new-url",
    type: "url",
    required: true,
    placeholder: "https://example.com/hook",
    autocomplete: "off",
    spellcheck: "false",
  });
  const checkboxes = EVENT_TYPES.map((type) => h("input", { type: "checkbox", value: type, id: `new-${type}` }));
  const ordered = h("input", { type: "checkbox", id: "new-ordered" });
  const result = h("div");
  const create = postOnce("v1/webhooks");
  const make = h("button", { type: "submit", class: "primary" }, "Make it");
  const form = h(
    "form",
    {
      class: "panel wide",
      onsubmit: async (/** @type {Event} */ event) => {
        event.preventDefault();
        make.disabled = true;
        const types = checkboxes.filter(({ checked }) => checked).map(({ value }) => value);
        try {
          const made = await create({
            url: url.value,
            ...(types.length > 0 && { types }),
            ...(ordered.checked && { ordered: true }),
          });
          fill(form, secretOnce(made));
          onMade();
        } catch (error) {
          fill(result, failure(error));
          make.disabled = false;
        }
      },
    },
    h("h2", {}, "New webhook"),
    h("label", { for: "new-url" }, "URL that events are POSTed to"),
    url,
    h(
      "fieldset",
      {},
      h("legend", {}, "Only these events; all when none is chosen"),
      checkboxes.map((checkbox) => h("label", { class: "choice" }, checkbox, " ", checkbox.value)),
    ),
    h("label", { class: "choice" }, ordered, " Strictly one at a time, waiting at one that failed"),
    result,
    h("div", { class: "actions" }, make),
  );
  return form;
}

/** @param {PublicWebhook & { secret: string }} made */
export function secretOnce(made) {
  return h(
    "div",
    { role: "status" },
    h("h2", {}, "Its secret, shown this once"),
    h("p", {}, "Your receiver checks the signatures with it: ", webhookLink(made)),
    h(
      "p",
      { class: "whole" },
      h("code", {}, made.secret),
      copyButton("Copy", () => made.secret, { class: "small quiet", "aria-label": "Copy the secret" }),
    ),
  );
}
