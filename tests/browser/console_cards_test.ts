/// <reference lib="dom" />
import { after, before, test } from "node:test";
import { skip } from "./browser.ts";
import { type MadeUpConsole, startMadeUpConsole } from "./made_up_console.ts";

let stage: MadeUpConsole;
before(async () => {
  if (!skip) stage = await startMadeUpConsole();
});
after(() => stage?.stop());

const DEVICE_HASH = "cd".repeat(32);
// What a program wrote on the chain that says "for ever" with JavaScript's largest whole number.
const policy = { agent: "G", maxAmount: "0", asset: null, expiresAt: Number.MAX_SAFE_INTEGER };
const device = { deviceHash: DEVICE_HASH, owner: "GOWNER", policy, escrowBalance: "0" };

test("a card whose policy ends beyond the calendar is shown", { skip }, async () => {
  const { page, close } = await stage.open(`cards/${DEVICE_HASH}`, {
    [`/v1/devices/${DEVICE_HASH}`]: () => device,
  });
  await page.getByText("beyond the calendar").waitFor();
  await close();
});

test("a wallet with such a card has its cards listed", { skip }, async () => {
  const wallet = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ";
  const { page, close } = await stage.open(`accounts/${wallet}`, {
    [`/v1/devices/${DEVICE_HASH}`]: () => device,
    [`/v1/wallets/${wallet}/devices`]: () => ({ devices: [DEVICE_HASH] }),
    [`/v1/merchants/${wallet}/pending`]: () => ({ pending: "0", payments: [] }),
  });
  await page.locator("td a", { hasText: "cdcdcd" }).waitFor();
  await page.locator("td", { hasText: "beyond the calendar" }).waitFor();
  await close();
});
