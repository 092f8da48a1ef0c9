/// <reference lib="dom" />
import axe from "axe-core";
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { type Browser, chromium, type Page } from "playwright-core";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

/** Why the tests that need a browser are skipped; false: there is one. */
export const skip: string | false = CHROMIUM === undefined ? "there is no Chromium on this machine" : false;

/** The machine's own Chromium, without a window. */
export async function startBrowser(): Promise<Browser> {
  // As root its sandbox cannot start; it sees nothing but pages of our own.
  return await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
}

export interface Looks {
  colorScheme?: "light" | "dark";
  width?: number;
}

/** A page under watch: what it complains of, and whom it asks. */
export interface Watched {
  page: Page;
  /** Errors of the page, and what its content security policy stopped. */
  complaints: string[];
  /** Every URL that was asked for. */
  asked: string[];
  close(): Promise<void>;
}

/** A page in a browser of its own: no cookies, no cache of another's. */
export async function openPage(
  browser: Browser,
  { colorScheme = "light", width = 1280 }: Looks = {},
): Promise<Watched> {
  const context = await browser.newContext({
    colorScheme,
    viewport: { width, height: 900 },
    permissions: ["clipboard-read", "clipboard-write"],
  });
  // Not a script of the page: its policy has no say in it.
  await context.addInitScript({ content: axe.source });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  const asked: string[] = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => asked.push(request.url()));
  return { page, complaints, asked, close: () => context.close() };
}

const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** Fails with what axe finds wrong with the page as it is, of WCAG 2.2 AA and of good practice. */
export async function assertAccessible(page: Page, what: string): Promise<void> {
  const { violations } = await page.evaluate(
    (rules) => (globalThis as unknown as { axe: typeof axe }).axe.run({ runOnly: rules }),
    RULES,
  );
  const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`);
  assert.deepEqual(told, [], what);
}
