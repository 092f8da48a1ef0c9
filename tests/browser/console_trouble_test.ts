// needs: once
/// <reference lib="dom" />
import assert from "node:assert/strict";
import { test } from "node:test";
import { longOnly } from "../tier.ts";
import { skip } from "./browser.ts";
import { eventOf, hashOf, madeUpConsoleOfFile, pageOf } from "./made_up_console.ts";

const stage = madeUpConsoleOfFile();

const RATE_USED_UP = { error: { code: "rate_limited", message: "the rate is used up" } };
const WALLET = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ";
const later = <T>(value: T, ms = 500) => new Promise<T>((resolve) => setTimeout(resolve, ms, value));

test("a failed request for older events keeps the list, and its button works again", {
  skip: skip || longOnly,
}, async () => {
  let asked = 0;
  const { page, close } = await stage.open("events", {
    "/v1/events": ({ searchParams }) =>
      !searchParams.has("cursor") ? pageOf(100, 51) : ++asked === 1 ? RATE_USED_UP : pageOf(50, 41),
  });
  const rows = page.locator(".events tbody tr");
  await rows.nth(49).waitFor();
  const older = page.getByRole("button", { name: "Older events" });
  await older.click();
  await page.getByText("the rate is used up").waitFor();
  assert.equal(await rows.count(), 50);
  await older.click();
  await rows.nth(59).waitFor();
  assert.equal(await page.getByText("the rate is used up").count(), 0);
  await close();
});

