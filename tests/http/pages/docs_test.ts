// needs: runtime
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { renderMarkdown } from "../../../lib/http/pages/docs/markdown.ts";
import { gatewayOfFile } from "../test_gateway.ts";

const { api } = gatewayOfFile({ started: false });
const DOCS = fileURLToPath(new URL("../../../docs/", import.meta.url).href);

function get(path: string): Promise<Response> {
  return Promise.resolve(
    api.gateway.fetch(new Request(`http://gateway.test${path}`), { remoteAddress: "198.51.100.7" }),
  );
}

async function textOf(path: string): Promise<string> {
  const answer = await get(path);
  assert.equal(answer.status, 200, path);
  return await answer.text();
}

interface Index {
  pages: { path: string; title: string; sections: [id: string, heading: string, text: string][] }[];
}

const searchIndex = async () => JSON.parse(await textOf("/docs/search.json")) as Index;

/** HTML without its tags. Only the characters that `escaped` replaces are references. */
const NAMED: Record<string, string> = { amp: "&", gt: ">", lt: "<", quot: '"' };

function shown(html: string): string {
  const text = html.replace(/<[^>]+>/g, "");
  return text.replace(/&(?:#x?)?(\w+);/g, (all, code) => {
    if (!all.includes("#")) return NAMED[code]!;
    return String.fromCharCode(all.includes("x") ? Number.parseInt(code, 16) : Number(code));
  });
}

const render = (text: string) => renderMarkdown(text, { linkTo: () => undefined, parts: {} }).html;

test("the search index has every page, and each page has the section ids of the index", async () => {
  const { pages } = await searchIndex();
  assert.deepEqual(
    pages.map(({ path }) => `${path.replace(/^docs\/?/, "") || "index"}.md`).toSorted(),
    readdirSync(DOCS).filter((name) => name.endsWith(".md")).toSorted(),
  );
  for (const { path, sections } of pages) {
    const html = await textOf(`/${path}`);
    for (const [id] of sections) assert.ok(id === "" || html.includes(` id="${id}"`), `${path}#${id}`);
  }
});

