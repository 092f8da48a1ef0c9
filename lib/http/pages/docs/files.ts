import { type PageFile, textFile } from "../page_file.ts";
import { docsPage, ENVELOPE_BOX, type Navigation, wayTo } from "./layout.ts";
import type { Picture } from "./markdown.ts";

type Load = () => Promise<{ default: string }>;

type Page = [name: string, title: string, load: Load];

/** The pages of the repository's `docs/` by group, in the order of the navigation. */
const GROUPS: Record<string, Page[]> = {
  Start: [
    ["index", "What it is", () => import("../../../../docs/index.md", { with: { type: "text" } })],
    ["first-payment", "First payment", () => import("../../../../docs/first-payment.md", { with: { type: "text" } })],
  ],
  Build: [
    [
      "take-a-payment",
      "Take a payment",
      () => import("../../../../docs/take-a-payment.md", { with: { type: "text" } }),
    ],
    ["get-paid", "Get paid", () => import("../../../../docs/get-paid.md", { with: { type: "text" } })],
    ["lost-card", "A lost card", () => import("../../../../docs/lost-card.md", { with: { type: "text" } })],
    ["webhooks", "Webhooks", () => import("../../../../docs/webhooks.md", { with: { type: "text" } })],
    ["clients", "Client libraries", () => import("../../../../docs/clients.md", { with: { type: "text" } })],
    ["signing", "Signing", () => import("../../../../docs/signing.md", { with: { type: "text" } })],
    ["idempotency", "Idempotency", () => import("../../../../docs/idempotency.md", { with: { type: "text" } })],
    ["testing", "Testing", () => import("../../../../docs/testing.md", { with: { type: "text" } })],
  ],
  Run: [
    ["install", "Install", () => import("../../../../docs/install.md", { with: { type: "text" } })],
    ["settings", "Settings", () => import("../../../../docs/settings.md", { with: { type: "text" } })],
    ["keys", "API keys", () => import("../../../../docs/keys.md", { with: { type: "text" } })],
    ["behind-tls", "Behind TLS", () => import("../../../../docs/behind-tls.md", { with: { type: "text" } })],
    ["container", "Container", () => import("../../../../docs/container.md", { with: { type: "text" } })],
    ["kubernetes", "Kubernetes", () => import("../../../../docs/kubernetes.md", { with: { type: "text" } })],
    ["systemd", "systemd", () => import("../../../../docs/systemd.md", { with: { type: "text" } })],
    [
      "several-gateways",
      "Several gateways",
      () => import("../../../../docs/several-gateways.md", { with: { type: "text" } }),
    ],
    ["postgres", "PostgreSQL", () => import("../../../../docs/postgres.md", { with: { type: "text" } })],
    ["deno-deploy", "Deno Deploy", () => import("../../../../docs/deno-deploy.md", { with: { type: "text" } })],
    ["monitoring", "Monitoring", () => import("../../../../docs/monitoring.md", { with: { type: "text" } })],
    ["explain", "What happened", () => import("../../../../docs/explain.md", { with: { type: "text" } })],
    [
      "backup-and-upgrade",
      "Backup and upgrade",
      () => import("../../../../docs/backup-and-upgrade.md", { with: { type: "text" } }),
    ],
    ["security", "Security", () => import("../../../../docs/security.md", { with: { type: "text" } })],
    ["books", "Books", () => import("../../../../docs/books.md", { with: { type: "text" } })],
    ["assets", "Assets", () => import("../../../../docs/assets.md", { with: { type: "text" } })],
  ],
  Reference: [
    ["api", "API", () => import("../../../../docs/api.md", { with: { type: "text" } })],
    ["events", "Events", () => import("../../../../docs/events.md", { with: { type: "text" } })],
    ["errors", "Errors", () => import("../../../../docs/errors.md", { with: { type: "text" } })],
    ["limits", "Limits", () => import("../../../../docs/limits.md", { with: { type: "text" } })],
    ["command-line", "Command line", () => import("../../../../docs/command-line.md", { with: { type: "text" } })],
    ["figures", "Figures", () => import("../../../../docs/figures.md", { with: { type: "text" } })],
    ["reliability", "Reliability", () => import("../../../../docs/reliability.md", { with: { type: "text" } })],
  ],
};

const PAGES = Object.values(GROUPS).flat();

/** The pictures of the repository's `docs/` that its pages show. */
const PICTURES: Record<string, Load> = {
  "write-flow.svg": () => import("../../../../docs/write-flow.svg", { with: { type: "text" } }),
  "delivery-states.svg": () => import("../../../../docs/delivery-states.svg", { with: { type: "text" } }),
};

/** A picture has its styles in itself, and a browser may apply the policy of its answer to them. */
const PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

const pathOf = (name: string) => (name === "index" ? "/docs" : `/docs/${name}`);

