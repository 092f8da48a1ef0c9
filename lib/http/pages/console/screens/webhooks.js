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
    // An unfinished form keeps its input. The secret of a finished one stays until the reader leaves the screen.
    if (making.querySelector("form #new-url") === null) making.prepend(newWebhook(() => again()));
    making.querySelector("input")?.focus();
  });
  const { section, body } = panel("Of this key, the failing first", { class: "wide", beside: add });
  const again = keepLoading({
    load: () => get("v1/webhooks", {}, signal),
    show: (/** @type {{ webhooks: PublicWebhook[] }} */ { webhooks }) => fill(body, list(webhooks)),
    fail(error) {
      add.hidden = isOutOfScope(error);
      fill(body, isOutOfScope(error) ? h("p", { class: "dim" }, "This key lacks the scope webhooks.") : failure(error));
    },
    everyMs: EVERY_MS,
    signal,
  });
  return { title: "Webhooks", content: [making, section] };
}

/** @param {PublicWebhook[]} webhooks */
function list(webhooks) {
  if (webhooks.length === 0) {
    return h("p", { class: "dim" }, "None yet. A webhook sends every event to your URL, in a signed POST.");
  }
  return table(
    "Webhooks",
    ["URL", "State", "Retrying", "Rejected", "Dead", "Receives", "Created"],
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
  return rejected + dead > 0 ? tag("doubt", "missed events") : tag("good", "well");
}

/** A form for a new webhook. It shows an error of the gateway as it is. @param {() => void} onMade */
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
  const make = h("button", { type: "submit", class: "primary" }, "Create");
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
    h("label", { for: "new-url" }, "URL of your receiver"),
    url,
    h(
      "fieldset",
      {},
      h("legend", {}, "Only these events (none: all events)"),
      checkboxes.map((checkbox) => h("label", { class: "choice" }, checkbox, " ", checkbox.value)),
    ),
    h("label", { class: "choice" }, ordered, " Strictly in order: a failed event holds the later ones back"),
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
    h("h2", {}, "The secret, shown only this once"),
    h("p", {}, "Your receiver checks the signatures with this secret: ", webhookLink(made)),
    h(
      "p",
      { class: "whole" },
      h("code", {}, made.secret),
      copyButton("Copy", () => made.secret, { class: "small quiet", "aria-label": "Copy the secret" }),
    ),
  );
}
