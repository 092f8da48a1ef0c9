import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, normalize } from "node:path";
import process from "node:process";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const TYPES: Record<string, string> = { html: "text/html", js: "text/javascript", mjs: "text/javascript" };

/** A module that exports the SDK of the browser script. */
const SDK = `const sdk = globalThis.StellarSdk;
export const { Address, Keypair, TransactionBuilder, encodeMuxedAccountToAddress, xdr } = sdk;`;

const PAGE = `<!doctype html><title>story</title>
<script src="/node_modules/@stellar/stellar-sdk/dist/stellar-sdk.min.js"></script>
<script type="importmap">{ "imports": {
  "@stellar/stellar-sdk/base": "/sdk.js",
  "payment-escrow-gateway-client": "/node_modules/payment-escrow-gateway-client/dist/client.js"
} }</script>
<script type="module">
  import * as client from "payment-escrow-gateway-client";
  import { Keypair } from "@stellar/stellar-sdk/base";
  import { tellStory } from "/story.js";
  window.tell = (setting) => tellStory(client, Keypair, setting);
</script>`;

/** Serves an application's folder and its page, on an origin of its own. */
async function serveFolder(folder: string) {
  const server = createServer(async (request, response) => {
    const path = new URL(request.url!, "http://page.test").pathname;
    const own = path === "/" ? PAGE : path === "/sdk.js" ? SDK : undefined;
    const body = own ?? await readFile(join(folder, normalize(path))).catch(() => undefined);
    const type = TYPES[path === "/" ? "html" : path.split(".").at(-1)!] ?? "application/octet-stream";
    response.writeHead(body === undefined ? 404 : 200, { "content-type": type }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, close: () => new Promise((resolve) => server.close(resolve)) };
}

/** Runs the story in a browser, and returns its report; undefined without a browser. */
export async function inChromium(folder: string, setting: string): Promise<unknown> {
  const executablePath = [process.env.CHROMIUM ?? "", ...CHROMIUM].find((path) => path !== "" && existsSync(path));
  if (executablePath === undefined) return undefined;
  const { chromium } = await import("playwright-core");
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const page = await serveFolder(folder);
  try {
    const tab = await browser.newPage();
    const errors: string[] = [];
    tab.on("pageerror", (error) => errors.push(String(error)));
    await tab.goto(page.url);
    await tab.waitForFunction("window.tell !== undefined", undefined, { timeout: 30_000 })
      .catch(() => {
        throw new Error(`the page did not load: ${errors.join("; ")}`);
      });
    return await tab.evaluate(`window.tell(${setting})`);
  } finally {
    await browser.close();
    await page.close();
  }
}
