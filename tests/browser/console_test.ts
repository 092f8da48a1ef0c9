// needs: once
/// <reference lib="dom" />
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { startReadySandboxHere } from "../cli/sandbox/sandbox_here.ts";
import { createClient } from "../e2e/client.ts";
import { type Receiver, startReceiver } from "../e2e/receiver.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { flagsFor, makeKey, runGateway, type SandboxProcess, sourceCommand } from "../e2e/sandbox_process.ts";
import { startServe } from "../faults/serve_process.ts";
import { isLong, longOnly } from "../tier.ts";
import { until } from "../until.ts";
import { assertAccessible, type Looks, skip, startBrowser } from "./browser.ts";
import { openConsole, signedIn } from "./console.ts";
import { tellLife } from "./life_story.ts";

let browser: Browser;
let sandbox: SandboxProcess;
let receiver: Receiver;
/** The receiver's status at each path. */
const answers: Record<string, number> = {};

before(async () => {
  if (skip) return;
  [browser, sandbox, receiver] = await Promise.all([
    startBrowser(),
    startReadySandboxHere(),
    startReceiver(({ path }) => answers[path] ?? 200),
  ]);
});
after(async () => {
  await browser?.close();
  await sandbox?.stop();
  await receiver?.stop();
});

/** Each test starts without webhooks. */
afterEach(async () => {
  if (skip) return;
  for (const { id } of (await api().get("/v1/webhooks")).body.webhooks) {
    await api().request("DELETE", `/v1/webhooks/${id}`);
  }
});

const api = () => createClient(sandbox.info.gateway, sandbox.info.apiKey);

let cards = 0;
/** A card with a policy and money; one payment waits for a claim. */
async function paidCard(): Promise<string> {
  const { accounts: { owner, agent, merchant }, asset } = sandbox.info;
  const deviceHash = (++cards).toString(16).padStart(64, "c");
  const steps: [typeof owner, Record<string, string>][] = [
    [owner, { kind: "registerDevice", deviceHash, agent: agent.address }],
    [owner, { kind: "registerAgent", deviceHash, agent: agent.address, asset, maxAmount: "50000000" }],
    [owner, { kind: "fundEscrow", deviceHash, asset, amount: "123456789" }],
    [agent, { kind: "authorize", deviceHash, merchant: merchant.address, asset, amount: "25000000" }],
  ];
  for (const [signer, operation] of steps) {
    const { status, body } = await api().write(signer, operation);
    assert.equal(status, 200, JSON.stringify(body));
  }
  return deviceHash;
}

/** A webhook of the sandbox's key whose receiver answers so. */
async function newWebhook(path: string, status: number): Promise<{ id: string; secret: string }> {
  answers[path] = status;
  return (await api().post("/v1/webhooks", { url: receiver.url + path })).body;
}

test("a newcomer plays the life of a card in the console of a sandbox", { skip }, async () => {
  await tellLife(browser, sandbox.info);
});

test("the key is in the page's memory only: not in its storage, and gone after a reload", { skip }, async () => {
  const { page, complaints, close } = await signedIn(browser, sandbox.info);
  const kept = await page.evaluate(async () => [
    JSON.stringify({ ...localStorage, ...sessionStorage }),
    document.cookie,
    location.href,
    JSON.stringify(history.state),
    String((await indexedDB.databases()).length),
    String((await caches.keys()).length),
    document.documentElement.outerHTML,
  ]);
  assert.ok(!kept.join().includes(sandbox.info.apiKey.split("_").at(-1)!));
  assert.deepEqual([kept[0], kept[1], kept[4], kept[5]], ["{}", "", "0", "0"]);
  await page.reload();
  await page.waitForSelector("#key");
  assert.equal(await page.locator("#top nav").count(), 0);
  assert.deepEqual(complaints, []);
  await close();
});

test(
  "the console shows the gateway's message for a wrong key, and signs a disabled key out",
  { skip },
  async () => {
    const { store, gateway } = sandbox.info;
    const { page, shows, close } = await openConsole(browser, sandbox.info);
    await page.getByLabel("API key").fill(`${sandbox.info.apiKey}x`);
    await page.getByLabel("API key").press("Enter");
    await shows(".failure", /the API key is (mistyped|malformed)/);
    const key = await makeKey(sourceCommand(), store, { scopes: "read", rate: 600 });
    await page.getByLabel("API key").fill(key);
    await page.getByRole("button", { name: "Sign in" }).click();
    await shows("h1", "Overview");
    await shows(".questions", "This key lacks the scope webhooks.");
    assert.equal((await runGateway(["keys", "disable", key.split("_")[2]!, "--store", store])).code, 0);
    await until(async () => (await createClient(gateway, key).get("/v1/network")).status !== 200);
    await page.evaluate(() => location.hash = "#/cards");
    await shows(".failure", "Signed out: the API key is disabled");
    assert.equal(await page.locator("#top nav").count(), 0);
    await close();
  },
);

