import { escaped, type Heading, type Rendered } from "./markdown.ts";

/** A page in the navigation. */
export interface NavigationPage {
  path: string;
  title: string;
}

/** The groups of the navigation, in order. */
export type Navigation = { group: string; pages: NavigationPage[] }[];

/** The relative address of an absolute path of the gateway, so that a prefix of a proxy stays. */
export function wayTo(path: string, from: string): string {
  return "../".repeat(from.split("/").length - 2) + path.slice(1);
}

/** A whole page of documentation around the rendered text. */
export function docsPage(path: string, { title, html, headings }: Rendered, groups: Navigation): string {
  const to = (absolute: string) => wayTo(absolute, path);
  const links = groups.map(({ group, pages }) =>
    `<p class="group">${escaped(group)}</p>\n<ul>\n${
      pages.map((page) =>
        `<li><a href="${to(page.path)}"${page.path === path ? ' aria-current="page"' : ""}>${
          escaped(page.title)
        }</a></li>`
      ).join("\n")
    }\n</ul>`
  ).join("\n");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} · Payment escrow gateway</title>
<link rel="icon" href="${to("/assets/icon.svg")}" type="image/svg+xml">
<link rel="stylesheet" href="${to("/assets/base.css")}">
<link rel="stylesheet" href="${to("/docs/docs.css")}">
${SCRIPTS.map((script) => `<link rel="modulepreload" href="${to(script)}">`).join("\n")}
<script type="module" src="${to("/docs/docs.js")}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="home" href="${to("/docs")}">Payment escrow gateway</a>
<nav aria-label="Parts">
<a href="${to("/docs/reference")}">API reference</a>
<a href="${to("/docs/errors")}">Errors</a>
<a href="${to("/console")}">Console</a>
</nav>
</header>
<div class="columns">
<div class="side">
${SEARCH_BOX}<details class="menu" open>
<summary>All pages</summary>
<nav aria-label="Documentation">
${links}
</nav>
</details>
</div>
${contents(headings)}<main id="content">
<form id="fill" hidden>
<p id="fill-state" role="status"></p>
<div class="row">
<label for="fill-key">API key</label>
<input id="fill-key" type="password" autocomplete="off" spellcheck="false" placeholder="service_sk_…">
<button>Fill the examples</button>
</div>
</form>
<article>
${html}</article>
${neighbours(path, groups, to)}</main>
</div>
</body>
</html>
`;
}

/** The modules that `docs.js` imports, so that the browser asks for all of them at once. */
const SCRIPTS = ["contents", "copying", "examples", "search"].map((name) => `/docs/${name}.js`);

/** The search box (`search.js`): a combobox with a list, as in the ARIA Authoring Practices. Only the script shows it. */
const SEARCH_BOX = `<form id="search" role="search" hidden>
<label class="visually-hidden" for="search-text">Search the documentation</label>
<input id="search-text" type="search" role="combobox" aria-expanded="false" aria-controls="search-results"
 aria-autocomplete="list" autocomplete="off" spellcheck="false" maxlength="100" placeholder="Search, or press /">
<div class="results">
<p id="search-state" role="status"></p>
<div id="search-results" role="listbox" aria-label="Results" hidden></div>
</div>
</form>
`;

/** Links to the sections of the page; nothing for a page of one section. */
function contents(headings: Heading[]): string {
  if (headings.length < 2) return "";
  const items = headings.map(({ id, text, depth }) =>
    `<li class="depth-${depth}"><a href="#${id}">${escaped(text)}</a></li>`
  );
  return `<details class="contents" open>
<summary>On this page</summary>
<nav aria-label="On this page">
<ul>
${items.join("\n")}
</ul>
</nav>
</details>
`;
}

/** Links to the page before and the page after, in the order of the navigation. */
function neighbours(path: string, groups: Navigation, to: (absolute: string) => string): string {
  const pages = groups.flatMap(({ pages }) => pages);
  const at = pages.findIndex((page) => page.path === path);
  const link = (page: NavigationPage | undefined, rel: string, text: string) =>
    page === undefined
      ? ""
      : `<a rel="${rel}" href="${to(page.path)}"><span class="dim">${text}</span> ${escaped(page.title)}</a>\n`;
  const links = link(pages[at - 1], "prev", "Previous") + link(pages[at + 1], "next", "Next");
  return `<nav class="neighbours" aria-label="Previous and next page">\n${links}</nav>\n`;
}

/** The box that shows the effect of an envelope (`envelope_box.js`). */
export const ENVELOPE_BOX = `<form id="envelope-box" class="box">
<label for="envelope">An envelope (XDR in base64), or the whole answer of prepare</label>
<textarea id="envelope" rows="5" spellcheck="false" autocomplete="off" placeholder="AAAAAgAAAAB…"></textarea>
<label for="envelope-passphrase">Passphrase of the network</label>
<input id="envelope-passphrase" spellcheck="false" autocomplete="off" value="Test SDF Network ; September 2015">
<output id="envelope-says" for="envelope envelope-passphrase">This page reads the envelope itself and sends it nowhere.</output>
</form>
`;
