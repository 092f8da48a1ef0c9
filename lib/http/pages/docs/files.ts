import { type PageFile, textFile } from "../page_file.ts";
import { docsPage, ENVELOPE_BOX, type Navigation, wayTo } from "./layout.ts";

type Load = () => Promise<{ default: string }>;

/** The pages of the repository's `docs/`, in the order of the navigation: group, name, title, text. */
const PAGES: [group: string, name: string, title: string, load: Load][] = [
  ["Start", "index", "What it is", () => import("../../../../docs/index.md", { with: { type: "text" } })],
  [
    "Start",
    "first-payment",
    "First payment",
    () => import("../../../../docs/first-payment.md", { with: { type: "text" } }),
  ],
  [
    "Build",
    "take-a-payment",
    "Take a payment",
    () => import("../../../../docs/take-a-payment.md", { with: { type: "text" } }),
  ],
  ["Build", "get-paid", "Get paid", () => import("../../../../docs/get-paid.md", { with: { type: "text" } })],
  ["Build", "lost-card", "A lost card", () => import("../../../../docs/lost-card.md", { with: { type: "text" } })],
  ["Build", "webhooks", "Webhooks", () => import("../../../../docs/webhooks.md", { with: { type: "text" } })],
  ["Build", "clients", "Client libraries", () => import("../../../../docs/clients.md", { with: { type: "text" } })],
  ["Build", "signing", "Signing", () => import("../../../../docs/signing.md", { with: { type: "text" } })],
  [
    "Build",
    "idempotency",
    "Idempotency",
    () => import("../../../../docs/idempotency.md", { with: { type: "text" } }),
  ],
  ["Build", "testing", "Testing", () => import("../../../../docs/testing.md", { with: { type: "text" } })],
  ["Run", "install", "Install", () => import("../../../../docs/install.md", { with: { type: "text" } })],
  ["Run", "settings", "Settings", () => import("../../../../docs/settings.md", { with: { type: "text" } })],
  ["Run", "keys", "API keys", () => import("../../../../docs/keys.md", { with: { type: "text" } })],
  ["Run", "behind-tls", "Behind TLS", () => import("../../../../docs/behind-tls.md", { with: { type: "text" } })],
  ["Run", "container", "Container", () => import("../../../../docs/container.md", { with: { type: "text" } })],
  ["Run", "kubernetes", "Kubernetes", () => import("../../../../docs/kubernetes.md", { with: { type: "text" } })],
  ["Run", "systemd", "systemd", () => import("../../../../docs/systemd.md", { with: { type: "text" } })],
  [
    "Run",
    "several-gateways",
    "Several gateways",
    () => import("../../../../docs/several-gateways.md", { with: { type: "text" } }),
  ],
  ["Run", "postgres", "PostgreSQL", () => import("../../../../docs/postgres.md", { with: { type: "text" } })],
  ["Run", "deno-deploy", "Deno Deploy", () => import("../../../../docs/deno-deploy.md", { with: { type: "text" } })],
  ["Run", "monitoring", "Monitoring", () => import("../../../../docs/monitoring.md", { with: { type: "text" } })],
  [
    "Run",
    "backup-and-upgrade",
    "Backup and upgrade",
    () => import("../../../../docs/backup-and-upgrade.md", { with: { type: "text" } }),
  ],
  ["Run", "security", "Security", () => import("../../../../docs/security.md", { with: { type: "text" } })],
  ["Reference", "api", "API", () => import("../../../../docs/api.md", { with: { type: "text" } })],
  ["Reference", "events", "Events", () => import("../../../../docs/events.md", { with: { type: "text" } })],
  ["Reference", "errors", "Errors", () => import("../../../../docs/errors.md", { with: { type: "text" } })],
  ["Reference", "limits", "Limits", () => import("../../../../docs/limits.md", { with: { type: "text" } })],
  [
    "Reference",
    "command-line",
    "Command line",
    () => import("../../../../docs/command-line.md", { with: { type: "text" } }),
  ],
  ["Reference", "figures", "Figures", () => import("../../../../docs/figures.md", { with: { type: "text" } })],
  [
    "Reference",
    "reliability",
    "Reliability",
    () => import("../../../../docs/reliability.md", { with: { type: "text" } }),
  ],
];

const pathOf = (name: string) => (name === "index" ? "/docs" : `/docs/${name}`);

const NAVIGATION: Navigation = [...Map.groupBy(PAGES, ([group]) => group)].map(([group, pages]) => ({
  group,
  pages: [
    ...pages.map(([, name, title]) => ({ path: pathOf(name), title })),
    ...(group === "Reference" ? [{ path: "/docs/reference", title: "API reference" }] : []),
  ],
}));

/** Where a link between the files of `docs/` leads here; to a file that is only in the repository: nowhere. */
function linkTo(file: string): string | undefined {
  const [, name, anchor = ""] = /^([\w-]+)\.md(#.*)?$/.exec(file) ?? [];
  return PAGES.some(([, known]) => known === name) ? pathOf(name!) + anchor : undefined;
}

/** Rendered at its first request: most gateways are never asked. */
function page(name: string, load: Load): PageFile {
  const path = pathOf(name);
  return {
    path,
    async read() {
      const { renderMarkdown } = await import("./markdown.ts");
      const { default: text } = await load();
      const linkFromHere = (file: string) => {
        const there = linkTo(file);
        return there && wayTo(there, path);
      };
      return docsPage(
        path,
        renderMarkdown(text, { linkTo: linkFromHere, parts: { "envelope-box": ENVELOPE_BOX } }),
        NAVIGATION,
      );
    },
  };
}

/** What there is, for programs that read (https://llmstxt.org). Its links begin beside it, whatever prefix a proxy puts before both. */
async function llmsText(): Promise<string> {
  const { renderMarkdown } = await import("./markdown.ts");
  const lines = await Promise.all(PAGES.map(async ([, name, title, load]) => {
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

/** `/docs`: the pages of the repository's `docs/`, rendered, and as Markdown beside that. */
export const DOCS_FILES: PageFile[] = [
  ...PAGES.flatMap(([, name, , load]) => [page(name, load), textFile(`/docs/${name}.md`, load)]),
  textFile("/docs/docs.css", () => import("./docs.css", { with: { type: "text" } })),
  textFile("/docs/docs.js", () => import("./docs.js", { with: { type: "text" } })),
  textFile("/docs/envelope_box.js", () => import("./envelope_box.js", { with: { type: "text" } })),
  textFile("/docs/envelope.js", () => import("./envelope.js", { with: { type: "text" } })),
  textFile("/docs/native_asset.js", () => import("./native_asset.js", { with: { type: "text" } })),
  { path: "/llms.txt", read: llmsText },
];
