// needs: once
/// <reference lib="dom" />
import { test } from "node:test";
import { longOnly } from "../tier.ts";
import { skip } from "./browser.ts";
import { madeUpConsoleOfFile } from "./made_up_console.ts";

const stage = madeUpConsoleOfFile();

const DEVICE_HASH = "cd".repeat(32);
// JavaScript's largest whole number, which a program may write on the chain for "for ever".
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

test(
  "the console retries an asset whose request failed, at the next screen",
  { skip: skip || longOnly },
  async () => {
    const asset = "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC";
    let asked = 0;
    const { page, close } = await stage.open(`cards/${DEVICE_HASH}`, {
      [`/v1/devices/${DEVICE_HASH}`]: () => ({ ...device, policy: { ...policy, asset }, escrowBalance: "12500000" }),
      [`/v1/assets/${asset}`]: () =>
        asked++ === 0
          ? { error: { code: "unavailable", message: "not now" } }
          : { asset, symbol: "native", name: "native", decimals: 7 },
    });
    await page.getByText("GOWNER").waitFor();
    await page.evaluate(() => location.hash = "#/cards");
    await page.getByText("No card has an event yet.").waitFor();
    await page.evaluate((hash) => location.hash = `#/cards/${hash}`, DEVICE_HASH);
    await page.locator(".amount b", { hasText: "1.25 XLM" }).waitFor();
    await close();
  },
);

test("a button reports that it cannot copy where the browser has no clipboard, as over plain HTTP", {
  skip: skip || longOnly,
}, async () => {
  const { page, close } = await stage.open(`cards/${DEVICE_HASH}`, {
    [`/v1/devices/${DEVICE_HASH}`]: () => device,
  });
  await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
  await page.getByRole("button", { name: "Copy" }).first().click();
  await page.getByText("Cannot copy", { exact: true }).waitFor();
  await close();
});