test("events that left the list for newer ones are among the older events", { skip: skip || longOnly }, async () => {
  const { page, close } = await stage.open("events", {
    "/v1/events": ({ searchParams: asked }) => {
      if (asked.has("fromLedger")) return { ...pageOf(100, 101), cursor: "now" };
      const newest = Number(asked.get("toLedger") ?? 100);
      return asked.has("cursor") ? pageOf(50, 41) : pageOf(newest, newest - 49);
    },
    "/v1/events/stream": async function* () {
      for (let n = 101; n <= 560; n++) yield `id: c${n}\ndata: ${JSON.stringify(eventOf(n))}\n\n`;
      await later(0, 20_000);
    },
  });
  const rows = page.locator(".events tbody tr");
  await rows.getByRole("button", { name: /ledger 560$/ }).waitFor();
  await rows.getByRole("button", { name: /ledger 60$/ }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Older events" }).click();
  await rows.getByRole("button", { name: /ledger 5$/ }).or(rows.getByRole("button", { name: /ledger 41$/ })).waitFor();
  assert.equal(await rows.getByRole("button", { name: /ledger 60$/ }).count(), 1);
  await close();
});

test(
  "a paused list counts all new events, and resumes without a hole",
  { skip },
  async () => {
    let latest = 100;
    let go = () => {};
    const paused = new Promise<void>((resolve) => go = resolve);
    let goOn = () => {};
    const resumed = new Promise<void>((resolve) => goOn = resolve);
    const frameOf = (n: number) => `id: c${n}\ndata: ${JSON.stringify(eventOf(n))}\n\n`;
    const { page, close } = await stage.open("events", {
      "/v1/events": ({ searchParams: asked }) => {
        if (asked.has("fromLedger")) return { ...pageOf(latest, latest + 1), cursor: "now" };
        const newest = Number(
          asked.get("cursor")?.slice("before-".length) ?? Number(asked.get("toLedger") ?? latest) + 1,
        );
        return pageOf(newest - 1, Math.max(1, newest - 50));
      },
      "/v1/events/stream": async function* () {
        await paused;
        for (latest = 101; latest <= 800; latest++) yield frameOf(latest);
        latest = 800;
        await resumed;
        yield frameOf(latest = 801);
        await later(0, 20_000);
      },
    });
    const rows = page.locator(".events tbody tr");
    const rowOf = (ledger: number) => rows.getByRole("button", { name: new RegExp(`ledger ${ledger}$`) });
    await rowOf(51).waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    go();
    await page.getByRole("button", { name: "Resume, 700 new events" }).click();
    await rowOf(800).waitFor();
    await page.getByRole("button", { name: "Pause" }).waitFor();
    goOn();
    await rowOf(801).waitFor();
    const before = await rows.count();
    await page.getByRole("button", { name: "Older events" }).click();
    await rows.nth(before).waitFor();
    const ledgers = await rows.getByRole("button", { name: /^Details of/ }).evaluateAll((all) =>
      all.map((one) => Number(one.getAttribute("aria-label")!.split(" ").at(-1)))
    );
    assert.deepEqual(ledgers, ledgers.map((_, at) => 801 - at), "none is left out");
    await close();
  },
);

test("the live list names the ledgers whose events may be missing, as long as they are", { skip }, async () => {
  const gapOf = (fromLedger: number, toLedger: number) =>
    `event: gap\ndata: ${
      JSON.stringify({ reason: "not_read", epoch: 0, fromLedger, toLedger, contractIds: ["C"], detectedAt: "" })
    }\n\n`;
  const notHeld = `event: gap\ndata: ${JSON.stringify({ reason: "not_held", oldestLedger: 90 })}\n\n`;
  let opened = 0;
  let breakOff = () => {};
  const broken = new Promise<void>((resolve) => breakOff = resolve);
  const { page, close } = await stage.open("events", {
    "/v1/events/stream": async function* () {
      if (++opened === 1) {
        yield gapOf(101, 104) + gapOf(101, 109) + notHeld;
        await broken;
        return;
      }
      yield gapOf(105, 109);
      await later(0, 20_000);
    },
  });
  const says = (text: string) => page.locator(".findings li", { hasText: text });
  const grown = says("Events of ledgers 101 to 109 may be missing");
  await grown.waitFor();
  await says("The retention job deleted events before ledger 90 before this page could show them.").waitFor();
  assert.equal(await page.locator(".findings li").count(), 2, "what has grown is one");
  await page.evaluate((hash) => location.hash = hash, "#/");
  await page.locator(".panel", { hasText: "Newest events" }).locator(grown).waitFor();
  await page.evaluate((hash) => location.hash = hash, "#/events");
  await grown.waitFor();
  breakOff();
  await says("Events of ledgers 105 to 109 may be missing").waitFor();
  assert.equal(await page.locator(".findings li").count(), 2, "what was filled in part is smaller");
  await close();
});

test(
  "an account's new event is in the list of its role as merchant, not in that of the agent",
  { skip: skip || longOnly },
  async () => {
    let go = () => {};
    const listed = new Promise<void>((resolve) => go = resolve);
    const { page, close } = await stage.open("events", {
      "/v1/events/stream": async function* () {
        await listed;
        const paid = { ...eventOf(101), type: "payment.authorized", merchant: WALLET };
        const registered = { ...eventOf(102), type: "agent.registered", agent: WALLET };
        for (const event of [paid, registered]) yield `id: c${event.ledger}\ndata: ${JSON.stringify(event)}\n\n`;
        await later(0, 20_000);
      },
    });
    await page.getByLabel("Card, merchant or agent of the events").fill(WALLET);
    await page.keyboard.press("Enter");
    const [merchants, agents] = [0, 1].map((at) => page.locator(".event-list").nth(at));
    await agents!.getByText("No event matches.").waitFor();
    go();
    await agents!.getByRole("button", { name: /ledger 102$/ }).waitFor();
    await merchants!.getByRole("button", { name: /ledger 101$/ }).waitFor();
    assert.equal(await page.locator(".events tbody tr").count(), 2);
    await close();
  },
);

test("a failed request for a card's older events can be repeated", { skip: skip || longOnly }, async () => {
  let asked = 0;
  const { page, close } = await stage.open(`cards/${hashOf(7)}`, {
    "/v1/events": ({ searchParams }) =>
      !searchParams.has("cursor") ? pageOf(100, 51) : ++asked === 1 ? RATE_USED_UP : pageOf(50, 41),
  });
  await page.locator(".timeline > li").nth(49).waitFor();
  const older = page.getByRole("button", { name: "Older" });
  await older.click();
  await page.getByText("the rate is used up").waitFor();
  await older.click();
  await page.locator(".timeline > li").nth(59).waitFor();
  await close();
});

test("the list shows a failed request for a card, and does not call it a card without agent", { skip }, async () => {
  const { page, close } = await stage.open(`accounts/${WALLET}`, {
    [`/v1/wallets/${WALLET}/devices`]: () => ({ devices: [hashOf(7)] }),
    [`/v1/devices/${hashOf(7)}`]: () => RATE_USED_UP,
    [`/v1/merchants/${WALLET}/pending`]: () => ({ pending: "0", payments: [] }),
  });
  await page.locator("td", { hasText: "the rate is used up" }).waitFor();
  assert.equal(await page.locator("td", { hasText: "no agent" }).count(), 0);
  await close();
});

test(
  "the skip link leads to the content of the present screen",
  { skip: skip || longOnly },
  async () => {
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
  },
);

test("the console rejects a key with a character that no key has", { skip: skip || longOnly }, async () => {
  const { page, close } = await stage.open("", {});
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.fill("#key", "service_sk_x_y\u200b\u2026");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator(".failure", { hasText: "the API key is malformed" }).waitFor();
  await close();
});

test("a late answer for an earlier key does not end the present session", { skip }, async () => {
  const { page, close } = await stage.open("", {
    "/v1/status": () => later({}, 10_000),
    "/v1/merchants": () => ({}),
  });
  await page.locator("h1", { hasText: "Overview" }).waitFor();
  let refuse = () => {};
  const refused = new Promise<void>((resolve) => refuse = resolve);
  await page.route("**/v1/network", async (route) => {
    await refused;
    await route.fulfill({ status: 401, json: { error: { code: "unauthorized", message: "the API key is disabled" } } });
  }, { times: 1 });
  // The page's own modules send a request that belongs to no screen.
  await page.evaluate(() => {
    // Not the compiler's business: a module of the page.
    const api = "/console/api.js";
    void import(api).then(({ get }) => get("v1/network").catch(() => {}));
  });
  await later(0, 200);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.fill("#key", "service_sk_other_y");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator("h1", { hasText: "Overview" }).waitFor();
  const answered = page.waitForResponse((response) => response.status() === 401);
  refuse();
  await answered;
  await later(0, 300);
  assert.equal(await page.locator("h1").textContent(), "Overview");
  await close();
});

test(
  "the console shows the latest ledger of a reset network, although it is lower",
  { skip: skip || longOnly },
  async () => {
    let latest = 500;
    const { page, close } = await stage.open("cards", {
      "/v1/events": () => ({ events: [], cursor: `c${latest}`, latestLedger: latest, oldestLedger: 1 }),
    });
    await page.route("**/v1/events/stream", (route) => {
      latest = 9;
      const error = { code: "invalid_request", message: "cursor is of another store" };
      return route.fulfill({ status: 400, json: { error } });
    });
    await page.locator(".height .number", { hasText: /^500$/ }).waitFor();
    await page.locator(".height .number", { hasText: /^9$/ }).waitFor();
    await close();
  },
);

test(
  "an invalid filter keeps the list and its older events",
  { skip: skip || longOnly },
  async () => {
    const { page, close } = await stage.open("events", {
      "/v1/events": ({ searchParams }) => searchParams.has("cursor") ? pageOf(50, 41) : pageOf(100, 51),
    });
    const rows = page.locator(".events tbody tr");
    await rows.nth(49).waitFor();
    await page.getByLabel("Card, merchant or agent of the events").fill("nonsense");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".filters input:invalid") !== null);
    await page.getByRole("button", { name: "Older events" }).click();
    await rows.nth(59).waitFor();
    await page.evaluate(() => location.hash = "#/cards");
    await page.locator("h1", { hasText: "Cards" }).waitFor();
    await page.evaluate(() => location.hash = "#/events");
    await rows.nth(49).waitFor();
    await close();
  },
);

