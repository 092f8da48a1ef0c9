// @ts-check
/** @import { PublicEvent } from "../../../store/event.ts" */
import { get } from "./api.js";
import { amountOf, assetName } from "./assets.js";
import { button, facts, failure, fill, h, moreButton, tableRow, tag } from "./dom.js";
import { ago, grouped, utc } from "./format.js";
import { accountLink, cardLink, transactionLink, wholeId } from "./links.js";
import { deliveriesOf } from "./deliveries.js";

/** An event as the API returns it. Only a movement has `asset`. @typedef {PublicEvent & { asset?: string | null }} Event */

export const EVENT_TYPES = [
  "device.registered",
  "device.revoked",
  "agent.registered",
  "agent.revoked",
  "escrow.funded",
  "escrow.defunded",
  "escrow.swept",
  "payment.authorized",
  "payment.claimed",
];

/** The colours of types; other types have none. @type {Record<string, import("./dom.js").Tone>} */
const TONES = {
  "device.revoked": "doubt",
  "agent.revoked": "doubt",
  "payment.authorized": "good",
  "payment.claimed": "good",
};

/** @param {string} type */
export function typeTag(type) {
  return tag(TONES[type] ?? "plain", type);
}

const HEADINGS = ["When", "Event", "Who", "Amount", "Ledger", "Transaction", ""];

/** The table of events, and its body for the rows. */
export function eventTable() {
  const body = h("tbody");
  const element = h(
    "table",
    { class: "events" },
    h("caption", { class: "unseen" }, "Events, the newest first"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        HEADINGS.map((heading) => h("th", { scope: "col" }, heading || h("span", { class: "unseen" }, "Details"))),
      ),
    ),
    body,
  );
  return { element, body };
}

/** The card and the accounts of an event. @param {Event} event */
function subjects({ deviceHash, merchant, agent }) {
  const parts = [
    deviceHash && [h("span", { class: "dim" }, "card "), cardLink(deviceHash)],
    merchant && [h("span", { class: "dim" }, deviceHash ? " to " : "merchant "), accountLink(merchant)],
    agent && [h("span", { class: "dim" }, " agent "), accountLink(agent)],
  ];
  return parts.filter((part) => part).flat();
}

/**
 * The row of an event. Its button opens a second row with the details.
 * @param {Event} event
 * @param {boolean} [isNew] whether the event has just come
 */
export function eventRows(event, isNew = false) {
  const open = button("Details", () => {
    const isOpen = open.getAttribute("aria-expanded") === "true";
    open.setAttribute("aria-expanded", String(!isOpen));
    if (isOpen) row.nextElementSibling?.remove();
    else row.after(h("tr", { class: "more" }, h("td", { colspan: HEADINGS.length }, eventDetails(event))));
  }, {
    class: "small quiet",
    "aria-expanded": "false",
    "aria-label": `Details of ${event.type} in ledger ${event.ledger}`,
  });
  const row = tableRow(HEADINGS, [
    ago(event.ledgerClosedAt),
    typeTag(event.type),
    h("span", {}, subjects(event)),
    amountOf(event.amount, event.asset),
    grouped(event.ledger),
    transactionLink(event.txHash),
    open,
  ]);
  if (isNew) row.classList.add("new");
  return row;
}

/** The details of an event. @param {Event} event */
export function eventDetails(event) {
  const { id, contractId, ledger, ledgerClosedAt, txHash, deviceHash, agent, merchant, amount, asset } = event;
  const deliveries = h("div", {}, h("p", { class: "dim" }, "Loading deliveries …"));
  void showDeliveries(deliveries, id);
  return h(
    "div",
    { class: "details" },
    facts([
      ["Event", wholeId(id, "event's id")],
      ...optional("Card", deviceHash && h("a", { href: `#/cards/${deviceHash}` }, h("code", {}, deviceHash))),
      ...optional("Merchant", merchant && h("a", { href: `#/accounts/${merchant}` }, h("code", {}, merchant))),
      ...optional("Agent", agent && h("a", { href: `#/accounts/${agent}` }, h("code", {}, agent))),
      ...optional("Amount", amount && amountOf(amount, asset)),
      ...optional("Asset", asset && [assetName(asset), " ", h("code", {}, asset)]),
      ["Ledger", `${grouped(ledger)}, closed ${utc(ledgerClosedAt)}`],
      ["Transaction", h("a", { href: `#/transactions/${txHash}` }, h("code", {}, txHash))],
      ["Contract", h("code", {}, contractId)],
    ]),
    h("h2", {}, "Deliveries of this event"),
    deliveries,
  );
}

