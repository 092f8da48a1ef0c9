// Search over all pages. The gateway serves their text as one file, and the page searches it by itself.

/** `text` is the body in lower case. */
/** @typedef {{ title: string, page: string, href: string, text: string, body: string }} Section */

const MAX_RESULTS = 10;
/** Characters of an excerpt, and of the part of it before the first match. */
const EXCERPT = 140;
const BEFORE_MATCH = 40;

/** @param {HTMLFormElement} form @param {URL} root the gateway's */
export function workSearch(form, root) {
  const input = form.querySelector("input");
  const list = form.querySelector("[role=listbox]");
  const state = form.querySelector("[role=status]");
  /** @type {Promise<Section[]> | undefined} */
  let loading;
  let active = -1;

  function load() {
    return loading ??= loadSections(root).catch((error) => {
      loading = undefined;
      throw error;
    });
  }

  function close() {
    list.replaceChildren();
    list.hidden = true;
    state.textContent = "";
    input.setAttribute("aria-expanded", "false");
    activate(-1);
  }

  /** @param {number} index -1: none */
  function activate(index) {
    active = index;
    for (const [at, option] of [...list.children].entries()) option.ariaSelected = String(at === index);
    const option = list.children[index];
    if (option === undefined) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  }

  async function show() {
    const query = input.value;
    const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
    if (words.length === 0) return close();
    if (list.hidden) state.textContent = "The search index loads …";
    try {
      const sections = await load();
      if (query !== input.value || document.activeElement !== input) return;
      const found = findSections(sections, words);
      list.replaceChildren(...found.slice(0, MAX_RESULTS).map((section, index) => optionFor(section, words, index)));
      list.hidden = found.length === 0;
      input.setAttribute("aria-expanded", String(found.length > 0));
      state.textContent = countText(found.length);
      activate(found.length > 0 ? 0 : -1);
    } catch {
      close();
      state.textContent = "The search index does not load. Check that the gateway runs, then type again.";
    }
  }

  input.addEventListener("focus", () => load().catch(() => {}));
  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const count = list.childElementCount;
    if (step !== 0 && count > 0) {
      event.preventDefault();
      activate((active + step + count) % count);
    } else if (event.key === "Escape") {
      event.preventDefault();
      if (input.value === "") input.blur();
      input.value = "";
      close();
    }
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    // The index may still be loading.
    if (list.hidden) await show();
    list.children[active]?.click();
  });
  list.addEventListener("click", close);
  // A press on an option must not take the focus: the list would close before the click.
  list.addEventListener("mousedown", (event) => event.preventDefault());
  form.addEventListener("focusout", ({ relatedTarget }) => form.contains(relatedTarget) || close());
  input.addEventListener("focus", show);
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest("input, textarea, select, [contenteditable]") !== null;
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
  form.hidden = false;
}

/** @param {URL} root @returns {Promise<Section[]>} */
async function loadSections(root) {
  const answer = await fetch(new URL("docs/search.json", root));
  if (!answer.ok) throw new Error(`search.json answers ${answer.status}`);
  const { pages } = await answer.json();
  return pages.flatMap(({ path, title, sections }) =>
    sections.map(([id, heading, body]) => ({
      title: heading || title,
      page: heading === "" ? "" : title,
      href: new URL(id === "" ? path : `${path}#${id}`, root).href,
      text: body.toLowerCase(),
      body,
    }))
  );
}

/** The sections that have all words, best first. @param {Section[]} sections @param {string[]} words in lower case */
function findSections(sections, words) {
  const scored = sections.map((section) => ({ section, score: scoreOf(section, words) }));
  return scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score).map(({ section }) => section);
}

/** The heading counts more than the page's title, and both more than the text. 0: a word is missing. */
function scoreOf({ title, page, text }, words) {
  const phrase = words.join(" ");
  const heading = title.toLowerCase();
  let score = (heading.includes(phrase) ? 30 : 0) + (text.includes(phrase) ? 5 : 0);
  for (const word of words) {
    const found = 20 * matchOf(heading, word) || 6 * matchOf(page.toLowerCase(), word) || matchOf(text, word);
    if (found === 0) return 0;
    score += found;
  }
  return score;
}

/** 2 where a word of the text begins with it, 1 where it is elsewhere in the text, 0 where it is not. */
function matchOf(text, word) {
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    if (at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1])) return 2;
  }
  return text.includes(word) ? 1 : 0;
}

function countText(count) {
  if (count === 0) return "No section has all these words.";
  if (count > MAX_RESULTS) return `The best ${MAX_RESULTS} of ${count} sections`;
  return count === 1 ? "1 section" : `${count} sections`;
}

/** @param {Section} section @param {string[]} words @param {number} index */
function optionFor({ title, page, href, body, text }, words, index) {
  const option = document.createElement("a");
  option.id = `search-result-${index}`;
  option.href = href;
  option.tabIndex = -1;
  option.setAttribute("role", "option");
  const name = document.createElement("strong");
  name.append(...marked(title, words));
  const where = document.createElement("span");
  where.className = "dim";
  where.textContent = page === "" ? "" : ` ${page}`;
  const excerpt = document.createElement("span");
  excerpt.className = "excerpt";
  excerpt.append(...marked(excerptOf(body, text, words), words));
  option.append(name, where, excerpt);
  return option;
}

/** The part of the text around the first match, in whole words. */
function excerptOf(body, text, words) {
  const first = Math.min(...words.map((word) => text.indexOf(word)).filter((at) => at !== -1), body.length);
  const from = first <= BEFORE_MATCH || first === body.length ? 0 : body.indexOf(" ", first - BEFORE_MATCH) + 1;
  const to = from + EXCERPT >= body.length ? body.length : body.lastIndexOf(" ", from + EXCERPT);
  return (from > 0 ? "… " : "") + body.slice(from, Math.max(to, first)) + (to < body.length ? " …" : "");
}

/** The text with its matches in `<mark>`. @param {string} text @param {string[]} words */
function marked(text, words) {
  const any = words.map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|");
  return text.split(new RegExp(`(${any})`, "i")).map((part, index) => {
    if (index % 2 === 0) return part;
    const mark = document.createElement("mark");
    mark.textContent = part;
    return mark;
  });
}
