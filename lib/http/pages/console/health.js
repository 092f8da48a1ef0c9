// @ts-check
/** @import { GatewayStatus } from "../../status_response.ts" */
/** @import { PublicWebhook } from "../../../webhooks/public_webhook.ts" */
import { counted, grouped, nowMs, span } from "./format.js";

/** What `/v1/status` and the webhooks say, judged: pure, so that the words can be tried without a browser. */

/** @typedef {{ tone: "doubt" | "bad", text: string }} Finding */

/** As docs/alerts.yml pages somebody. */
const LAG_SECONDS = 60;
const OLD_DELIVERY_SECONDS = 3_600;

/**
 * What is not well with the gateway and its network, the worst first.
 * @param {GatewayStatus} status
 * @param {boolean} isSandbox there a ledger may close only when something happens
 * @returns {Finding[]}
 */
export function troublesOf({ troubles, ledger, history, contracts, reads, nodes }, isSandbox) {
  /** @type {Finding[]} */
  const found = troubles.map((text) => bad(text));
  if (ledger.sequence === 0) found.push(bad("No RPC node has answered yet: nothing is known of the network."));
  else if (!isSandbox && (ledger.lagSeconds ?? 0) > LAG_SECONDS) {
    found.push(
      bad(
        `The newest ledger is ${
          span(ledger.lagSeconds ?? 0)
        } old: the network stands still, or every node is behind. Submits are not confirmed meanwhile.`,
      ),
    );
  }
  const ill = nodes.filter(({ condition }) => condition !== "well");
  for (const { node, condition, problem } of ill) {
    const text = `The node ${node} is ${condition}${problem === null ? "" : `: ${problem}`}.`;
    found.push(ill.length === nodes.length && condition !== "doubted" ? bad(text) : doubt(text));
  }
  for (const { contract, problem } of contracts) {
    if (problem !== null) found.push(bad(`The ${contract} contract: ${problem}.`));
  }
  for (const { fromLedger, toLedger } of history.gaps) {
    found.push(
      doubt(
        `Ledgers ${grouped(fromLedger)} to ${
          grouped(toLedger)
        } could not be read: their events are missing. They are asked for again now and then.`,
      ),
    );
  }
  if (history.undecodedEvents > 0) {
    found.push(
      doubt(
        `${
          counted(history.undecodedEvents, "event")
        } cannot be decoded by this version: a newer gateway decodes them in place.`,
      ),
    );
  }
  if (ledger.clockDisagreesBySeconds !== null) {
    found.push(
      doubt(`This machine's clock and the network's differ by ${span(Math.abs(ledger.clockDisagreesBySeconds))}.`),
    );
  }
  const byCalls = Object.entries(reads).filter(([, way]) => way === "calls").map(([kind]) => kind);
  if (byCalls.length > 0) {
    found.push(
      doubt(`Reads of ${byCalls.join(", ")} go the slow way, by the contracts' functions: gateway doctor says why.`),
    );
  }
  return found.sort((a, b) => Number(b.tone === "bad") - Number(a.tone === "bad"));
}

/** @typedef {{ count: number, last: { type: string, ledger: number } | null }} ForeignMovements */
/** @typedef {{ payments: number, merchants: number, firstAt: number | null, complete: boolean }} Expiring */

/**
 * What of money and of the news of it needs somebody: movements in an asset that they should not be in, payments that are
 * lost to their merchants soon, deliveries of all keys that are not taken.
 * @param {Pick<GatewayStatus, "deliveries"> & { bypassMovements?: ForeignMovements, expiring?: Expiring | null }} status
 * @returns {Finding[]}
 */
export function stuckMoney({ deliveries: { oldestSeconds, pending, atLeast }, bypassMovements, expiring }) {
  /** @type {Finding[]} */
  const found = [];
  const last = bypassMovements?.last ?? null;
  if (bypassMovements !== undefined && last !== null) {
    const times = counted(bypassMovements.count, "movement was", "movements were");
    found.push(
      bad(
        `${times} in a foreign asset, the last a ${last.type} in ledger ${
          grouped(last.ledger)
        }: the contracts keep one balance for all assets.`,
      ),
    );
  }
  if (expiring && expiring.payments > 0) {
    const when = expiring.firstAt === null ? "soon" : `within ${span(expiring.firstAt - nowMs() / 1_000)}`;
    const lost = counted(expiring.payments, "payment is lost", "payments are lost");
    found.push(doubt(`${lost} to ${counted(expiring.merchants, "merchant")} unless claimed, the first ${when}.`));
  }
  if (expiring?.complete === false) {
    found.push(doubt("Payments may be about to expire that are not shown: not all could be looked at yet."));
  }
  if ((oldestSeconds ?? 0) > OLD_DELIVERY_SECONDS) {
    const waiting = `${counted(pending, "webhook delivery waits", "webhook deliveries wait")}${
      atLeast ? " at least" : ""
    }`;
    found.push(doubt(`${waiting}, the oldest for ${span(oldestSeconds ?? 0)}.`));
  }
  return found;
}

/**
 * Webhooks in the order in which somebody should look at them.
 * @template {Pick<PublicWebhook, "failingSince" | "retrying" | "rejected" | "dead" | "createdAt">} T
 * @param {T[]} webhooks
 */
export function failingFirst(webhooks) {
  const weight = (/** @type {T} */ { failingSince, retrying, rejected, dead }) =>
    failingSince !== null ? 3 : dead + rejected > 0 ? 2 : retrying > 0 ? 1 : 0;
  return [...webhooks].sort((a, b) => weight(b) - weight(a) || Date.parse(b.createdAt) - Date.parse(a.createdAt));
}

/** @param {Pick<PublicWebhook, "failingSince" | "retrying" | "rejected" | "dead">} webhook */
export function isFailing({ failingSince, retrying, rejected, dead }) {
  return failingSince !== null || retrying + rejected + dead > 0;
}

/** @param {string} text @returns {Finding} */
function bad(text) {
  return { tone: "bad", text };
}

/** @param {string} text @returns {Finding} */
function doubt(text) {
  return { tone: "doubt", text };
}
