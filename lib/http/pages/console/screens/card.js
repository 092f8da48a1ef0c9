// @ts-check
/** @import { Event } from "../event_views.js" */
import { get, isMissing } from "../api.js";
import { amountOf, assetName } from "../assets.js";
import { standingByEvent, standingLines } from "../deliveries.js";
import { facts, failure, fill, h, moreButton, panel, tag } from "../dom.js";
import { eventsBefore, typeTag } from "../event_views.js";
import { listen } from "../feed.js";
import { ago, grouped, nowMs, timeLeft } from "../format.js";
import { accountLink, transactionLink, wholeId } from "../links.js";

/** A card: its owner, its policy, its escrow and its events. */

/** @typedef {{ agent: string | null, maxAmount: string | null, asset: string | null, expiresAt: number | null }} Policy */
/** @typedef {{ deviceHash: string, owner: string, policy: Policy, escrowBalance: string }} Card */

const PAGE = 50;
/** The pause between an event and the reload, so that several events of a ledger need one. */
const AFTER_EVENT_MS = 500;

/** @param {import("../screens.js").Visit} visit @returns {import("../screens.js").Screen} */
export function card({ part: deviceHash, signal }) {
  const now = panel("Now", { class: "wide" });
  const timeline = panel("Timeline", { class: "wide" });
  /** The asset of its policy. A movement in another asset gets a flag. @type {string | null} */
  let asset = null;

  async function load() {
    try {
      /** @type {Card} */
      const found = await get(`v1/devices/${deviceHash}`, {}, signal);
      asset = found.policy.asset;
      fill(now.body, cardFacts(found));
    } catch (error) {
      if (!signal.aborted) fill(now.body, isMissing(error) ? await missing(deviceHash, signal) : failure(error));
    }
    await loadTimeline();
  }

  async function loadTimeline() {
    try {
      const page = await eventsBefore({ deviceHash }, { limit: PAGE, signal });
      const standings = await standingByEvent();
      fill(
        timeline.body,
        page.events.length === 0
          ? h("p", { class: "dim" }, "The history has no event of this card.")
          : timelineOf(page, deviceHash, { standings, asset, signal }),
      );
    } catch (error) {
      if (!signal.aborted) fill(timeline.body, failure(error));
    }
  }

  void load();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  listen({
    event(event) {
      if (event.deviceHash !== deviceHash) return;
      clearTimeout(timer);
      timer = setTimeout(() => signal.aborted || load(), AFTER_EVENT_MS);
    },
  }, signal);
  return { title: "Card", content: [h("p", {}, wholeId(deviceHash, "card's hash")), now.section, timeline.section] };
}

/** @param {Card} card */
function cardFacts({ owner, policy, escrowBalance }) {
  const { agent, maxAmount, asset, expiresAt } = policy;
  const isOver = expiresAt !== null && expiresAt * 1_000 < nowMs();
  return facts([
    ["Owner", h("a", { href: `#/accounts/${owner}` }, h("code", {}, owner))],
    ["In escrow", [
      amountOf(escrowBalance, asset),
      agent === null && escrowBalance !== "0" && tag("doubt", "no agent can spend this"),
    ]],
    ...(agent === null
      ? [/** @type {[string, string]} */ (["Policy", "none, no agent is registered"])]
      : /** @type {[string, import("../dom.js").Child][]} */ ([
        ["Agent", h("a", { href: `#/accounts/${agent}` }, h("code", {}, agent))],
        ["Each payment", maxAmount === "0" ? "no cap" : ["at most ", amountOf(maxAmount, asset)]],
        ["Asset", asset && [assetName(asset), " ", h("code", {}, asset)]],
        [
          "Policy ends",
          expiresAt === null || expiresAt === 0
            ? "never"
            : [timeLeft(expiresAt), " ", isOver && tag("doubt", "expired, so payments are refused")],
        ],
      ])),
  ]);
}

/** A card may have a policy although the device registry does not know it. @param {string} deviceHash @param {AbortSignal} signal */
async function missing(deviceHash, signal) {
  const sentence = h(
    "p",
    {},
    "The device registry does not know this card. It was never registered, or its owner gave it up.",
  );
  /** @type {Policy | undefined} */
  const policy = await get(`v1/devices/${deviceHash}/policy`, {}, signal).catch(() => undefined);
  const transaction = h(
    "p",
    {},
    "If this is the hash of a transaction: ",
    h("a", { href: `#/transactions/${deviceHash}` }, "open the transaction"),
  );
  return h(
    "div",
    {},
    sentence,
    policy?.agent && h("p", {}, tag("doubt", "an agent is still registered"), " ", accountLink(policy.agent)),
    transaction,
  );
}

/**
 * @param {{ events: Event[], cursor: string }} first
 * @param {string} deviceHash
 * @param {{ standings: Awaited<ReturnType<typeof standingByEvent>>, asset: string | null, signal: AbortSignal }} options
 */
function timelineOf(first, deviceHash, { standings, asset, signal }) {
  const list = h("ol", { class: "timeline" });
  let { cursor } = first;
  const older = moreButton("Older", async () => {
    const page = await eventsBefore({ deviceHash }, { limit: PAGE, cursor, signal });
    cursor = page.cursor;
    add(page.events);
  });
  /** @param {Event[]} events */
  function add(events) {
    for (const [txHash, together] of Map.groupBy(events, (event) => event.txHash)) {
      list.append(moment(txHash, together));
    }
    older.hidden = events.length < PAGE;
  }
  /** One transaction with its events and their deliveries. @param {string} txHash @param {Event[]} events */
  function moment(txHash, events) {
    const { ledger, ledgerClosedAt } = /** @type {Event} */ (events[0]);
    return h(
      "li",
      {},
      h(
        "p",
        { class: "dim" },
        ago(ledgerClosedAt),
        ` · ledger ${grouped(ledger)} · transaction `,
        transactionLink(txHash),
      ),
      events.map((event) =>
        h(
          "div",
          { class: "moment" },
          h(
            "p",
            {},
            typeTag(event.type),
            " ",
            event.merchant && [h("span", { class: "dim" }, "to "), accountLink(event.merchant)],
            event.agent && [h("span", { class: "dim" }, "agent "), accountLink(event.agent)],
          ),
          amountOf(event.amount, event.asset, asset),
          standingLines(standings.get(event.id) ?? []),
        )
      ),
    );
  }
  add(first.events);
  return h("div", {}, list, older);
}