test("the search index has the text of tables and lists, without markup and without code", async () => {
  const { pages } = await searchIndex();
  const textIn = (path: string, id: string) =>
    pages.find((page) => page.path === path)!.sections.find(([one]) => one === id)![2];
  assert.match(textIn("docs/settings", ""), /SERVICE_API_RPC_URL --rpc-url https:\/\/soroban-testnet/);
  assert.match(textIn("docs", "where-to-go-on"), /First payment: a payment on your own machine/);
  for (const { path, sections } of pages) {
    for (const [id, , text] of sections) assert.doesNotMatch(text, /\]\(|<!--|\*\*|```|\|---/, `${path}#${id}`);
  }
  assert.doesNotMatch(JSON.stringify(pages), /import \{ createHash \}/);
});

test("the search index is below 200 000 characters, and below 64 000 bytes compressed", async () => {
  const text = await textOf("/docs/search.json");
  assert.ok(text.length < 200_000, `${text.length} characters`);
  const compressed = gzipSync(text).length;
  assert.ok(compressed < 64_000, `${compressed} bytes compressed`);
});

test("the contents of a page link to its headings of the second and third level, in order", async () => {
  for (const { path } of (await searchIndex()).pages) {
    const html = await textOf(`/${path}`);
    const ids = [...html.matchAll(/<h\d id="([^"]+)"/g)].map(([, id]) => id);
    assert.equal(new Set(ids).size, ids.length, `${path} has an id twice`);
    const headings = [...html.matchAll(/<h[23] id="([^"]+)"/g)].map(([, id]) => id);
    const [, contents = ""] = /<details class="contents".*?>(.*?)<\/details>/s.exec(html) ?? [];
    const links = [...contents.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
    assert.deepEqual(links, headings.length < 2 ? [] : headings, path);
  }
});

test("the links at the foot of a page lead through all pages, forward and back", async () => {
  const foot = async (path: string, rel: string) => {
    const [, link] = new RegExp(`<a rel="${rel}" href="([^"]+)"`).exec(await textOf(path)) ?? [];
    return link && new URL(link, `http://gateway.test${path}`).pathname;
  };
  const paths = (await searchIndex()).pages.map((page) => `/${page.path}`);
  const steps: string[] = [];
  for (let path: string | undefined = "/docs"; path !== undefined && path !== "/docs/reference";) {
    steps.push(path);
    path = await foot(path, "next");
  }
  assert.deepEqual(steps, paths);
  for (const [index, path] of paths.entries()) assert.equal(await foot(path, "prev"), paths[index - 1]);
});

test("a page of documentation has no inline code that its policy forbids", async () => {
  for (const { path } of (await searchIndex()).pages) {
    assert.doesNotMatch(await textOf(`/${path}`), /<style|\sstyle=|\son\w+=|<script(?![^>]*src=)|<svg/, path);
  }
});

test("a page colours code in every language of the pages, and keeps its text", () => {
  const languages = { used: new Set<string>(), coloured: new Set<string>() };
  for (const page of readdirSync(DOCS).filter((name) => name.endsWith(".md"))) {
    const fences = readFileSync(`${DOCS}${page}`, "utf8").matchAll(/^```(\w*)[^\n]*\n.*?^```$/gms);
    for (const [fence, language] of fences) {
      const html = render(fence);
      if (language !== "") languages.used.add(language!);
      if (html.includes('<span class="hljs-')) languages.coloured.add(language!);
      assert.equal(shown(html), fence.slice(fence.indexOf("\n") + 1, -3), page);
    }
  }
  assert.deepEqual(languages.coloured, languages.used);
});

test("a page shows code in an unknown language unchanged", () => {
  assert.match(render('```unknown\nreturn "a" < b\n```'), /<code>return &#34;a&#34; &#60; b<\/code>/);
});

test("a page shows the ends of an address or hash, and keeps the whole text", () => {
  const address = "CB4DPMGOA374JIB2ZVD4AHW5GJKQUYNOFGRYNOJ75EFH2KCJSMHOWIRA";
  const hash = "6739c0cb1ed31324d41f7975e1dd3a3ca48f62c316b75fb4393216febbc1b923";
  const samples = [
    `| a |\n|---|\n| \`${address}\` |`,
    `\`\`\`sh\ncurl "$GATEWAY/v1/devices/${hash}" ${address} ${hash}\n\`\`\``,
    `The card \`${hash}\` is new.`,
  ];
  for (const sample of samples) {
    const html = render(sample);
    const ids = [
      ...html.matchAll(/<span class="id" title="(\w+)">(\w{4})<span class="middle">\w+<\/span>(\w{4})<\/span>/g),
    ];
    assert.equal(ids.length, sample.split(/\b(?:CB4D|6739)/).length - 1);
    for (const [all, title, start, end] of ids) {
      assert.equal(shown(all), title);
      assert.ok(title === address || title === hash);
      assert.ok(title.startsWith(start!) && title.endsWith(end!));
    }
  }
  for (const other of [hash.slice(1), `${hash}0`, `$${address}`, `${address}A`]) {
    assert.doesNotMatch(render(`\`${other}\``), /class="id"/, other);
  }
});

test("a page puts a picture above 480 pixels into a box that scrolls", () => {
  const rendered = (width: number) =>
    renderMarkdown("![A flow](flow.svg)", {
      linkTo: () => undefined,
      picture: () => ({ source: "docs/flow.svg", width, height: 90 }),
      parts: {},
    }).html;
  assert.equal(rendered(480), '<p><img src="docs/flow.svg" alt="A flow" width="480" height="90"></p>\n');
  assert.match(rendered(481), /^<p><span class="wide" tabindex="0" role="group" aria-label="Picture"><img/);
});

test("the gateway serves every picture of a page; each has alt text, a size and dark colours", async () => {
  for (const { path } of (await searchIndex()).pages) {
    const name = path.replace(/^docs\/?/, "") || "index";
    const wanted = [...readFileSync(`${DOCS}${name}.md`, "utf8").matchAll(/^!\[([^\]]+)\]\((\S+)\)/gm)];
    const images = [
      ...(await textOf(`/${path}`)).matchAll(/<img src="([^"]+)" alt="([^"]+)" width="\d+" height="\d+">/g),
    ];
    assert.deepEqual(images.map(([, , alt]) => shown(alt!)), wanted.map(([, alt]) => alt), path);
    for (const [, source] of images) {
      const answer = await get(new URL(source!, `http://gateway.test/${path}`).pathname);
      assert.equal(answer.headers.get("content-type"), "image/svg+xml");
      assert.match(
        answer.headers.get("content-security-policy")!,
        /^default-src 'none'; style-src 'unsafe-inline'; frame/,
      );
      const picture = await answer.text();
      assert.match(picture, /prefers-color-scheme: dark/);
      assert.doesNotMatch(picture, /<script|<image|https?:(?!\/\/www\.w3\.org\/2000\/svg")/);
    }
  }
});
