// @ts-check
/** @import { PublicAttempt, PublicWebhook } from "../../../webhooks/public_webhook.ts" */
import { get, isOutOfScope } from "./api.js";
import { h, tag } from "./dom.js";
import { ago } from "./format.js";
import { webhookLink } from "./links.js";

/** How many attempts of each webhook are looked through for an event's. */
const LOOKED_THROUGH = 200;
/** How many of the key's webhooks are: it may have a hundred. */
const WEBHOOKS_LOOKED_AT = 10;
/** For so long what was loaded serves the next look: opening ten events must not ask ten times. */
const FRESH_MS = 3_000;

/** @typedef {{ webhook: PublicWebhook, attempts: PublicAttempt[] }} OfWebhook */

/** @typedef {{ webhooks: number, lookedAt: OfWebhook[] }} Recent */

/** @type {{ atMs: number, loaded: Promise<Recent> } | undefined} */
let recent;

/** Begins anew, with another key: what one was shown is not the next one's. */
export function forgetDeliveries() {
  recent = undefined;
}

/** How many webhooks the key has, and the newest attempts of the first. */
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

/** How an event stands with a webhook: by its newest attempt. @typedef {{ webhook: PublicWebhook, attempt: PublicAttempt, attempts: number }} Standing */

/**
 * How each event stands with this key's first webhooks, by event id; empty for a key without webhooks.
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

/** What came of an attempt. @param {PublicAttempt} attempt */
export function outcomeTag({ outcome, statusCode }) {
  const words = outcome === "retry" ? "to be tried again" : outcome === "dead" ? "given up" : outcome;
  return tag(TONES[outcome] ?? "plain", statusCode === null ? words : `${words} · ${statusCode}`);
}

/** How an event stands with each webhook, as lines. @param {Standing[]} standings */
export function standingLines(standings) {
  return h(
    "ul",
    { class: "told" },
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
    return h("p", { class: "dim" }, "This key has no scope webhooks: its deliveries are not shown.");
  }
  const found = (await standingByEvent()).get(eventId);
  const isPart = webhooks > WEBHOOKS_LOOKED_AT;
  const whose = isPart ? `the first ${WEBHOOKS_LOOKED_AT} of this key's ${webhooks} webhooks` : "this key's webhooks";
  const told = found === undefined
    ? `None by ${whose} among the newest ${LOOKED_THROUGH} attempts of each.`
    : isPart && `Of ${whose}.`;
  return h("div", {}, found && standingLines(found), told && h("p", { class: "dim" }, told));
}
