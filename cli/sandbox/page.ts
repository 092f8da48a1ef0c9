import { createHash } from "node:crypto";
// Under another name, or the formatter would lay it out, and with it what stands in a <pre>.
import { html as markup, raw } from "hono/html";
import { sandboxFlag } from "./banner.ts";
import type { SandboxInfo } from "./running_sandbox.ts";

const STYLE = `
:root { color-scheme: light dark; --ink: #16181d; --dim: #5a6170; --paper: #fbfbfa; --card: #ffffff; --line: #dfe1e6; --link: #0b57d0 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e9ec; --dim: #9aa1ae; --paper: #131417; --card: #1b1d21; --line: #33363d; --link: #8ab4f8 }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif }
main { max-width: 56rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; letter-spacing: -.01em }
h2 { font-size: 1.05rem; margin: 2.25rem 0 .6rem }
p { margin: .4rem 0; max-width: 44rem }
.dim, dt { color: var(--dim); font-weight: 500 }
a { color: var(--link) }
code, pre { font: 13.5px/1.6 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
pre, dl { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem; margin: .6rem 0 }
pre { overflow-x: auto }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .25rem 1.5rem }
dd { margin: 0; overflow-wrap: anywhere }
summary { cursor: pointer; color: var(--dim); padding: .3rem 0 }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr } dd { margin-bottom: .5rem } }
`;

/** Nothing is loaded from anywhere, nothing runs, and nobody may frame it. */
const HEADERS = {
  "Cache-Control": "no-store",
  "Content-Security-Policy":
    `default-src 'none'; style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; ` +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
  "Vary": "Accept",
  "X-Content-Type-Options": "nosniff",
};

/** Where the network stands. */
export interface Standing {
  ledger: number;
  /** Unix seconds. */
  closeTime: number;
}

/**
 * What the sandbox tells who opens it: a page for people, to programs the line of `--json`.
 *
 * @param program how this program is called
 */
export function welcomePage(request: Request, info: SandboxInfo, standing: Standing, program: string): Response {
  if (!wantsHtml(request.headers.get("Accept") ?? "")) return Response.json(info, { headers: HEADERS });
  const headers = { ...HEADERS, "Content-Type": "text/html; charset=utf-8" };
  return new Response(String(page(info, standing, program)), { headers });
}

/** Browsers name it; programs that take anything get JSON. */
function wantsHtml(accept: string): boolean {
  return accept.split(",").some((part) => part.trim().toLowerCase().startsWith("text/html"));
}

/** Only texts are put in, which `markup` escapes: the result is never a promise. */
function page(info: SandboxInfo, { ledger, closeTime }: Standing, program: string) {
  const at = sandboxFlag(info.rpc);
  const { accounts, contracts, gateway } = info;
  const time = new Date(closeTime * 1000).toISOString().replace("T", " ").replace(".000Z", " UTC");
  const pick = (field: "address" | "secret") =>
    Object.entries(accounts).map(([name, account]): Row => [name, account[field]]);
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sandbox</title>
<style>${raw(STYLE)}</style>
</head>
<body>
<main>
<h1>The sandbox is running</h1>
<p class="dim">The gateway on a Stellar network of its own, at ledger ${ledger}, ${time}.</p>

<h2>See it work</h2>
<p>In two more terminals: the first receives webhooks, checks and prints them, the second makes a card live its life.</p>
${commands(`${program} listen${at}`, `${program} trigger${at}`)}

<h2>Call it</h2>
${commands(`curl "${gateway}/v1/events" \\`, `  -H "Authorization: Bearer ${info.apiKey}"`)}
<p>This key has all scopes. <a href="${gateway}/docs">The documentation</a> has examples filled with what stands here,
<a href="${gateway}/docs/reference">the reference</a> lets you try every endpoint out, and
<a href="${gateway}/console">the console</a> plays the life of a card. Key, addresses and secrets as variables of your
shell:</p>
${commands(`eval "$(${program} sandbox env${at})"`)}

<h2>Move its time</h2>
${
    commands(
      `${program} sandbox snapshot clean${at}`,
      `${program} sandbox advance --seconds 86400${at}`,
      `${program} sandbox revert clean${at}`,
    )
  }

<h2>Where it is</h2>
${
    list([
      ["Gateway", gateway],
      ["Stellar RPC", info.rpc],
      ["Friendbot", `${info.friendbot}?addr=G…`],
      ["Passphrase", info.networkPassphrase],
      ["Device registry", contracts.deviceRegistry],
      ["Agent registry", contracts.agentRegistry],
      ["Payment escrow", contracts.paymentEscrow],
      [`Asset (${info.assetCode ?? "native"})`, info.asset],
      ["Store", info.store],
    ])
  }

<h2>Accounts</h2>
<p>Each was funded, and holds the asset.</p>
${list(pick("address"))}
<details><summary>Their secrets, which are worth nothing outside of this sandbox</summary>
${list(pick("secret"))}
</details>
</main>
</body>
</html>
`;
}

type Row = [name: string, value: string];

function list(rows: Row[]) {
  return markup`<dl>
${rows.map(([name, value]) => markup`<dt>${name}</dt><dd><code>${value}</code></dd>\n`)}</dl>`;
}

function commands(...lines: string[]) {
  return markup`<pre tabindex="0">${lines.join("\n")}</pre>`;
}
