// needs: once
/// <reference lib="dom" />
import assert from "node:assert/strict";
import { test } from "node:test";
import { longOnly } from "../tier.ts";
import { skip } from "./browser.ts";
import { madeUpConsoleOfFile } from "./made_up_console.ts";

const stage = madeUpConsoleOfFile();

const webhookOf = (id: string) => ({
  id,
  url: `https://shop.example.com/${id}`,
  types: null,
  deviceHash: null,
  merchant: null,
  ordered: false,
  createdAt: "2026-01-01T00:00:00Z",
  failingSince: null,
  retrying: 0,
  rejected: 1,
  dead: 0,
  previousSecretUntil: null,
});
const attemptOf = (id: number, outcome: string, eventId = `event${id}`) => ({
  id: String(id),
  eventId,
  eventType: "device.revoked",
  deliveryId: `d${id}`,
  attempt: 1,
  at: "2026-01-01T00:00:00Z",
  durationMs: 5,
  outcome,
  statusCode: outcome === "delivered" ? 200 : 400,
  error: null,
  responseBody: null,
  nextAttemptAt: null,
});
/** After a while, in which somebody may press again. */
const later = <T>(value: T, ms = 500) => new Promise<T>((resolve) => setTimeout(resolve, ms, value));

test("the filter shows only failed attempts, also from older pages", { skip: skip || longOnly }, async () => {
  const { page, close } = await stage.open("webhooks/wh_1", {
    "/v1/webhooks/wh_1": () => webhookOf("wh_1"),
    "/v1/webhooks/wh_1/deliveries": ({ searchParams }) =>
      searchParams.has("cursor")
        ? { deliveries: [attemptOf(7, "rejected")], cursor: null }
        : { deliveries: Array.from({ length: 50 }, (_, at) => attemptOf(100 - at, "delivered")), cursor: "50" },
  });
  await page.locator("table.attempts").waitFor();
  await page.check("#only-failed");
  await page.getByText("None of the newest failed.").waitFor();
  await page.getByRole("button", { name: "Older attempts" }).click();
  await page.locator("td", { hasText: "rejected · 400" }).waitFor();
  assert.equal(await page.getByText("None of the newest failed.").isVisible(), false);
  await close();
});

test("a double click creates one webhook", { skip }, async () => {
  let made = 0;
  const { page, close } = await stage.open("webhooks", {
    "POST /v1/webhooks": () => later({ ...webhookOf(`wh_${++made}`), secret: `whsec_${made}` }),
  });
  await page.getByRole("button", { name: "New webhook" }).click();
  await page.fill("#new-url", "https://shop.example.com/hook");
  await page.getByRole("button", { name: "Create" }).dblclick();
  await page.getByText("whsec_").first().waitFor();
  await later(0);
  assert.equal(made, 1);
  await close();
});

test("the form works again after a refused webhook", { skip: skip || longOnly }, async () => {
  let tries = 0;
  const { page, close } = await stage.open("webhooks", {
    "POST /v1/webhooks": () =>
      ++tries === 1
        ? { error: { code: "unavailable", message: "not now" } }
        : { ...webhookOf("wh_1"), secret: "whsec_1" },
  });
  await page.getByRole("button", { name: "New webhook" }).click();
  await page.fill("#new-url", "https://shop.example.com/hook");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("not now").waitFor();
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("whsec_1").waitFor();
  await close();
});

test(
  "a double click loads older attempts once",
  { skip: skip || longOnly },
  async () => {
    const { page, close } = await stage.open("webhooks/wh_1", {
      "/v1/webhooks/wh_1": () => webhookOf("wh_1"),
      "/v1/webhooks/wh_1/deliveries": ({ searchParams }) =>
        searchParams.has("cursor")
          ? later({ deliveries: [attemptOf(7, "rejected")], cursor: null })
          : { deliveries: [attemptOf(8, "delivered")], cursor: "7" },
    });
    await page.getByRole("button", { name: "Older attempts" }).dblclick();
    await page.locator("td", { hasText: "rejected · 400" }).first().waitFor();
    await later(0);
    assert.equal(await page.locator("td", { hasText: "rejected · 400" }).count(), 1);
    await close();
  },
);

test("a double click starts one replay", { skip }, async () => {
  let begun = 0;
  const { page, close } = await stage.open("webhooks/wh_1", {
    "/v1/webhooks/wh_1": () => webhookOf("wh_1"),
    "/v1/webhooks/wh_1/deliveries": () => ({ deliveries: [], cursor: null }),
    // The first asks how many there are.
    "POST /v1/webhooks/wh_1/replay": () => later({ id: `rp_${begun++}`, deliveries: 3, atLeast: false }),
  });
  await page.getByRole("button", { name: "Replay …" }).click();
  await page.getByRole("button", { name: "Count first" }).click();
  await page.getByRole("button", { name: "Send 3 deliveries" }).dblclick();
  await page.getByText("Replay rp_1 is running").waitFor();
  await later(0);
  assert.equal(begun, 2);
  await close();
});