test("the first screen answers three questions: is it healthy, is money stuck, who fails", { skip }, async () => {
  const { id } = await newWebhook("/down", 503);
  await paidCard();
  const { page, shows, complaints, close } = await signedIn(browser, sandbox.info);
  await shows(".questions .panel:nth-child(1) .answer.good", "Yes.");
  await shows(".questions .panel:nth-child(1)", "no gaps");
  await shows(".questions .panel:nth-child(2) .answer", "No.");
  await shows(".questions .panel:nth-child(2) li", /2\.5 XLM25.000.000 stroops/);
  await shows(".questions .panel:nth-child(3) .answer.bad", "1 endpoint fails.");
  await shows(".questions .panel:nth-child(3) li", /\/downfailing since/);
  await page.locator(".questions a", { hasText: "/down" }).click();
  await shows("h1", "Webhook");
  assert.match(page.url(), new RegExp(`#/webhooks/${id}$`));
  assert.deepEqual(complaints, []);
  await close();
});

test("new events appear at once, and a button opens their details", { skip }, async () => {
  const { page, go, shows, complaints, close } = await signedIn(browser, sandbox.info);
  await go("events", "Events");
  const deviceHash = await paidCard();
  const row = page.locator(".events tbody tr", { hasText: "escrow.funded" }).filter({
    has: page.locator(`a[href="#/cards/${deviceHash}"]`),
  });
  await row.getByText(/12\.3456789 XLM/).waitFor();
  await row.getByRole("button", { name: /Details/ }).press("Enter");
  await shows(".more .facts", deviceHash);
  await shows(".more .facts", sandbox.info.contracts.paymentEscrow);
  await page.getByLabel("Type of the events").selectOption("payment.authorized");
  await page.getByLabel("Card, merchant or agent of the events").fill(deviceHash);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".events tbody tr").length === 1);
  await shows(".events tbody tr", "payment.authorized");
  await page.getByRole("button", { name: "Pause" }).click();
  assert.deepEqual(complaints, []);
  await close();
});

test(
  "the search finds a card by hash or owner, and shows its policy, money and events",
  { skip: skip || longOnly },
  async () => {
    await newWebhook("/orders", 200);
    const deviceHash = await paidCard();
    const { page, shows, complaints, close } = await signedIn(browser, sandbox.info);
    await page.keyboard.press("/");
    await page.keyboard.type(sandbox.info.accounts.owner.address);
    await page.keyboard.press("Enter");
    await shows("h1", "Account");
    await page.locator(`td a[href="#/cards/${deviceHash}"]`).click();
    await shows("h1", "Card");
    await shows(".facts", /In escrow9\.8456789 XLM98.456.789 stroops/);
    await shows(".facts", /at most 5 XLM/);
    await shows(".timeline li:nth-child(1)", /payment\.authorized.*2\.5 XLM25.000.000 stroops/);
    await shows(".timeline li:nth-child(1) .standings", /\/orders delivered · 200/);
    await shows(".timeline li:nth-child(4)", "device.registered");
    await page.locator(".timeline li:nth-child(1) a[href^='#/transactions/']").click();
    await shows("h1", "Transaction");
    await shows(".facts", "success");
    assert.deepEqual(complaints, []);
    await close();
  },
);

test("the console shows a merchant's pending payments until the claim", { skip }, async () => {
  await paidCard();
  const { merchant } = sandbox.info.accounts;
  const { body: { pending } } = await api().get(`/v1/merchants/${merchant.address}/pending`);
  const { go, shows, page, complaints, close } = await signedIn(browser, sandbox.info);
  await go("payments", "Payments");
  const row = await shows("tbody tr", merchant.address.slice(0, 6));
  assert.ok(row.replace(/\D/g, "").includes(pending), row);
  await page.locator("tbody a").first().click();
  await shows("h1", "Account");
  await shows(".sum", "XLM");
  assert.equal((await api().write(merchant, { kind: "claim", asset: sandbox.info.asset })).status, 200);
  await shows(".panel", "No payment waits for a claim.");
  assert.deepEqual(complaints, []);
  await close();
});

