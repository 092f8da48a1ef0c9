// @ts-check
/** @import { PublicAttempt, PublicWebhook } from "../../../webhooks/public_webhook.ts" */
import { get, isOutOfScope } from "./api.js";
import { h, tag } from "./dom.js";
import { ago } from "./format.js";
import { webhookLink } from "./links.js";

/** The number of attempts of each webhook that the page searches. */
const LOOKED_THROUGH = 200;
/** The number of webhooks that the page searches. A key may have 100. */
const WEBHOOKS_LOOKED_AT = 10;
/** The page reuses attempts of this age, so that ten opened events need one request. */
const FRESH_MS = 3_000;

/** @typedef {{ webhook: PublicWebhook, attempts: PublicAttempt[] }} OfWebhook */

/** @typedef {{ webhooks: number, lookedAt: OfWebhook[] }} Recent */

/** @type {{ atMs: number, loaded: Promise<Recent> } | undefined} */
let recent;

/** Empties the cache before a session with another key. */
export function forgetDeliveries() {
  recent = undefined;
}

/** The number of webhooks of the key, and the newest attempts of the first ones. */
function recentAttempts() {
  if (recent === undefined || Date.now() - recent.atMs > FRESH_MS) {
    recent = { atMs: Date.now(), loaded: loadAttempts() };
    recent.loaded.catch(() => recent = undefined);
  }
  return recent.loaded;
}

async function loadAttempts() {
  /** @type {{ webhooks: PublicWebhook[] }} */
  const { webhooks } = await get("v1/webhooks");
  const lookedAt = await Promise.all(
    webhooks.slice(0, WEBHOOKS_LOOKED_AT).map(async (webhook) => {
      const { deliveries } = await get(`v1/webhooks/${webhook.id}/deliveries`, { limit: LOOKED_THROUGH });
      return { webhook, attempts: deliveries };
    }),
  );
  return { webhooks: webhooks.length, lookedAt };
}

/** The state of an event at a webhook, by its newest attempt. */
/** @typedef {{ webhook: PublicWebhook, attempt: PublicAttempt, attempts: number }} Standing */

/**
 * The states of each event at this key's first webhooks, by event id; empty for a key without webhooks.
 * @returns {Promise<Map<string, Standing[]>>}
 */
export async function standingByEvent() {
  const { lookedAt } = await recentAttempts().catch((error) => {
    if (isOutOfScope(error)) return /** @type {Recent} */ ({ webhooks: 0, lookedAt: [] });
    throw error;
  });
  /** @type {Map<string, Standing[]>} */
  const byEvent = new Map();
  for (const { webhook, attempts } of lookedAt) {
    for (const [eventId, made] of Map.groupBy(attempts, ({ eventId }) => eventId)) {
      const standing = { webhook, attempt: /** @type {PublicAttempt} */ (made[0]), attempts: made.length };
      byEvent.set(eventId, [...byEvent.get(eventId) ?? [], standing]);
    }
  }
  return byEvent;
}

/** @type {Record<string, import("./dom.js").Tone>} */
const TONES = { delivered: "good", retry: "doubt", rejected: "bad", dead: "bad" };

/** The outcome of an attempt. @param {PublicAttempt} attempt */
export function outcomeTag({ outcome, statusCode }) {
  const text = outcome === "retry" ? "retrying" : outcome;
  return tag(TONES[outcome] ?? "plain", statusCode === null ? text : `${text} · ${statusCode}`);
}

/** The state of an event at each webhook, one a line. @param {Standing[]} standings */
export function standingLines(standings) {
  return h(
    "ul",
    { class: "standings" },
    standings.map(({ webhook, attempt, attempts }) =>
      h(
        "li",
        {},
        webhookLink(webhook),
        " ",
        outcomeTag(attempt),
        " ",
        h(
          "small",
          { class: "dim" },
          attempts > 1 && `${attempts} attempts, the last `,
          ago(attempt.at),
          `, in ${attempt.durationMs} ms`,
        ),
      )
    ),
  );
}

/** The deliveries of one event by this key's webhooks. @param {string} eventId */
export async function deliveriesOf(eventId) {
  let webhooks;
  try {
    ({ webhooks } = await recentAttempts());
  } catch (error) {
    if (!isOutOfScope(error)) throw error;
    return h("p", { class: "dim" }, "This key lacks the scope webhooks, so the page shows no deliveries.");
  }
  const found = (await standingByEvent()).get(eventId);
  const isPart = webhooks > WEBHOOKS_LOOKED_AT;
  const whose = isPart ? `the first ${WEBHOOKS_LOOKED_AT} of this key's ${webhooks} webhooks` : "this key's webhooks";
  const note = found === undefined
    ? `None of ${whose} has an attempt for it among its newest ${LOOKED_THROUGH}.`
    : isPart && `These are ${whose}.`;
  return h("div", {}, found && standingLines(found), note && h("p", { class: "dim" }, note));
}
