import { createHash } from "node:crypto";
// The formatter would change a template named `html`, and with it the lines of <pre>.
import { html as markup, raw } from "hono/html";
import { sandboxFlag } from "./banner.ts";
import STYLE from "./page.css" with { type: "text" };
import type { SandboxInfo } from "./running_sandbox.ts";

/** The page loads nothing, runs no script, and may not be framed. */
const HEADERS = {
  "Cache-Control": "no-store",
  "Content-Security-Policy":
    `default-src 'none'; style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; ` +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
  "Vary": "Accept",
  "X-Content-Type-Options": "nosniff",
};

/** The newest ledger of the network. */
export interface LatestLedger {
  ledger: number;
  /** Unix seconds. */
  closeTime: number;
}

/**
 * Answers browsers with a page, and programs with the line of `--json`.
 *
 * @param program the command that starts this program
 */
export function welcomePage(request: Request, info: SandboxInfo, latest: LatestLedger, program: string): Response {
  if (!wantsHtml(request.headers.get("Accept") ?? "")) return Response.json(info, { headers: HEADERS });
  const headers = { ...HEADERS, "Content-Type": "text/html; charset=utf-8" };
  return new Response(String(page(info, latest, program)), { headers });
}

/** Browsers name HTML. A program that accepts anything gets JSON. */
function wantsHtml(accept: string): boolean {
  return accept.split(",").some((part) => part.trim().toLowerCase().startsWith("text/html"));
}

/** `markup` escapes the texts. Its result is no promise, because all of them are strings. */
function page(info: SandboxInfo, { ledger, closeTime }: LatestLedger, program: string) {
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
<p class="dim">A gateway with its own Stellar network, at ledger ${ledger}, ${time}.</p>

<h2>Try it</h2>
<p>Run these in two more terminals. The first one receives, checks and prints webhooks. The second one registers a card,
funds it, pays and claims.</p>
${commands(`${program} listen${at}`, `${program} trigger${at}`)}

<h2>Call the API</h2>
${commands(`curl "${gateway}/v1/events" \\`, `  -H "Authorization: Bearer ${info.apiKey}"`)}
<p>This key has all scopes. <a href="${gateway}/docs">The documentation</a> has examples filled in with these values.
<a href="${gateway}/docs/reference">The reference</a> lets you try every endpoint.
<a href="${gateway}/console">The console</a> plays the life of a card. This command sets key, addresses and secrets as
variables of your shell:</p>
${commands(`eval "$(${program} sandbox env${at})"`)}

<h2>Move the time</h2>
${
    commands(
      `${program} sandbox snapshot clean${at}`,
      `${program} sandbox advance --seconds 86400${at}`,
      `${program} sandbox revert clean${at}`,
    )
  }

<h2>Addresses</h2>
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
<p>Each account is funded and holds the asset.</p>
${list(pick("address"))}
<details><summary>Their secrets, which are of no value outside this sandbox</summary>
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
