/// <reference lib="dom" />
import axe from "axe-core";
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { type Browser, chromium, type Page } from "playwright-core";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

/** The reason for skipping the tests that need a browser; false when the machine has one. */
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

export interface Opening extends Looks {
  /** In a context of its own, without the storage and the cache of other tests. */
  alone?: boolean;
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

/** The page that the tests of a browser share, while no test uses it. A context for each test costs as much as the test. */
const idle = new WeakMap<Browser, Page>();

/** An empty page. `close` hands it to the next test, unless it is alone. */
export async function openPage(
  browser: Browser,
  { colorScheme = "light", width = 1280, alone = false }: Opening = {},
): Promise<Watched> {
  const page = (alone ? undefined : idle.get(browser)) ?? await newPage(browser);
  if (!alone) idle.delete(browser);
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await page.setViewportSize({ width, height: 900 });
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  const asked: string[] = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => asked.push(request.url()));
  return {
    page,
    complaints,
    asked,
    async close() {
      if (alone) return await page.context().close();
      page.removeAllListeners();
      await page.unrouteAll();
      await page.goto("about:blank");
      idle.set(browser, page);
    },
  };
}

async function newPage(browser: Browser): Promise<Page> {
  const context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] });
  return await context.newPage();
}

const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** Fails with what axe finds wrong with the page as it is, of WCAG 2.2 AA and of good practice. */
export async function assertAccessible(page: Page, what: string): Promise<void> {
  await addAxe(page);
  const { violations } = await page.evaluate((rules) => {
    // A colour on its way to another is none that a reader has to read by.
    for (const animation of document.getAnimations()) if (animation instanceof CSSTransition) animation.finish();
    const { axe: checker } = globalThis as unknown as { axe: typeof axe };
    return checker.run({ runOnly: rules, resultTypes: ["violations"] });
  }, RULES);
  const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`);
  assert.deepEqual(told, [], what);
}

/** Loads axe where it is needed only: every page would parse its half megabyte. */
async function addAxe(page: Page): Promise<void> {
  if (await page.evaluate(() => "axe" in globalThis)) return;
  // As the developer's tools do it: the page's policy has no say in it.
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axe.source });
  await session.detach();
}
