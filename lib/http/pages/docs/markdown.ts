import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import yaml from "highlight.js/lib/languages/yaml";
import { Marked, type Token, type Tokens } from "marked";

const LANGUAGES = { bash, go, java, json, python, sql, typescript, yaml };

for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

/**
 * Code as HTML, with the classes of highlight.js (`hljs-string`). The text itself stays as it is.
 *
 * @param language first word of the fence; undefined is returned for one without a grammar
 */
function highlighted(code: string, language: string): string | undefined {
  return hljs.getLanguage(language) && hljs.highlight(code, { language, ignoreIllegals: true }).value;
}

/** A heading of a page, and the id that links to it. */
export interface Heading {
  id: string;
  text: string;
  /** 1 to 6. */
  depth: number;
}

/** A page of documentation as HTML. */
export interface Rendered {
  /** Its first heading. */
  title: string;
  /** Its first paragraph, without markup. */
  summary: string;
  html: string;
  /** Its headings of the second and third level. */
  headings: Heading[];
}

/** The text under one heading, without markup and without blocks of code. */
export interface Section extends Heading {
  body: string;
}

/** A picture that the gateway serves. */
export interface Picture {
  /** Its address. */
  source: string;
  /** In CSS pixels, as its height. */
  width: number;
  height: number;
}

/** A picture of this width is readable on a phone. A wider one scrolls. In CSS pixels. */
const PHONE_WIDTH = 480;

/** The parts of the gateway that a page refers to. */
export interface Surroundings {
  /** The address of a neighbouring file on the gateway; undefined when only the repository has the file. */
  linkTo(file: string): string | undefined;
  /** The picture of a neighbouring file; undefined when the gateway serves no such picture. */
  picture?(file: string): Picture | undefined;
  /** HTML by the name of the comment that it replaces. */
  parts: Record<string, string>;
}

/**
 * Renders a page of `docs/` from GitHub's Markdown. Two comments have a meaning, and all other HTML is left out:
 *
 * - `<!-- tabs -->` … `<!-- /tabs -->` makes a tab of each heading of the fourth level between them.
 * - `<!-- NAME -->` inserts the part of that name.
 */
