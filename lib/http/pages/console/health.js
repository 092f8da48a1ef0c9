// @ts-check
/** @import { GatewayStatus } from "../../status_response.ts" */
/** @import { PublicWebhook } from "../../../webhooks/public_webhook.ts" */
import { counted, grouped, msOf, nowMs, span, utc } from "./format.js";

/** Judges `/v1/status` and the webhooks. The functions are pure, so that tests need no browser. */

/** @typedef {{ tone: "doubt" | "bad", text: string }} Finding */

/** The thresholds of docs/alerts.yml. */
const LAG_SECONDS = 60;
const OLD_DELIVERY_SECONDS = 3_600;

/**
 * The problems of the gateway and its network, the worst first.
 * @param {GatewayStatus} status
 * @param {boolean} isSandbox in a sandbox a ledger may close only after a transaction
 * @returns {Finding[]}
 */
export function troublesOf({ troubles, ledger, history, contracts, reads, nodes }, isSandbox) {
  /** @type {Finding[]} */
  const found = troubles.map((text) => bad(text));
  if (ledger.sequence === 0) found.push(bad("No RPC node has answered yet. The gateway knows nothing of the network."));
  else if (!isSandbox && (ledger.lagSeconds ?? 0) > LAG_SECONDS) {
    found.push(
      bad(
        `The newest ledger is ${
          span(ledger.lagSeconds ?? 0)
        } old. The network stands still, or every node lags. Submits do not confirm meanwhile.`,
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
  for (const { fromLedger, toLedger, reason } of history.gaps) {
    const ledgers = `${grouped(fromLedger)} to ${grouped(toLedger)}`;
    const text = reason === "start"
      ? `The gateway is still reading ledgers ${ledgers}, which closed before its first start.`
      : `Ledgers ${ledgers} are a gap: their events are missing. The gateway retries them.`;
    found.push(doubt(text));
  }
  if (history.undecodedEvents > 0) {
    found.push(
      doubt(
        `${
          counted(history.undecodedEvents, "event")
        } cannot be decoded by this version. A newer version of the gateway decodes them.`,
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
      doubt(
        `Reads of ${
          byCalls.join(", ")
        } go the slow way, by the contracts' functions. Run gateway doctor for the reason.`,
      ),
    );
  }
  return found.sort((a, b) => Number(b.tone === "bad") - Number(a.tone === "bad"));
}

/**
 * Since when payments, claims and deliveries are not known, as text; empty without a known time, and undefined while the
 * gateway follows the network.
 * @param {Pick<GatewayStatus, "ledger" | "history">} status
 * @param {boolean} isSandbox
 * @returns {string | undefined}
 */
export function unknownSince({ ledger, history }, isSandbox) {
  if (ledger.sequence === 0) return "";
  if (history.unknownSince !== null) return sinceTime(history.unknownSince);
  if (isSandbox || ledger.closedAt === null || (ledger.lagSeconds ?? 0) <= LAG_SECONDS) return undefined;
  return sinceTime(ledger.closedAt);
}

/** @param {string} time ISO 8601 */
export function sinceTime(time) {
  const at = utc(time);
  return ` since ${nowMs() - msOf(time) < 86_400_000 ? `${at.slice(11, 16)} UTC` : at}`;
}

/** @typedef {{ count: number, last: { type: string, ledger: number } | null }} ForeignMovements */
/** @typedef {{ payments: number, merchants: number, firstAt: number | null, complete: boolean }} Expiring */
/** @typedef {{ payments: number, last: { expiredAt: string } | null }} Expired */

/**
 * The problems that need the operator because of money: movements in an unaccepted asset, lost payments, payments that
 * expire soon, and late deliveries.
 * @param {Pick<GatewayStatus, "deliveries"> & {
 *   bypassMovements?: ForeignMovements,
 *   expiring?: Expiring,
 *   expired?: Expired,
 * }} status
 * @returns {Finding[]}
 */
export function stuckMoney({ deliveries: { oldestSeconds, pending, atLeast }, bypassMovements, expiring, expired }) {
  /** @type {Finding[]} */
  const found = [];
  const last = bypassMovements?.last ?? null;
  if (bypassMovements !== undefined && last !== null) {
    const times = counted(bypassMovements.count, "movement was", "movements were");
    found.push(
      bad(
        `${times} in an unaccepted asset, the last a ${last.type} in ledger ${
          grouped(last.ledger)
        }. The contracts keep one balance for all assets.`,
      ),
    );
  }
  if (expired !== undefined && expired.last !== null) {
    const lost = counted(expired.payments, "payment expired", "payments expired");
    found.push(
      bad(`${lost} unclaimed, the last${sinceTime(expired.last.expiredAt)}. Acknowledge with gateway payments.`),
    );
  }
  if (expiring && expiring.payments > 0) {
    const when = expiring.firstAt === null ? "soon" : `within ${span(expiring.firstAt - nowMs() / 1_000)}`;
    const lost = counted(expiring.payments, "payment is lost", "payments are lost");
    found.push(doubt(`${lost} to ${counted(expiring.merchants, "merchant")} without a claim, the first ${when}.`));
  }
  if (expiring?.complete === false) {
    found.push(doubt("More payments may expire soon. The gateway has not read all of them yet."));
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
 * Webhooks in the order of urgency.
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