test("an event names the webhooks whose deliveries it shows", { skip: skip || longOnly }, async () => {
  const eventId = "0005302424889724928-0000000001";
  const ids = Array.from({ length: 12 }, (_, at) => `wh_${at}`);
  const told = (id: string) => ({ deliveries: id === "wh_3" ? [attemptOf(3, "rejected", eventId)] : [], cursor: null });
  const event = {
    id: eventId,
    type: "device.revoked",
    contractId: "C",
    ledger: 5,
    ledgerClosedAt: "2026-01-01T00:00:00Z",
    txHash: "ab".repeat(32),
    deviceHash: "cd".repeat(32),
  };
  const other = eventId.replace(/1$/, "2");
  const { page, close } = await stage.open(`events/${eventId}`, {
    [`/v1/events/${eventId}`]: () => event,
    [`/v1/events/${other}`]: () => ({ ...event, id: other }),
    "/v1/webhooks": () => ({ webhooks: ids.map(webhookOf) }),
    ...Object.fromEntries(ids.map((id) => [`/v1/webhooks/${id}/deliveries`, () => told(id)])),
  });
  await page.getByText("shop.example.com/wh_3").waitFor();
  await page.getByText("These are the first 10 of this key's 12 webhooks.").waitFor();
  await page.evaluate((id) => location.hash = `#/events/${id}`, other);
  await page.getByText("None of the first 10 of this key's 12 webhooks has an attempt for it among its newest 200.")
    .waitFor();
  await close();
});

test("a session shows no delivery of the earlier key", { skip }, async () => {
  const eventId = "0005302424889724928-0000000001";
  const event = {
    ...{ id: eventId, type: "device.revoked", contractId: "C", ledger: 5, ledgerClosedAt: "2026-01-01T00:00:00Z" },
    ...{ txHash: "ab".repeat(32), deviceHash: "cd".repeat(32) },
  };
  let ids = ["wh_former"];
  const { page, close } = await stage.open(`events/${eventId}`, {
    [`/v1/events/${eventId}`]: () => event,
    "/v1/webhooks": () => ({ webhooks: ids.map(webhookOf) }),
    "/v1/webhooks/wh_former/deliveries": () => ({ deliveries: [attemptOf(3, "rejected", eventId)], cursor: null }),
  });
  await page.getByText("shop.example.com/wh_former").waitFor();
  // However slow this machine is, no time goes by.
  await page.clock.setFixedTime(await page.evaluate(() => Date.now()));
  await page.evaluate((hash) => location.hash = hash, "#/cards");
  await page.evaluate((hash) => location.hash = hash, `#/events/${eventId}`);
  await page.getByText("shop.example.com/wh_former").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  ids = [];
  await page.fill("#key", "service_sk_other_y");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("None of this key's webhooks").or(page.getByText("shop.example.com/wh_former")).waitFor();
  assert.equal(await page.getByText("shop.example.com/wh_former").count(), 0);
  await close();
});

test("a retry after a lost answer creates no second webhook", { skip }, async () => {
  const { page, close } = await stage.open("webhooks", {
    "POST /v1/webhooks": () => ({ ...webhookOf("wh_1"), secret: "whsec_1" }),
  });
  const keys: (string | undefined)[] = [];
  await page.route("**/v1/webhooks", (route) => {
    if (route.request().method() !== "POST") return route.continue();
    keys.push(route.request().headers()["idempotency-key"]);
    return keys.length === 1 ? route.abort() : route.continue();
  });
  await page.getByRole("button", { name: "New webhook" }).click();
  await page.fill("#new-url", "https://shop.example.com/hook");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("the gateway does not answer").waitFor();
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("whsec_1").waitFor();
  assert.match(keys[0] ?? "", /^\d+-\d+$/);
  assert.equal(keys[1], keys[0]);
  await close();
});

test("a secret stays while the reader starts another webhook", { skip: skip || longOnly }, async () => {
  let made = 0;
  const { page, close } = await stage.open("webhooks", {
    "POST /v1/webhooks": () => later({ ...webhookOf(`wh_${++made}`), secret: `whsec_${made}` }),
  });
  const add = page.getByRole("button", { name: "New webhook" });
  await add.click();
  assert.equal(await page.evaluate(() => document.activeElement?.id), "new-url");
  await page.fill("#new-url", "https://shop.example.com/hook");
  // A second click keeps the input.
  await add.click();
  await page.getByRole("button", { name: "Create" }).click();
  await add.click();
  await page.getByText("whsec_1").waitFor();
  await add.click();
  await page.fill("#new-url", "https://shop.example.com/another");
  assert.equal(await page.getByText("whsec_1").isVisible(), true);
  await close();
});