export function renderMarkdown(text: string, { linkTo, picture, parts }: Surroundings): Rendered {
  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      heading({ tokens, depth }) {
        const id = headingId(plainText(tokens));
        const link = `<a class="anchor" href="#${id}" aria-label="Link to this section">#</a>`;
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}${depth === 1 ? "" : link}</h${depth}>\n`;
      },
      code({ text, lang = "" }) {
        const html = highlighted(text, lang.split(" ")[0]!) ?? escaped(text);
        return `<pre tabindex="0" data-lang="${escaped(lang)}"><code>${withShortIds(html)}</code></pre>\n`;
      },
      // Names may break after an underscore or a slash: a table with whole names is wider than a phone.
      codespan: ({ text }) => `<code>${withShortIds(escaped(text)).replace(/(?<!<)[_/](?=\w)/g, "$&<wbr>")}</code>`,
      table(token) {
        const row = (cells: Tokens.TableCell[], tag: string) =>
          `<tr>${cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join("")}</tr>`;
        const body = token.rows.map((cells) => row(cells, "td")).join("\n");
        const head = row(token.header, "th").replaceAll("<th></th>", "<td></td>");
        return `<div class="scroll" tabindex="0" role="group" aria-label="Table">` +
          `<table><thead>${head}</thead><tbody>${body}</tbody></table></div>\n`;
      },
      link({ href, tokens }) {
        const inner = this.parser.parseInline(tokens);
        const to = /^(https?:|#)/.test(href) ? href : linkTo(href);
        return to === undefined ? inner : `<a href="${escaped(to)}">${inner}</a>`;
      },
      image({ href, text }) {
        const found = picture?.(href);
        if (found === undefined) return escaped(text);
        const { source, width, height } = found;
        const image = `<img src="${escaped(source)}" alt="${escaped(text)}" width="${width}" height="${height}">`;
        return width <= PHONE_WIDTH
          ? image
          : `<span class="wide" tabindex="0" role="group" aria-label="Picture">${image}</span>`;
      },
      html: ({ text }) => parts[commentOf(text)] ?? "",
    },
  });
  const tokens = marked.lexer(text);
  return {
    title: plainText(tokens.filter(({ type }) => type === "heading").slice(0, 1)),
    summary: plainText(tokens.filter(({ type }) => type === "paragraph").slice(0, 1)).replace(/\s+/g, " "),
    html: withTabs(tokens).map((part) => Array.isArray(part) ? tabs(part, marked) : marked.parser([part])).join(""),
    headings: tokens.filter((token) => token.type === "heading").map((token) => headingOf(token as Tokens.Heading))
      .filter(({ depth }) => depth === 2 || depth === 3),
  };
}

/** The sections of a page, for search. Headings below the third level only name tabs. */
export function sectionsOf(text: string): Section[] {
  const sections: Section[] = [];
  for (const token of new Marked({ gfm: true }).lexer(text)) {
    if (token.type === "heading") {
      if (token.depth <= 3) sections.push({ ...headingOf(token as Tokens.Heading), body: "" });
    } else if (!["code", "html", "space"].includes(token.type) && sections.length > 0) {
      const section = sections.at(-1)!;
      section.body = `${section.body} ${plainText([token], " ")}`.replace(/\s+/g, " ").trim();
    }
  }
  return sections;
}

function headingOf({ tokens, depth }: Tokens.Heading): Heading {
  const text = plainText(tokens ?? []);
  return { id: headingId(text), text, depth };
}

/** The id of a heading, as GitHub makes it. */
function headingId(heading: string): string {
  return heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");
}

/** The tokens of a page, with those between the comments for tabs in a list of their own. */
function withTabs(tokens: Token[]): (Token | Token[])[] {
  const parts: (Token | Token[])[] = [];
  let open: Token[] | undefined;
  for (const token of tokens) {
    const comment = token.type === "html" ? commentOf(token.text) : "";
    if (comment === "tabs") parts.push(open = []);
    else if (comment === "/tabs") open = undefined;
    else (open ?? parts).push(token);
  }
  return parts;
}

function tabs(tokens: Token[], marked: Marked): string {
  const groups: { name: string; tokens: Token[] }[] = [];
  for (const token of tokens) {
    if (token.type === "heading") groups.push({ name: plainText([token]), tokens: [] });
    else groups.at(-1)?.tokens.push(token);
  }
  const sections = groups.map(({ name, tokens }) =>
    `<section data-tab="${escaped(name)}"><h4>${escaped(name)}</h4>\n${marked.parser(tokens)}</section>\n`
  );
  return `<div class="tabs">\n${sections.join("")}</div>\n`;
}

function commentOf(html: string): string {
  return /^<!--\s*(\S+?):?\s/.exec(html)?.[1] ?? "";
}

/** The text of tokens. @param between stands between the items of a list and the cells of a table */
function plainText(tokens: Token[], between = ""): string {
  return tokens.map((token) => {
    if (token.type === "list") return token.items.map((item: Token) => plainText([item], between)).join(between);
    if (token.type === "table") {
      const { header, rows } = token as Tokens.Table;
      return [header, ...rows].flat().map((cell) => plainText(cell.tokens)).join(between);
    }
    if ("tokens" in token && token.tokens !== undefined) return plainText(token.tokens);
    return "text" in token ? token.text : "";
  }).join("");
}

/** Text as HTML shows it. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Addresses of accounts and contracts, secret keys (SEP-23), and hashes. `docs.js` has the same. */
const LONG_ID = /(?<![\w$])(?:[GCS][A-Z2-7]{55}|[0-9a-f]{64})(?!\w)/g;

/**
 * HTML in which each long id shows its first and last four characters. The middle stays in the text: `docs.css` only
 * hides it, so that a selection copies the whole id.
 */
function withShortIds(html: string): string {
  return html.replace(
    LONG_ID,
    (id) =>
      `<span class="id" title="${id}">${id.slice(0, 4)}<span class="middle">${id.slice(4, -4)}</span>${
        id.slice(-4)
      }</span>`,
  );
}
