// @ts-check
/** @import { PublicAttempt } from "../../../webhooks/public_webhook.ts" */
import { get, post } from "./api.js";
import { button, copyButton, facts, failure, fill, h, say, tag } from "./dom.js";
import { utc } from "./format.js";

/** One attempt: the request, its signature, the answer, and a button that sends the event again. */

/** @typedef {{ url: string, headers: Record<string, string>, body: string }} SentRequest */
/** @typedef {{ delivery: PublicAttempt, request: SentRequest | null, secretRotatedSince: boolean }} Detail */

/**
 * @param {string} webhookId
 * @param {PublicAttempt} attempt
 * @param {() => void} onSent called after a resend
 */
export function attemptDetails(webhookId, attempt, onSent) {
  const sent = h("div", {}, h("p", { class: "dim" }, "Loading the request …"));
  get(`v1/webhooks/${webhookId}/deliveries/${attempt.id}`).then(
    (/** @type {Detail} */ detail) => fill(sent, requestDetails(detail)),
    (error) => fill(sent, failure(error)),
  );
  return h(
    "div",
    { class: "details" },
    h("h2", {}, "Answer"),
    facts([
      [
        "Outcome",
        attempt.statusCode === null ? "no answer" : `status ${attempt.statusCode}, after ${attempt.durationMs} ms`,
      ],
      ...(attempt.error === null ? [] : [/** @type {[string, string]} */ (["Why it failed", attempt.error])]),
      ["Sent", utc(attempt.at)],
      ...(attempt.nextAttemptAt === null
        ? []
        : [/** @type {[string, string]} */ (["Next attempt", utc(attempt.nextAttemptAt)])]),
    ]),
    attempt.responseBody !== null && code(attempt.responseBody),
    sent,
    sendAgain(webhookId, attempt, onSent),
  );
}

/**
 * @param {string} webhookId
 * @param {PublicAttempt} attempt
 * @param {() => void} onSent
 */
function sendAgain(webhookId, attempt, onSent) {
  const result = h("span", {});
  const isTest = attempt.deliveryId === null;
  const again = button("Send again", async () => {
    again.disabled = true;
    try {
      if (isTest) await post(`v1/webhooks/${webhookId}/test`);
      else await post(`v1/webhooks/${webhookId}/replay`, { eventId: attempt.eventId });
      fill(
        result,
        isTest
          ? "The gateway sent a new test event."
          : "The event is on its way. Its attempt comes to the top of the list.",
      );
      say(result.textContent ?? "");
      setTimeout(onSent, 1_000);
    } catch (error) {
      fill(result, failure(error));
    }
    again.disabled = false;
  });
  return h("div", { class: "actions" }, again, result);
}

/** @param {Detail} detail */
function requestDetails({ request, secretRotatedSince }) {
  if (request === null) {
    return h(
      "p",
      { class: "dim" },
      "The gateway has no copy of the request: the retention job deleted the event, or it was a test event.",
    );
  }
  const { url, headers, body } = request;
  return h(
    "div",
    {},
    h(
      "div",
      { class: "head" },
      h("h2", {}, "Sent"),
      copyButton("Copy as curl", () => asCurl(request), { class: "small" }),
    ),
    code(`POST ${url}\n${Object.entries(headers).map(([name, value]) => `${name}: ${value}`).join("\n")}`),
    code(pretty(body)),
    h("h2", {}, "Signature"),
    secretRotatedSince
      ? h(
        "p",
        {},
        tag("doubt", "secret rotated since"),
        " Recomputed with the present secrets. The receiver got signatures of earlier ones.",
      )
      : h(
        "p",
        {},
        tag("good", "recomputed"),
        " HMAC-SHA256 with the webhook's secret, over the time, a dot and the raw body.",
      ),
    secretCheck(request),
  );
}

/** A form that checks a receiver's secret in the page. The page sends the secret nowhere. @param {SentRequest} request */
function secretCheck({ headers, body }) {
  const input = h("input", {
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "whsec_…",
    "aria-label": "Secret of your receiver",
  });
  const result = h("span", { role: "status" });
  return h(
    "form",
    {
      class: "actions",
      onsubmit: async (/** @type {Event} */ event) => {
        event.preventDefault();
        // Over plain HTTP a browser has Web Crypto only for this machine.
        if (crypto.subtle === undefined) {
          return fill(result, tag("doubt", "a browser computes signatures over HTTPS only"));
        }
        const { t, v1 } = signatureIn(headers["X-Service-Signature"] ?? "");
        const mine = await hmac(input.value.trim(), `${t}.${body}`);
        fill(
          result,
          v1.includes(mine) ? tag("good", "the secret is right") : tag("bad", "another secret signed this"),
          " ",
          h("small", {}, h("code", {}, `v1=${mine}`)),
        );
      },
    },
    input,
    h("button", { type: "submit", class: "small" }, "Check my secret"),
    h("small", { class: "dim" }, "The page computes this itself and sends the secret nowhere."),
    result,
  );
}

/** @param {string} header `t=…,v1=…[,v1=…]` */
export function signatureIn(header) {
  const parts = header.split(",").map((part) => part.trim());
  return {
    t: parts.find((part) => part.startsWith("t="))?.slice(2) ?? "",
    v1: parts.filter((part) => part.startsWith("v1=")).map((part) => part.slice(3)),
  };
}

/**
 * HMAC-SHA256 in hex. The key is the whole secret string.
 * @param {string} secret
 * @param {string} text
 */
export async function hmac(secret, text) {
  const encoder = new TextEncoder();
  // Web Crypto refuses an empty key.
  const key = await crypto.subtle.importKey(
    "raw",
    encoder.encode(secret || " "),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  const bytes = new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text)));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * The request as a line for a POSIX shell.
 * @param {SentRequest} request
 */
export function asCurl({ url, headers, body }) {
  const quoted = (/** @type {string} */ text) => `'${text.replaceAll("'", "'\\''")}'`;
  const lines = Object.entries(headers).map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)} \\\n`);
  return `curl -X POST ${quoted(url)} \\\n${lines.join("")}  --data-raw ${quoted(body)}`;
}

/** @param {string} text */
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** @param {string} text */
function code(text) {
  return h("pre", { tabindex: 0 }, text);
}
