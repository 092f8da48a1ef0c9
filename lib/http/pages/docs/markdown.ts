import { Marked, type Token, type Tokens } from "marked";

/** A page of documentation as HTML. */
export interface Rendered {
  /** Its first heading. */
  title: string;
  /** Its first paragraph, without markup. */
  summary: string;
  html: string;
}

/**
 * Renders a page of `docs/`: GitHub's Markdown, of which HTML is left out but for comments that mean something here:
 * `<!-- tabs -->` … `<!-- /tabs -->` around fourth-level headings, and `<!-- NAME -->` for a part that `parts` has.
 *
 * @param linkTo where a link to a neighbouring file leads on the gateway; undefined: it is in the repository only
 */
export function renderMarkdown(
  text: string,
  { linkTo, parts }: { linkTo(file: string): string | undefined; parts: Record<string, string> },
): Rendered {
  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      heading({ tokens, depth }) {
        const id = anchorOf(plainText(tokens));
        const link = `<a class="anchor" href="#${id}" aria-label="Link to this section">#</a>`;
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}${depth === 1 ? "" : link}</h${depth}>\n`;
      },
      code: ({ text, lang = "" }) =>
        `<pre tabindex="0" data-lang="${escaped(lang)}"><code>${escaped(text)}</code></pre>\n`,
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
      html: ({ text }) => parts[commentOf(text)] ?? "",
    },
  });
  const tokens = marked.lexer(text);
  return {
    title: plainText(tokens.filter(({ type }) => type === "heading").slice(0, 1)),
    summary: plainText(tokens.filter(({ type }) => type === "paragraph").slice(0, 1)).replace(/\s+/g, " "),
    html: inTabs(tokens).map((part) => Array.isArray(part) ? tabs(part, marked) : marked.parser([part])).join(""),
  };
}

/** The anchor of a heading, as GitHub makes it. */
function anchorOf(heading: string): string {
  return heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");
}

/** The tokens, those between the comments for tabs gathered. */
function inTabs(tokens: Token[]): (Token | Token[])[] {
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

function plainText(tokens: Token[]): string {
  return tokens.map((token) =>
    "tokens" in token && token.tokens !== undefined ? plainText(token.tokens) : "text" in token ? token.text : ""
  ).join("");
}

/** Text as HTML shows it. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