test(
  "odd and long texts are shown as they are, and no screen is wider for them",
  { skip: skip || longOnly },
  async () => {
    const url = `https://shop.example.com/<b>${"long".repeat(300)}`;
    const asset = "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC";
    const symbol = `<i>🦊\u202eريال${"W".repeat(60)}`;
    const webhook = {
      ...{ id: "wh_1", url, types: null, deviceHash: null, merchant: null, ordered: false },
      ...{ createdAt: "2026-01-01T00:00:00Z", failingSince: "2026-01-01T00:00:00Z", previousSecretUntil: null },
      ...{ retrying: 1, rejected: 1, dead: 1 },
    };
    const { page, close } = await stage.open("webhooks", {
      "/v1/webhooks": () => ({ webhooks: [webhook] }),
      "/v1/webhooks/wh_1": () => webhook,
      "/v1/webhooks/wh_1/deliveries": () => ({ deliveries: [], cursor: null }),
      "/v1/events": () => ({ ...pageOf(1, 1), events: [{ ...eventOf(1), amount: "9".repeat(39), asset }] }),
      [`/v1/assets/${asset}`]: () => ({ asset, symbol, name: symbol, decimals: 7 }),
    });
    const screens = [["webhooks", "td a"], ["webhooks/wh_1", ".facts code"], ["", ".rows a"], ["events", ".amount b"]];
    for (const width of [360, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      for (const [path, there] of screens) {
        await page.evaluate((hash) => location.hash = `#/${hash}`, path);
        await page.locator(there!).first().waitFor();
        if (path === "events") await page.locator(there!, { hasText: "<i>" }).waitFor();
        const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(beyond <= 0, `${path} is ${beyond} px wider than ${width} px`);
      }
    }
    await close();
  },
);
