// @ts-check
import { fill, h } from "../dom.js";

/**
 * The answer to a question: one sentence, and the details beneath.
 * @param {Element} place
 * @param {import("../dom.js").Tone} tone
 * @param {string} sentence
 * @param {...import("../dom.js").Child} rest
 */
export function answer(place, tone, sentence, ...rest) {
  fill(place, h("p", { class: `answer ${tone}` }, sentence), ...rest);
}

/** @param {string} text */
export function note(text) {
  return h("p", { class: "dim" }, text);
}

/** @param {import("../health.js").Finding[]} found */
export function findings(found) {
  if (found.length === 0) return null;
  return h("ul", { class: "findings" }, found.map(({ tone, text }) => h("li", { class: tone }, text)));
}

/** @param {import("../health.js").Finding[]} found */
export function worstOf(found) {
  return found.some(({ tone }) => tone === "bad") ? "bad" : "doubt";
}
