// needs: once
/// <reference lib="dom" />
import assert from "node:assert/strict";
import { test } from "node:test";
import { WELL_STATUS } from "../well_status.ts";
import { skip } from "./browser.ts";
import { eventOf, madeUpConsoleOfFile, pageOf } from "./made_up_console.ts";

const stage = madeUpConsoleOfFile();

const MERCHANT = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ";

/** The status of a gateway that is well, but for its history. */
const statusWith = (history: object = {}) => ({
  ...WELL_STATUS,
  ledger: { ...WELL_STATUS.ledger, closedAt: new Date().toISOString() },
  history: { ...WELL_STATUS.history, ...history },
});

test("with a history that is behind, neither money nor webhooks are called well", { skip }, async () => {
  const since = new Date(Date.now() - 7_200_000).toISOString();
  const { page, close } = await stage.open("", {
    "/v1/status": () => statusWith({ unknownSince: since }),
    "/v1/webhooks": () => ({ webhooks: [{ failingSince: null, retrying: 0, rejected: 0, dead: 0, createdAt: since }] }),
  });
  const notKnown = page.locator(".answer.doubt", { hasText: `Not known since ${since.slice(11, 16)} UTC.` });
  await notKnown.nth(1).waitFor();
  assert.equal(await page.locator(".answer", { hasText: /^No/ }).count(), 2, "and no other answer says no");
  await close();
});

test("once the gateway does not answer, money is not known since its last answer", { skip }, async () => {
  let answers = true;
  const { page, close } = await stage.open("", {
    "/v1/status": () => answers ? statusWith() : { error: { code: "store_unavailable", message: "the disk is gone" } },
  });
  await page.locator(".answer.good", { hasText: /^No\.$/ }).waitFor();
  answers = false;
  await page.locator(".answer", { hasText: /^Not known since \d\d:\d\d UTC\.$/ }).waitFor();
  await close();
});

test("a payment that is gone without a claim is not called claimed", { skip }, async () => {
  const authorized = { ...eventOf(8), type: "payment.authorized", merchant: MERCHANT, amount: "5" };
  const { page, close } = await stage.open("", {
    "/v1/status": () => statusWith(),
    "/v1/events": ({ searchParams }) =>
      searchParams.has("types") ? { ...pageOf(9, 10), events: [authorized] } : pageOf(9, 10),
    [`/v1/merchants/${MERCHANT}/pending`]: () => ({ pending: "0", payments: [] }),
  });
  const finding = page.locator(".findings .bad", { hasText: "no longer pending, and the gateway saw no claim" });
  await finding.waitFor();
  await page.evaluate(() => location.hash = "#/payments");
  await page.locator("h1", { hasText: "Payments" }).waitFor();
  await finding.waitFor();
  await close();
});