test(
  "a delivery shows request and answer, checks a receiver's secret, and sends a replay",
  { skip },
  async () => {
    const { secret } = await newWebhook("/rejects", 400);
    await paidCard();
    const { page, go, shows, complaints, close } = await signedIn(browser, sandbox.info);
    await go("webhooks", "Webhooks");
    await shows("tbody tr:nth-child(1)", /rejects.*missed events.*4/);
    await page.locator("tbody a", { hasText: "/rejects" }).click();
    await page.locator(".attempts button").first().click();
    await shows(".more .facts", "status 400");
    await shows(".more pre", "thanks");
    await shows(".more pre", /POST http:\/\/127\.0\.0\.1:\d+\/rejects\nX-Service-Signature: t=\d+,v1=[0-9a-f]{64}/);
    const field = page.getByLabel("Secret of your receiver");
    await field.fill("whsec_another");
    await field.press("Enter");
    await shows(".more", "another secret signed this");
    await field.fill(secret);
    await field.press("Enter");
    await shows(".more", "the secret is right");
    await page.getByRole("button", { name: "Copy as curl" }).click();
    const curl = await page.evaluate(() => navigator.clipboard.readText());
    const sent = receiver.received.filter(({ path }) => path === "/rejects");
    const newest = sent.find(({ headers }) => curl.includes(String(headers["webhook-id"])))!;
    assert.match(curl, /^curl -X POST 'http/);
    assert.ok(
      curl.includes(`--data-raw '${newest.body}'`) && curl.includes(String(newest.headers["x-service-signature"])),
    );
    answers["/rejects"] = 200;
    await page.getByRole("button", { name: "Send again" }).click();
    await shows(".attempts tbody tr:nth-child(1)", /delivered · 200/);
    await shows(".facts", "3 rejected");
    assert.deepEqual(complaints, []);
    await close();
  },
);

test(
  "a gateway that is no sandbox has no sandbox screen, and movements in an unaccepted asset have a flag",
  { skip: skip || longOnly },
  async () => {
    const deviceHash = await paidCard();
    const folder = mkdtempSync(join(tmpdir(), "console-"));
    const store = `sqlite:${join(folder, "gateway.db")}`;
    const key = await makeKey(sourceCommand(), store, { scopes: "read,webhooks", rate: 600 });
    // Any contract will do: what matters is that the asset of the payments is not on the list.
    const assets = sandbox.info.contracts.paymentEscrow;
    const serving = await startServe(flagsFor(sandbox.info, { store, assets, log: "json" }));
    const { page, shows, go, complaints, close } = await openConsole(browser, { gateway: serving.url });
    assert.equal(await page.getByRole("button", { name: "Use the sandbox's key" }).count(), 0);
    await page.getByLabel("API key").fill(key);
    await page.keyboard.press("Enter");
    await shows(".questions .panel:nth-child(2) .answer.bad", "Perhaps. Check this:");
    await shows(".questions .panel:nth-child(2)", /movements? w\w+ in an unaccepted asset/);
    assert.equal(await page.getByRole("link", { name: "Sandbox" }).count(), 0);
    await go(`cards/${deviceHash}`, "Card");
    await shows(".timeline li:nth-child(1)", /2\.5 XLM.*unaccepted asset/);
    await assertAccessible(page, "an unaccepted asset");
    // Only a sandbox has a description; another gateway answers 404.
    assert.deepEqual(complaints.filter((one) => !one.includes("404")), []);
    await close();
    serving.signal("SIGTERM");
    assert.equal(await serving.ended, 0, serving.log());
    rmSync(folder, { recursive: true });
  },
);

test("a replay shows the number of deliveries before it makes them", { skip: skip || longOnly }, async () => {
  await paidCard();
  const { id } = await newWebhook("/replayed", 200);
  const { page, go, shows, complaints, close } = await signedIn(browser, sandbox.info);
  await go(`webhooks/${id}`, "Webhook");
  await page.getByRole("button", { name: "Replay …" }).click();
  const { latestLedger } = (await api().get("/v1/events?limit=1")).body;
  await page.getByLabel("From ledger").fill(String(latestLedger - 3));
  await page.getByRole("button", { name: "Count first" }).click();
  const told = await shows(".acting", /The replay sends \d+ deliver/);
  const count = Number(/sends (\d+)/.exec(told)![1]);
  assert.ok(count >= 1 && receiver.received.every(({ path }) => path !== "/replayed"), "nothing is sent yet");
  await page.getByRole("button", { name: /^Send \d+ deliver/ }).click();
  await shows(".acting", /Replay rp_\w+ is running/);
  while (receiver.received.filter(({ path }) => path === "/replayed").length < count) {
    await receiver.until(receiver.received.length + 1);
  }
  await page.getByRole("button", { name: "Send a test event" }).click();
  await shows(".acting", /The test event: delivered · 200/);
  assert.deepEqual(complaints, []);
  await close();
});

const [PHONE, DESKTOP] = [390, 1280];
const LOOKS: [string, Looks][] = [
  ["in light", {}],
  ["in the dark", { colorScheme: "dark" }],
  ["on a phone", { width: PHONE }],
];
for (const [how, looks] of LOOKS) {
  const isShort = how === "in light";
  test(`every screen is accessible ${how}, and none is wider than its window`, {
    skip: skip || (!isShort && longOnly),
  }, async () => {
    const { merchant } = sandbox.info.accounts;
    const { id } = await newWebhook("/looked-at", 500);
    const deviceHash = await paidCard();
    const opened = await openConsole(browser, sandbox.info, looks);
    if (isLong) await assertAccessible(opened.page, "sign in");
    await opened.close();
    const { page, go, complaints, close } = await signedIn(browser, sandbox.info, looks);
    const { events: [event] } = (await api().get(`/v1/events?deviceHash=${deviceHash}&order=desc&limit=1`)).body;
    const screens: [path: string, title: string, there: string][] = [
      ["", "Overview", ".questions .answer"],
      ["events", "Events", ".events tbody tr"],
      [`events/${event.id}`, "Event", ".facts"],
      ["cards", "Cards", "tbody tr"],
      [`cards/${deviceHash}`, "Card", ".timeline li"],
      [`transactions/${event.txHash}`, "Transaction", ".facts"],
      [`accounts/${merchant.address}`, "Account", ".sum"],
      ["payments", "Payments", "tbody tr"],
      ["webhooks", "Webhooks", "tbody tr"],
      [`webhooks/${id}`, "Webhook", ".attempts tbody tr"],
      ["sandbox", "Sandbox", ".steps li"],
      ["nowhere", "There is no such page", "main a"],
    ];
    for (const [path, title, there] of screens) {
      await go(path, title);
      await page.locator(there).first().waitFor();
      for (const open of ["New webhook", "Replay …"]) {
        const button = page.getByRole("button", { name: open });
        if (await button.count() > 0) await button.click();
      }
      const details = page.locator("td button").first();
      if (await details.count() > 0) await details.click();
      await page.locator(".more .dim", { hasText: "Loading" }).waitFor({ state: "detached" });
      if (isLong || title === "Webhook") await assertAccessible(page, title);
      for (const width of [PHONE, looks.width ?? DESKTOP]) {
        await page.setViewportSize({ width, height: 900 });
        const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(beyond <= 0, `${title} is ${beyond} px wider than ${width} px`);
      }
    }
    assert.deepEqual(complaints, []);
    await close();
  });
}

test("the console is small, and moves by keyboard from its first tab on", { skip: skip || longOnly }, async () => {
  const { page, close } = await openConsole(browser, sandbox.info, { alone: true });
  const bytes = await page.evaluate(() =>
    performance.getEntriesByType("resource").reduce(
      (sum, one) => sum + (one as PerformanceResourceTiming).transferSize,
      0,
    )
  );
  assert.ok(bytes > 10_000 && bytes < 100_000, `${bytes} bytes`);
  await page.getByLabel("API key").fill(sandbox.info.apiKey);
  await page.keyboard.press("Enter");
  await page.locator("h1", { hasText: "Overview" }).waitFor();
  const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() || document.activeElement?.id);
  await page.getByRole("link", { name: "Skip to content" }).focus();
  for (const name of ["Gateway", "Overview", "Events", "Cards"]) {
    await page.keyboard.press("Tab");
    assert.equal(await focused(), name);
  }
  await page.keyboard.press("Enter");
  await page.locator("h1", { hasText: "Cards" }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.id), "main");
  await close();
});
