// @ts-check
import { copyButton, h } from "./dom.js";
import { shortId } from "./format.js";
import { isAddress } from "../assets/strkey.js";

/** Links to the screens of things. */

/** @param {string | undefined | null} deviceHash */
export function cardLink(deviceHash) {
  return deviceHash
    ? h("a", { href: `#/cards/${deviceHash}`, title: deviceHash, class: "id" }, shortId(deviceHash))
    : null;
}

/** @param {string | undefined | null} address */
export function accountLink(address) {
  return address ? h("a", { href: `#/accounts/${address}`, title: address, class: "id" }, shortId(address)) : null;
}

/** @param {string | undefined | null} hash */
export function transactionLink(hash) {
  return hash ? h("a", { href: `#/transactions/${hash}`, title: hash, class: "id" }, shortId(hash)) : null;
}

/** @param {{ id: string, url: string }} webhook */
export function webhookLink({ id, url }) {
  return h("a", { href: `#/webhooks/${id}`, title: url, class: "url" }, withoutScheme(url));
}

/** @param {string} url */
export function withoutScheme(url) {
  return url.replace(/^https?:\/\//, "");
}

/** A whole id, which may break anywhere, with a button that copies it. @param {string} id @param {string} what */
export function wholeId(id, what) {
  return h(
    "span",
    { class: "whole" },
    h("code", {}, id),
    copyButton("Copy", () => id, { class: "small quiet", "aria-label": `Copy the ${what}` }),
  );
}

/**
 * The screen of an id; undefined for another text. A hash of 64 digits opens the card, which links to the transaction.
 * @param {string} text
 */
export function pageOf(text) {
  const id = text.trim();
  if (/^[0-9a-f]{64}$/i.test(id)) return `#/cards/${id.toLowerCase()}`;
  if (/^wh_[0-9A-Za-z]{1,40}$/.test(id)) return `#/webhooks/${id}`;
  if (/^([1-9]\d{0,3}-)?\d{19}-\d{10}$/.test(id)) return `#/events/${id}`;
  const upper = id.toUpperCase();
  return isAddress(upper) ? `#/accounts/${upper}` : undefined;
}

/** The ids that the search takes, for error messages. */
export const LOOK_UP_HINT =
  "a card or transaction (64 hex digits), an account (G…) or contract (C…), a webhook (wh_…), an event's id";