/** @param {string} name @param {import("./dom.js").Child} value @returns {[string, import("./dom.js").Child][]} */
function optional(name, value) {
  return value ? [[name, value]] : [];
}

/** @param {Element} place @param {string} eventId */
async function showDeliveries(place, eventId) {
  try {
    const found = await deliveriesOf(eventId);
    fill(place, found);
  } catch (error) {
    fill(place, failure(error));
  }
}

/**
 * A page of matching events, newest first.
 * @param {Record<string, string | undefined>} filter
 * @param {{ cursor?: string, limit?: number, signal?: AbortSignal }} [page]
 * @returns {Promise<{ events: Event[], cursor: string, latestLedger: number, oldestLedger: number | null }>}
 */
export function eventsBefore(filter, { cursor, limit = 50, signal } = {}) {
  return get("v1/events", { ...filter, order: "desc", limit, cursor }, signal);
}

/** The number of rows that stay when new ones come. */
const MOST_ROWS = 500;

/**
 * A table of matching events, the newest first, with a button for older ones.
 * @param {Record<string, string | undefined>} filter
 * @param {AbortSignal} signal
 * @param {string} nothing the text for an empty list
 * @param {{ limit?: number, hasOlder?: boolean }} [options]
 */
export function eventList(filter, signal, nothing, { limit = 50, hasOlder = true } = {}) {
  const { element, body } = eventTable();
  const older = moreButton("Older events", load);
  const place = h("div", { class: "event-list" }, h("p", { class: "dim" }, "Loading …"));
  /** @type {{ event: Event, row: HTMLElement }[]} newest first */
  const rows = [];
  /** @type {Set<string>} */
  const shown = new Set();
  let isLoaded = false;
  /**
   * The start of the next page of older events.
   * @type {{ cursor?: string, toLedger?: number }}
   */
  let next = {};

  async function load() {
    const { cursor, toLedger } = next;
    const bounded = toLedger === undefined ? filter : { ...filter, toLedger: String(toLedger) };
    const page = await eventsBefore(bounded, { cursor, limit, signal });
    // Rows that the list dropped meanwhile come first.
    if (next.cursor === cursor && next.toLedger === toLedger) next = { cursor: page.cursor, toLedger };
    for (const event of page.events) {
      if (shown.has(event.id)) continue;
      shown.add(event.id);
      const row = eventRows(event);
      rows.push({ event, row });
      body.append(row);
    }
    if (!isLoaded) {
      if (rows.length === 0) fill(place, h("p", { class: "dim" }, nothing));
      else fill(place, element, older);
    }
    isLoaded = true;
    older.hidden = !hasOlder || page.events.length < limit;
  }

  async function begin() {
    try {
      await load();
    } catch (error) {
      if (!signal.aborted) fill(place, failure(error), button("Try again", begin));
    }
  }

  /** Adds a new event on top. @param {Event} event */
  function add(event) {
    if (shown.has(event.id)) return;
    shown.add(event.id);
    const row = eventRows(event, true);
    rows.unshift({ event, row });
    body.prepend(row);
    if (!isLoaded) return;
    if (!element.isConnected) fill(place, element, older);
    if (rows.length > (hasOlder ? MOST_ROWS : limit)) dropLast();
  }

  /** Drops the last row. The next page begins at the new end of the list. */
  function dropLast() {
    const last = rows.pop();
    if (last === undefined) return;
    const { event, row } = last;
    if (row.nextElementSibling?.classList.contains("more")) row.nextElementSibling.remove();
    row.remove();
    shown.delete(event.id);
    next = { toLedger: event.ledger };
    older.hidden = !hasOlder;
  }

  void begin();
  return { place, add };
}
