// @ts-check
import { h } from "./dom.js";

/** A narrow space without a line break. */
const GROUP_SPACE = "\u202f";

/**
 * `1234567` → `1 234 567`. It takes digits of any length, because amounts may exceed a number.
 * @param {string | number} digits
 */
export function grouped(digits) {
  return String(digits).replace(/\B(?=(\d{3})+(?!\d))/g, GROUP_SPACE);
}

/** The largest amount has 39 digits. A token may claim four billion decimals, more zeros than a text can have. */
const MOST_DECIMALS = 38;

/**
 * An amount of the smallest unit in whole ones: `12500000` with 7 decimals → `1.25`.
 * @param {string} amount decimal digits, with a minus when it is negative
 * @param {number} decimals
 * @returns {string}
 */
export function inUnits(amount, decimals) {
  if (amount.startsWith("-")) return `-${inUnits(amount.slice(1), decimals)}`;
  if (decimals > MOST_DECIMALS) return `${grouped(amount)} × 10^-${decimals}`;
  const padded = amount.padStart(decimals + 1, "0");
  const whole = padded.slice(0, padded.length - decimals);
  const part = padded.slice(padded.length - decimals).replace(/0+$/, "");
  return grouped(whole) + (part === "" ? "" : `.${part}`);
}

/**
 * A hash, address or id by its two ends.
 * @param {string} id
 */
export function shortId(id) {
  return id.length <= 16 ? id : `${id.slice(0, 6)}…${id.slice(-6)}`;
}

/**
 * A time span in its largest unit that is not zero, and the next: `2 d 5 h`.
 * @param {number} seconds
 */
export function span(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3_600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return two(Math.floor(s / 3_600), "h", Math.floor(s % 3_600 / 60), "min");
  return two(Math.floor(s / 86_400), "d", Math.floor(s % 86_400 / 3_600), "h");
}

/**
 * @param {number} large @param {string} unit
 * @param {number} small @param {string} smallUnit
 */
function two(large, unit, small, smallUnit) {
  return small === 0 || large > 9 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smallUnit}`;
}

/**
 * Unix milliseconds of what the gateway writes: ISO 8601, or Unix seconds.
 * @param {string | number} time
 */
export function msOf(time) {
  return typeof time === "number" ? time * 1_000 : Date.parse(time);
}

/** By how much the network's time is ahead of this browser's: in the sandbox it is moved at will. */
let aheadMs = 0;

/**
 * Learns the network's time from a ledger that has just closed.
 * @param {string} closedAt ISO 8601
 * @param {number} lagSeconds how long ago, by the gateway
 */
export function learnTime(closedAt, lagSeconds) {
  const difference = Date.parse(closedAt) + lagSeconds * 1_000 - Date.now();
  aheadMs = Math.abs(difference) > 60_000 ? difference : 0;
}

/** The network's time, Unix ms. */
export function nowMs() {
  return Date.now() + aheadMs;
}

/**
 * The time since then. `tick` updates it.
 * @param {string | number} time
 */
export function ago(time) {
  return timeElement(time, "ago");
}

/**
 * The time until then. `tick` updates it.
 * @param {string | number} time
 */
export function timeLeft(time) {
  return timeElement(time, "left");
}

/**
 * @param {string | number} time
 * @param {"ago" | "left"} kind
 */
function timeElement(time, kind) {
  const date = new Date(msOf(time));
  // The end of a policy on the chain has 64 bits.
  if (Number.isNaN(date.getTime())) return h("span", {}, "beyond the calendar");
  const iso = date.toISOString();
  const element = h("time", {
    datetime: iso,
    title: iso.replace("T", " ").replace(/(\.\d+)?Z$/, " UTC"),
    "data-kind": kind,
  });
  element.textContent = worded(date.getTime(), kind);
  return element;
}

/**
 * @param {number} ms
 * @param {string | undefined} kind
 */
function worded(ms, kind) {
  const seconds = (ms - nowMs()) / 1_000;
  if (kind === "left") return seconds > 0 ? `${span(seconds)} left` : `ended ${span(-seconds)} ago`;
  return seconds > 1 ? `in ${span(seconds)}` : -seconds < 2 ? "just now" : `${span(-seconds)} ago`;
}

/** Updates every time on the page. */
export function tick() {
  for (const element of document.querySelectorAll("time")) {
    const text = worded(Date.parse(element.dateTime), element.dataset.kind);
    if (element.textContent !== text) element.textContent = text;
  }
}

/**
 * A date and time in UTC, to the second.
 * @param {string | number} time
 */
export function utc(time) {
  const iso = new Date(msOf(time)).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}

/**
 * @param {number} n
 * @param {string} one
 * @param {string} [many]
 */
export function counted(n, one, many = `${one}s`) {
  return `${grouped(n)} ${n === 1 ? one : many}`;
}