const NAVIGATION: Navigation = Object.entries(GROUPS).map(([group, pages]) => ({
  group,
  pages: [
    ...pages.map(([name, title]) => ({ path: pathOf(name), title })),
    ...(group === "Reference" ? [{ path: "/docs/reference", title: "API reference" }] : []),
  ],
}));

/** The address of a file of `docs/` on the gateway; undefined when only the repository has the file. */
function linkTo(file: string): string | undefined {
  const [, name, hash = ""] = /^([\w-]+)\.md(#.*)?$/.exec(file) ?? [];
  return PAGES.some(([known]) => known === name) ? pathOf(name!) + hash : undefined;
}

/** The pictures of a page, by file. Their sizes let the browser reserve the space. */
async function picturesFor(path: string): Promise<Map<string, Picture>> {
  return new Map(
    await Promise.all(
      Object.entries(PICTURES).map(async ([file, load]): Promise<[string, Picture]> => {
        const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec((await load()).default) ?? [];
        if (width === undefined) throw new TypeError(`docs/${file} must have viewBox="0 0 WIDTH HEIGHT"; got none`);
        return [file, { source: wayTo(`/docs/${file}`, path), width: Number(width), height: Number(height) }];
      }),
    ),
  );
}

/** Renders its page at the first request: most gateways never get one. */
function page(name: string, load: Load): PageFile {
  const path = pathOf(name);
  return {
    path,
    async read() {
      const { renderMarkdown } = await import("./markdown.ts");
      const pictures = await picturesFor(path);
      const rendered = renderMarkdown((await load()).default, {
        linkTo(file) {
          const absolute = linkTo(file);
          return absolute && wayTo(absolute, path);
        },
        picture: (file) => pictures.get(file),
        parts: { "envelope-box": ENVELOPE_BOX },
      });
      return docsPage(path, rendered, NAVIGATION);
    },
  };
}

/**
 * The text of all pages by section, for `search.js`. The first request builds it. `path` begins at the gateway's root without a
 * slash, so that a prefix of a proxy stays.
 */
async function searchIndex(): Promise<string> {
  const { sectionsOf } = await import("./markdown.ts");
  const pages = await Promise.all(PAGES.map(async ([name, title, load]) => {
    const sections = sectionsOf((await load()).default);
    return {
      path: pathOf(name).slice(1),
      title,
      sections: sections.map(({ id, text, depth, body }) => depth === 1 ? ["", "", body] : [id, text, body]),
    };
  }));
  return JSON.stringify({ pages });
}

/** The list of pages for programs (https://llmstxt.org). Its links are relative, so that a prefix of a proxy stays. */
async function llmsText(): Promise<string> {
  const { renderMarkdown } = await import("./markdown.ts");
  const lines = await Promise.all(PAGES.map(async ([name, title, load]) => {
    const { summary } = renderMarkdown((await load()).default, { linkTo, parts: {} });
    return `- [${title}](docs/${name}.md): ${summary}`;
  }));
  return `# Payment escrow gateway

> A self-hosted, non-custodial HTTP gateway in front of three contracts on Stellar: API keys, prepared transactions that the
> caller signs, signed webhooks, the event history. Send the key as \`Authorization: Bearer service_sk_…\`.

- [OpenAPI 3.1 description](openapi.json): every endpoint with its schemas, and examples of every answer and error

## Documentation

${lines.join("\n")}
`;
}

/** `/docs`: the pages of the repository's `docs/` as HTML and as Markdown, and the files that these pages load. */
export const DOCS_FILES: PageFile[] = [
  ...PAGES.flatMap(([name, , load]) => [page(name, load), textFile(`/docs/${name}.md`, load)]),
  ...Object.entries(PICTURES).map(([file, load]) => ({ ...textFile(`/docs/${file}`, load), policy: PICTURE_POLICY })),
  { path: "/docs/search.json", read: searchIndex },
  textFile("/docs/docs.css", () => import("./docs.css", { with: { type: "text" } })),
  textFile("/docs/docs.js", () => import("./docs.js", { with: { type: "text" } })),
  textFile("/docs/copying.js", () => import("./copying.js", { with: { type: "text" } })),
  textFile("/docs/contents.js", () => import("./contents.js", { with: { type: "text" } })),
  textFile("/docs/examples.js", () => import("./examples.js", { with: { type: "text" } })),
  textFile("/docs/search.js", () => import("./search.js", { with: { type: "text" } })),
  textFile("/docs/envelope_box.js", () => import("./envelope_box.js", { with: { type: "text" } })),
  textFile("/docs/envelope.js", () => import("./envelope.js", { with: { type: "text" } })),
  textFile("/docs/native_asset.js", () => import("./native_asset.js", { with: { type: "text" } })),
  { path: "/llms.txt", read: llmsText },
];