test(
  "a change of the ledgers discards the count of a replay",
  { skip },
  async () => {
    const { page, close } = await stage.open("webhooks/wh_1", {
      "/v1/webhooks/wh_1": () => webhookOf("wh_1"),
      "/v1/webhooks/wh_1/deliveries": () => ({ deliveries: [], cursor: null }),
      "POST /v1/webhooks/wh_1/replay": () => later({ deliveries: 3, atLeast: false }),
    });
    await page.getByRole("button", { name: "Replay …" }).click();
    await page.getByLabel("From ledger").fill("8");
    await page.getByRole("button", { name: "Count first" }).click();
    await page.getByLabel("From ledger").fill("1");
    await later(0);
    await later(0);
    assert.equal(await page.getByRole("button", { name: "Send 3 deliveries" }).count(), 0);
    await close();
  },
);

test("a failed request for older attempts can be repeated", { skip: skip || longOnly }, async () => {
  let asked = 0;
  const { page, close } = await stage.open("webhooks/wh_1", {
    "/v1/webhooks/wh_1": () => webhookOf("wh_1"),
    "/v1/webhooks/wh_1/deliveries": ({ searchParams }) =>
      !searchParams.has("cursor")
        ? { deliveries: [attemptOf(8, "delivered")], cursor: "7" }
        : ++asked === 1
        ? { error: { code: "rate_limited", message: "the rate is used up" } }
        : { deliveries: [attemptOf(7, "rejected")], cursor: null },
  });
  const older = page.getByRole("button", { name: "Older attempts" });
  await older.click();
  await page.getByText("the rate is used up").waitFor();
  await older.click();
  await page.locator("td", { hasText: "rejected · 400" }).waitFor();
  assert.equal(await page.getByText("the rate is used up").count(), 0);
  await close();
});

test("over plain HTTP, where a browser cannot compute signatures, the check of a secret names HTTPS as the reason", {
  skip: skip || longOnly,
}, async () => {
  const { page, close } = await stage.open("webhooks/wh_1", {
    "/v1/webhooks/wh_1": () => webhookOf("wh_1"),
    "/v1/webhooks/wh_1/deliveries": () => ({ deliveries: [attemptOf(8, "rejected")], cursor: null }),
    "/v1/webhooks/wh_1/deliveries/8": () => ({
      delivery: attemptOf(8, "rejected"),
      request: { url: "https://shop.example.com", headers: { "X-Service-Signature": "t=1,v1=00" }, body: "{}" },
      secretRotatedSince: false,
    }),
  });
  await page.evaluate(() => Object.defineProperty(crypto, "subtle", { value: undefined }));
  await page.getByRole("button", { name: "Details" }).click();
  await page.getByLabel("Secret of your receiver").fill("whsec_1");
  await page.getByRole("button", { name: "Check my secret" }).click();
  await page.getByText("a browser computes signatures over HTTPS only").waitFor();
  await close();
});

test(
  "new events update the list of attempts, but not while the reader has older ones open",
  { skip: skip || longOnly },
  async () => {
    let sent = 8;
    let looked = 0;
    const { page, close } = await stage.open("webhooks/wh_1", {
      "/v1/webhooks/wh_1": () => ({ ...webhookOf("wh_1"), rejected: ++looked }),
      "/v1/webhooks/wh_1/deliveries": ({ searchParams }) =>
        searchParams.has("cursor")
          ? { deliveries: [attemptOf(7, "rejected")], cursor: null }
          : { deliveries: [attemptOf(sent++, "delivered")], cursor: "7" },
      // More often than the screen would wait for silence.
      "/v1/events/stream": async function* () {
        for (let n = 0; n < 60; n++) yield await later(`id: c${n}\ndata: ${JSON.stringify({ id: `e${n}` })}\n\n`);
      },
    });
    await page.getByRole("button", { name: "Details of attempt 9" }).waitFor();
    await page.getByRole("button", { name: "Older attempts" }).click();
    await page.locator("td", { hasText: "rejected · 400" }).waitFor();
    const before = looked;
    await page.getByText(`${before + 2} rejected`).waitFor();
    assert.equal(await page.locator("td", { hasText: "rejected · 400" }).count(), 1);
    await close();
  },
);

test("a webhook created during a reload appears at once", { skip: skip || longOnly }, async () => {
  let isMade = false;
  const listed = () => ({ webhooks: isMade ? [webhookOf("wh_1")] : [] });
  let asked = 0;
  const { page, close } = await stage.open("webhooks", {
    "/v1/webhooks": () => later(listed(), asked++ === 0 ? 3_000 : 0),
    "POST /v1/webhooks": () => {
      isMade = true;
      return { ...webhookOf("wh_1"), secret: "whsec_1" };
    },
  });
  await page.getByRole("button", { name: "New webhook" }).click();
  await page.fill("#new-url", "https://shop.example.com/hook");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("whsec_1").waitFor();
  // Long before the list is asked for again by itself.
  await page.locator("td", { hasText: "shop.example.com/wh_1" }).waitFor({ timeout: 10_000 });
  await close();
});
