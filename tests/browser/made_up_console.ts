/// <reference lib="dom" />
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { CONSOLE_FILES } from "../../lib/http/pages/console/files.ts";
import { createPageAnswer, textFile } from "../../lib/http/pages/page_file.ts";
import { openPage, skip, startBrowser, type Watched } from "./browser.ts";
import { after, before } from "node:test";

/**
 * The answers by "METHOD /path" or by the path alone. An answer with `error` has the status 503, and none means 404. An iterator
 * of texts makes a stream.
 */
export type Answers = Record<string, (url: URL) => unknown>;

/** The console with made-up answers, for states that would take years or a failing node. */
export interface MadeUpConsole {
  /** Signs in and opens a screen, `webhooks/wh_1`. */
  open(screen: string, answers: Answers): Promise<Watched>;
  stop(): Promise<void>;
}

const FILES = new Map(
  [
    ...CONSOLE_FILES,
    textFile("/assets/base.css", () => import("../../lib/http/pages/assets/base.css", { with: { type: "text" } })),
    textFile("/assets/strkey.js", () => import("../../lib/http/pages/assets/strkey.js", { with: { type: "text" } })),
  ].map((file) => [file.path, createPageAnswer(file)]),
);

/** The answers that every screen needs. */
const BESIDE: Answers = {
  "/v1/network": () => ({ networkPassphrase: "n", rpcUrl: "r", contracts: {}, assets: null }),
  "/v1/events": () => ({ events: [], cursor: "c", latestLedger: 9, oldestLedger: 1 }),
  "/v1/webhooks": () => ({ webhooks: [] }),
};

export const hashOf = (n: number) => n.toString(16).padStart(64, "0");
/** An event of a card in this ledger. */
export const eventOf = (n: number) => ({
  id: `${String(n).padStart(19, "0")}-0000000001`,
  type: "device.revoked",
  contractId: "C",
  ledger: n,
  ledgerClosedAt: "2026-01-01T00:00:00Z",
  txHash: hashOf(n),
  deviceHash: hashOf(7),
});
/** The page of history with one event for each of these ledgers, the newest first. */
export const pageOf = (from: number, to: number) => ({
  events: Array.from({ length: from - to + 1 }, (_, at) => eventOf(from - at)),
  cursor: `before-${to}`,
  latestLedger: from,
  oldestLedger: 1,
});

/** The made-up console of a file's tests, where there is a browser. */
export function madeUpConsoleOfFile(): MadeUpConsole {
  const stage = {} as MadeUpConsole;
  before(async () => void (skip || Object.assign(stage, await startMadeUpConsole())));
  after(() => stage.stop?.());
  return stage;
}

async function startMadeUpConsole(): Promise<MadeUpConsole> {
  let answers = BESIDE;
  const server = createServer(async ({ method, url }, response) => {
    const asked = new URL(url!, "http://gateway.test");
    const file = await FILES.get(asked.pathname)?.(new Request(asked));
    if (file !== undefined) {
      response.writeHead(200, Object.fromEntries(file.headers));
      return void response.end(new Uint8Array(await file.arrayBuffer()));
    }
    const answer = answers[`${method} ${asked.pathname}`] ?? answers[asked.pathname];
    const body = await answer?.(asked) ?? { error: { code: "not_found", message: "there is none" } };
    if (typeof body === "object" && Symbol.asyncIterator in body) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for await (const text of body as AsyncIterable<string>) response.write(text);
      return void response.end();
    }
    const status = answer === undefined ? 404 : typeof body === "object" && "error" in body ? 503 : 200;
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  });
  const [browser] = await Promise.all([startBrowser(), listening(server)]);
  return {
    async open(screen, given) {
      answers = { ...BESIDE, ...given };
      return await signedIn(browser, `http://127.0.0.1:${(server.address() as AddressInfo).port}/console#/${screen}`);
    },
    async stop() {
      await browser.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

function listening(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
}

async function signedIn(browser: Browser, url: string): Promise<Watched> {
  const watched = await openPage(browser);
  watched.page.setDefaultTimeout(15_000);
  await watched.page.goto(url);
  await watched.page.fill("#key", "service_sk_x_y");
  await watched.page.getByRole("button", { name: "Sign in" }).click();
  return watched;
}
