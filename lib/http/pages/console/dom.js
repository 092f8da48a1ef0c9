// @ts-check
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/** Only this file makes elements, from text and nodes. The page never reads an answer as markup. */

/** @typedef {Node | string | number | null | undefined | false} One */
/** @typedef {One | Many} Child */
/** @typedef {Child[]} Many */

/**
 * Makes an element. A property such as `onclick` adds a listener, and `true` an attribute without a value. Null, undefined and
 * false add nothing.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} [properties]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...nodes(children));
  return element;
}

/**
 * The children that exist, as nodes.
 * @param {Child[]} children
 * @returns {(Node | string)[]}
 */
function nodes(children) {
  const there = /** @type {One[]} */ (children.flat(/** @type {1} */ (Infinity))).filter((child) =>
    child !== null && child !== undefined && child !== false
  );
  return there.map((child) => typeof child === "number" ? String(child) : /** @type {Node | string} */ (child));
}

/**
 * Replaces the content of an element.
 * @param {Element} element
 * @param {...Child} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
}

/**
 * Announces a change of the page to screen readers.
 * @param {string} text
 */
export function say(text) {
  const place = document.getElementById("said");
  if (place !== null) place.textContent = text;
}

/**
 * A section under a heading, and the element for its content.
 * @param {string} title
 * @param {{ class?: string, beside?: Child }} [options] `beside` stands on the heading's line
 */
export function panel(title, options = {}) {
  const id = `panel-${title.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  const body = h("div", { class: "body" }, h("p", { class: "dim" }, "Loading …"));
  const head = h("div", { class: "head" }, h("h2", { id }, title), options.beside);
  const section = h("section", { class: `panel ${options.class ?? ""}`, "aria-labelledby": id }, head, body);
  return { section, body, head };
}

/**
 * Names and values, side by side.
 * @param {[name: string, value: Child][]} rows
 */
export function facts(rows) {
  return h("dl", { class: "facts" }, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

/**
 * A table. On a phone each row is a card, and each cell shows its heading.
 * @param {string} caption for screen readers
 * @param {string[]} headings
 * @param {Child[][]} rows
 */
export function table(caption, headings, rows) {
  return h(
    "table",
    {},
    h("caption", { class: "unseen" }, caption),
    h("thead", {}, h("tr", {}, headings.map((heading) => h("th", { scope: "col" }, heading)))),
    h("tbody", {}, rows.map((row) => tableRow(headings, row))),
  );
}

/**
 * @param {string[]} headings
 * @param {Child[]} cells
 */
export function tableRow(headings, cells) {
  return h("tr", {}, cells.map((cell, at) => h("td", { "data-heading": headings[at] }, cell)));
}

/** @typedef {"good" | "doubt" | "bad" | "plain"} Tone */

/**
 * A short word on a coloured ground. The word alone has the meaning, too.
 * @param {Tone} tone
 * @param {string} text
 * @param {string} [title]
 */
export function tag(tone, text, title) {
  return h("span", { class: `tag ${tone}`, title }, text);
}

/**
 * A button that ignores clicks while its action runs.
 * @param {string} text
 * @param {(event: MouseEvent) => unknown} onclick
 * @param {Record<string, any>} [properties]
 */
export function button(text, onclick, properties = {}) {
  let isUnderWay = false;
  /** @param {MouseEvent} event */
  async function press(event) {
    if (isUnderWay) return;
    isUnderWay = true;
    try {
      await onclick(event);
    } finally {
      isUnderWay = false;
    }
  }
  return h("button", { type: "button", ...properties, onclick: press }, text);
}

/**
 * A button that loads more of a list. After a failure it shows the reason beneath, and works again.
 * @param {string} text
 * @param {() => Promise<unknown>} load
 */
export function moreButton(text, load) {
  const problem = h("div");
  const pressed = button(text, async () => {
    fill(problem);
    await load().catch((error) => fill(problem, failure(error)));
  });
  return h("div", { class: "load-more", hidden: true }, pressed, problem);
}

/**
 * A button that copies a text and shows whether it did. Over plain HTTP a browser has no clipboard.
 * @param {string} label
 * @param {() => string} text
 * @param {Record<string, any>} [properties]
 */
export function copyButton(label, text, properties = {}) {
  const made = button(label, async () => {
    const isCopied = await navigator.clipboard?.writeText(text()).then(() => true, () => false);
    made.textContent = isCopied ? "Copied" : "Cannot copy";
    say(`${made.textContent}: ${label}`);
    setTimeout(() => made.textContent = label, 1_500);
  }, properties);
  return made;
}

/**
 * An error message, in the place of the failed content.
 * @param {unknown} error
 */
export function failure(error) {
  const message = error instanceof Error ? error.message : String(error);
  return h("p", { class: "failure", role: "alert" }, message);
}
