import { escaped } from "./markdown.ts";

/** A page in the navigation. */
export interface NavigationPage {
  path: string;
  title: string;
}

/** Its groups, in order. */
export type Navigation = { group: string; pages: NavigationPage[] }[];

/** The way from a page to an absolute path of the gateway, whatever prefix a proxy puts before both. */
export function wayTo(path: string, from: string): string {
  return "../".repeat(from.split("/").length - 2) + path.slice(1);
}

/** A whole page of documentation around what was rendered. */
export function docsPage(path: string, { title, html }: { title: string; html: string }, groups: Navigation): string {
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
<details class="menu" open>
<summary>All pages</summary>
<nav aria-label="Documentation">
${links}
</nav>
</details>
<main id="content">
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
</main>
</div>
</body>
</html>
`;
}

/** The box that says what an envelope would do (`envelope_box.js` works it). */
export const ENVELOPE_BOX = `<form id="envelope-box" class="box">
<label for="envelope">An envelope (XDR in base64), or the whole answer of prepare</label>
<textarea id="envelope" rows="5" spellcheck="false" autocomplete="off" placeholder="AAAAAgAAAAB…"></textarea>
<label for="envelope-passphrase">Passphrase of the network</label>
<input id="envelope-passphrase" spellcheck="false" autocomplete="off" value="Test SDF Network ; September 2015">
<output id="envelope-says" for="envelope envelope-passphrase">Nothing leaves this page: it is read here.</output>
</form>
`;
