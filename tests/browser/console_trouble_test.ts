/// <reference lib="dom" />
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { skip } from "./browser.ts";
import { type MadeUpConsole, startMadeUpConsole } from "./made_up_console.ts";

let stage: MadeUpConsole;
before(async () => {
  if (!skip) stage = await startMadeUpConsole();
});
after(() => stage?.stop());

const RATE_USED_UP = { error: { code: "rate_limited", message: "the rate is used up" } };
const WALLET = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ";
const hashOf = (n: number) => n.toString(16).padStart(64, "0");
const eventOf = (n: number) => ({
  id: `${String(n).padStart(19, "0")}-0000000001`,
  type: "device.revoked",
  contractId: "C",
  ledger: n,
  ledgerClosedAt: "2026-01-01T00:00:00Z",
  txHash: hashOf(n),
  deviceHash: hashOf(7),
});
/** Those of these ledgers, the newest first, as a page of the history. */
const pageOf = (from: number, to: number) => ({
  events: Array.from({ length: from - to + 1 }, (_, at) => eventOf(from - at)),
  cursor: `before-${to}`,
  latestLedger: from,
  oldestLedger: 1,
});
const later = <T>(value: T, ms = 500) => new Promise<T>((resolve) => setTimeout(resolve, ms, value));

test("the link past the navigation leads to the content of the screen that is shown", { skip }, async () => {
  const { page, close } = await stage.open("cards", {});
  await page.locator("h1", { hasText: "Cards" }).waitFor();
  await page.getByLabel("Look up a card, account").focus();
  const skipLink = page.getByRole("link", { name: "Skip to content" });
  await skipLink.press("Enter");
  await page.waitForFunction(() => document.activeElement?.id === "main");
  await later(0, 100);
  assert.match(page.url(), /#\/cards$/);
  assert.equal(await page.locator("h1").textContent(), "Cards");
  await close();
});
