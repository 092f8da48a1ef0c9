// needs: once
/// <reference lib="dom" />
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { startReadySandboxHere } from "../cli/sandbox/sandbox_here.ts";
import { createClient } from "../e2e/client.ts";
import type { SandboxProcess } from "../e2e/sandbox_process.ts";
import { isLong, longOnly } from "../tier.ts";
import { assertAccessible, type Looks, type Opening, openPage, skip, startBrowser, type Watched } from "./browser.ts";

let browser: Browser;
let sandbox: SandboxProcess;
before(async () => {
  if (skip) return;
  [browser, sandbox] = await Promise.all([startBrowser(), startReadySandboxHere()]);
});
after(async () => {
  await browser?.close();
  await sandbox?.stop();
});

/** Opens a page of the documentation, and waits until its examples are filled where it has any. */
async function open(path: string, opening?: Opening): Promise<Watched> {
  const watched = await openPage(browser, opening);
  await watched.page.goto(sandbox.info.gateway + path);
  await watched.page.waitForFunction(() => !document.querySelector("#fill-state")?.textContent?.endsWith("…"));
  return watched;
}

/** The page called this gateway only, and reported no error. */
function assertAtHome({ asked, complaints }: Watched): void {
  const { origin } = new URL(sandbox.info.gateway);
  assert.deepEqual(asked.filter((url) => new URL(url).origin !== origin && !url.startsWith("data:")), []);
  assert.deepEqual(complaints, []);
}

test("the examples are filled with the sandbox's address, key and accounts", { skip }, async () => {
  const watched = await open("/docs/take-a-payment");
  const { asset, accounts } = sandbox.info;
  const code = await watched.page.locator("article").innerText();
  assert.ok(code.includes(accounts.owner.secret) && code.includes(asset));
  assert.doesNotMatch(code, /\$(OWNER|AGENT|MERCHANT|ASSET|KEY|GATEWAY)/);
  assertAtHome(watched);
  await watched.close();
});

test(
  "a click or an arrow key chooses a tab for all examples, and the next page keeps the choice",
  { skip },
  async () => {
    // The choice outlives the page.
    const { page, close } = await open("/docs/take-a-payment", { alone: true });
    const shown = () =>
      page.locator("[role=tabpanel]:visible").evaluateAll((all) => all.map(({ dataset }) => dataset.tab));
    assert.deepEqual(await shown(), ["TypeScript", "TypeScript", "TypeScript"]);
    await page.getByRole("tab", { name: "TypeScript" }).first().press("ArrowRight");
    assert.deepEqual(await shown(), ["Python", "Python", "Python"]);
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Python");
    await page.goto(`${sandbox.info.gateway}/docs/signing`);
    assert.deepEqual(await shown(), ["Python", "Python"]);
    await page.getByRole("tab", { name: "Go" }).click();
    assert.deepEqual(await shown(), ["Python", "Go"]);
    await close();
  },
);

test("an example is copied as it is shown", { skip }, async () => {
  const { page, close } = await open("/docs");
  await page.getByRole("button", { name: "Copy" }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  const { gateway, apiKey } = sandbox.info;
  assert.equal(copied.trim(), `curl -sS "${gateway}/v1/network" -H "Authorization: Bearer ${apiKey}"`);
  await close();
});

test("a search by keyboard finds a section of another page, and Enter opens it", { skip }, async () => {
  const watched = await open("/docs");
  const { page, close } = watched;
  await page.keyboard.press("/");
  const box = page.getByRole("combobox", { name: "Search the documentation" });
  assert.equal(await box.evaluate((element) => element === document.activeElement), true);
  const first = page.getByRole("option", { selected: true });
  await page.keyboard.type("webhook");
  await first.waitFor();
  await assertAccessible(page, "the results of a search");
  const second = page.getByRole("option").nth(1);
  await page.keyboard.press("ArrowDown");
  assert.equal(await second.getAttribute("aria-selected"), "true");
  assert.equal(await box.getAttribute("aria-activedescendant"), await second.getAttribute("id"));
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type("rate_limited");
  await first.filter({ hasText: "rate_limited Errors" }).waitFor();
  assert.match(await first.locator(".excerpt").innerText(), /\w{3}/);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/docs\/errors#rate_limited$/);
  assertAtHome(watched);
  await close();
});

test("Escape ends a search, and the box reports a search without results", { skip }, async () => {
  const { page, close } = await open("/docs");
  const box = page.getByRole("combobox");
  await box.fill("zebra crossing");
  await page.getByRole("status").getByText("No section has all these words.").waitFor();
  await box.fill("<img src=x>");
  await page.getByRole("status").getByText("No section has all these words.").waitFor();
  await box.fill("webhook");
  await page.getByRole("option").first().waitFor();
  await box.press("Escape");
  assert.equal(await page.getByRole("option").count(), 0);
  assert.equal(await box.inputValue(), "");
  await box.pressSequentially("a/b");
  assert.equal(await box.inputValue(), "a/b", "a slash in the box is text");
  await box.fill("");
  await close();
});

test("without a script there is no search box, and the pages can be read", { skip }, async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${sandbox.info.gateway}/docs/take-a-payment`);
  assert.equal(await page.locator("#search").isVisible(), false);
  for (const part of [".menu nav", ".contents nav", ".neighbours", "article pre"]) {
    assert.equal(await page.locator(part).first().isVisible(), true, part);
  }
  await context.close();
});

test("the button and a selection copy the whole of an address that shows its two ends", { skip }, async () => {
  const { page, close } = await open("/docs/settings");
  const id = page.locator("td .id").first();
  const address = (await id.getAttribute("title"))!;
  assert.match(address, /^C[A-Z2-7]{55}$/);
  assert.ok((await id.boundingBox())!.width < 110, "shown shortened");
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await page.getByRole("button", { name: `Copy ${address.slice(0, 4)}…` }).click();
  assert.equal(await copied(), address);
  await page.evaluate(() => navigator.clipboard.writeText(""));
  await id.evaluate((element) => getSelection()!.selectAllChildren(element));
  await page.keyboard.press("Control+c");
  assert.equal(await copied(), address);
  await close();
});

test("a filled example keeps its colours, and its button copies whole addresses", { skip }, async () => {
  const { page, close } = await open("/docs/lost-card");
  const { gateway, apiKey, accounts: { owner } } = sandbox.info;
  const example = page.locator(".code", { hasText: "/v1/wallets/" });
  assert.ok(await example.locator(".hljs-string .id").count() > 0);
  await example.getByRole("button", { name: "Copy" }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(copied.includes(`${gateway}/v1/wallets/${owner.address}/devices`), copied);
  assert.ok(copied.includes(apiKey), copied);
  await close();
});

test("the contents mark the section on screen", { skip }, async () => {
  const { page, close } = await open("/docs/errors");
  const current = page.locator(".contents [aria-current]");
  assert.equal(await current.innerText(), "Codes");
  await page.locator("#rate_limited").evaluate((heading) => heading.scrollIntoView());
  await current.getByText("rate_limited").waitFor();
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  await page.waitForFunction(() => document.querySelector(".contents li:last-child [aria-current]") !== null);
  await close();
});

test("a phone shows the whole picture, in light and in dark", { skip }, async () => {
  for (const colorScheme of ["light", "dark"] as const) {
    const watched = await open("/docs", { colorScheme, width: 390 });
    const picture = watched.page.locator("article img").first();
    await picture.scrollIntoViewIfNeeded();
    await watched.page.waitForFunction(() => document.querySelector<HTMLImageElement>("article img")!.naturalWidth > 0);
    const { width } = (await picture.boundingBox())!;
    assert.ok(width > 300 && width <= 390, `${width} px wide`);
    assertAtHome(watched);
    await watched.close();
  }
});

test("the box describes a prepared envelope without a request", { skip }, async () => {
  const { gateway, apiKey, asset, accounts: { owner } } = sandbox.info;
  const operation = { kind: "registerDevice", deviceHash: "9a41".repeat(16), agent: owner.address };
  const { body } = await createClient(gateway, apiKey)
    .post("/v1/transactions/prepare", { source: owner.address, operation });
  assert.ok(asset);
  const watched = await open("/docs/signing");
  // The page's icon, too, may be asked for after it has loaded.
  await watched.page.waitForLoadState("networkidle");
  const before = watched.asked.length;
  await watched.page.getByLabel("An envelope").fill(JSON.stringify(body));
  const says = watched.page.locator("#envelope-says");
  await says.getByText(/You are about to sign: register card 9a41… as yours/).waitFor();
  assert.match(await says.innerText(), new RegExp(body.hash));
  assert.equal(await says.getAttribute("class"), "good");
  assert.deepEqual(watched.asked.slice(before), []);
  await watched.page.getByLabel("An envelope").fill("AAAA");
  await says.getByText("Cannot read this envelope").waitFor();
  assertAtHome(watched);
  await watched.close();
});

test("an error's link leads to its section", { skip }, async () => {
  const answer = await fetch(`${sandbox.info.gateway}/v1/network`);
  const [, to] = /^<(.+)>; rel="help"$/.exec(answer.headers.get("link")!)!;
  const { page, close } = await open(to!);
  assert.equal(await page.locator(":target").innerText().then((text) => text.replace("#", "").trim()), "unauthorized");
  await close();
});

const LOOKS: Looks[] = [{ colorScheme: "light" }, { colorScheme: "dark" }, { width: 390 }];
/** Between them they have everything that a page can be made of. */
const VARIED = ["/docs/signing", "/docs", "/docs/settings"];

test("the pages are accessible in light, in dark and on a phone, and report no error", { skip }, async () => {
  for (const looks of isLong ? LOOKS : LOOKS.slice(0, 1)) {
    for (const path of isLong ? VARIED : VARIED.slice(0, 1)) {
      const watched = await open(path, looks);
      await assertAccessible(watched.page, `${path} ${JSON.stringify(looks)}`);
      assertAtHome(watched);
      await watched.close();
    }
  }
});

test("every page loads without an error, fits a phone, and has no broken link", {
  skip,
}, async () => {
  const watched = await open("/docs", { width: 390 });
  const { page, close } = watched;
  const { gateway } = sandbox.info;
  const paths = await page.locator(".menu a").evaluateAll((all) => all.map((a) => (a as HTMLAnchorElement).pathname));
  assert.ok(paths.length >= 15);
  const texts = new Map<string, string>();
  for (const path of paths.filter((path) => path !== "/docs/reference")) {
    await page.goto(gateway + path);
    const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(beyond <= 0, `${path} is ${beyond} px too wide`);
    const links = await page.locator("article a").evaluateAll((all) => all.map((a) => (a as HTMLAnchorElement).href));
    for (const link of new Set(links.filter((link) => link.startsWith(gateway)))) {
      const { pathname, hash } = new URL(link);
      if (!texts.has(pathname)) {
        const answer = await fetch(gateway + pathname);
        assert.equal(answer.status, 200, `${path} links to ${link}`);
        texts.set(pathname, await answer.text());
      }
      if (hash !== "") assert.ok(texts.get(pathname)!.includes(`id="${hash.slice(1)}"`), `${path} links to ${link}`);
    }
  }
  assertAtHome(watched);
  await close();
});

test("the reference is accessible in light, in dark and on a phone", { skip: skip || longOnly }, async () => {
  for (const looks of LOOKS) {
    const watched = await openPage(browser, looks);
    await watched.page.goto(`${sandbox.info.gateway}/docs/reference`);
    await watched.page.getByRole("button", { name: /Test Request/i }).first().waitFor();
    await assertAccessible(watched.page, `/docs/reference ${JSON.stringify(looks)}`);
    await watched.close();
  }
});

test("the reference calls only this gateway", { skip }, async () => {
  const watched = await openPage(browser);
  await watched.page.goto(`${sandbox.info.gateway}/docs/reference#tag/network/GET/v1/network`);
  await watched.page.getByRole("button", { name: /Test Request/i }).first().waitFor();
  assertAtHome({ ...watched, complaints: watched.complaints.filter((text) => !/inline style/.test(text)) });
  await watched.close();
});

test(
  "the reference keeps its policy, calls only this gateway, and tries an endpoint",
  { skip: skip || longOnly },
  async () => {
    // With an empty cache, and with a script that stays in its context.
    const watched = await openPage(browser, { alone: true });
    const { page } = watched;
    await page.addInitScript(() => {
      const stopped: string[] = (globalThis as unknown as { stopped: string[] }).stopped = [];
      document.addEventListener(
        "securitypolicyviolation",
        ({ violatedDirective, blockedURI }) => stopped.push(`${violatedDirective} ${blockedURI}`),
      );
    });
    let bytes = 0;
    page.on("response", async (response) => bytes += (await response.request().sizes()).responseBodySize);
    await page.goto(`${sandbox.info.gateway}/docs/reference#tag/network/GET/v1/network`);
    const button = page.getByRole("button", { name: /Test Request/i }).first();
    await button.waitFor();
    assert.ok(bytes < 1_500_000, `${bytes} bytes were transferred`);
    await button.click();
    await page.getByRole("button", { name: /^Send/ }).first().click();
    await page.getByText(/200 OK/).first().waitFor();
    // Zod, in there, looks whether it may make functions of text, and does without; the editor's style is adopted.
    const stopped = await page.evaluate(() => (globalThis as unknown as { stopped: string[] }).stopped);
    assert.deepEqual([...new Set(stopped)].sort(), ["script-src eval", "style-src-elem inline"]);
    const rules = await page.evaluate(() =>
      document.adoptedStyleSheets.flatMap(({ cssRules }) => [...cssRules].map(({ cssText }) => cssText))
    );
    assert.ok(rules.some((rule) => rule.includes("cm-focused")));
    assertAtHome({ ...watched, complaints: watched.complaints.filter((text) => !/inline style/.test(text)) });
    await watched.close();
  },
);

test(
  "the pages work behind a proxy that adds a prefix to the gateway's paths",
  { skip: skip || longOnly },
  async () => {
    const proxy = createServer(async ({ url, headers }, response) => {
      // Without the prefix it is another's: no part of the page may go there.
      if (!url!.startsWith("/pay/")) return void response.writeHead(404).end();
      const answer = await fetch(sandbox.info.gateway + url!.slice("/pay".length), {
        headers: { accept: headers.accept ?? "", "accept-encoding": "identity" },
      });
      const { "content-encoding": _, "content-length": __, ...kept } = Object.fromEntries(answer.headers);
      response.writeHead(answer.status, kept).end(await answer.bytes());
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const prefixed = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/pay`;
    const { page, asked, complaints, close } = await openPage(browser, { alone: true });
    const notThere = () => asked.filter((url) => !url.startsWith(`${prefixed}/`) && !url.startsWith("data:"));
    for (const path of ["/docs", "/docs/signing"]) {
      await page.goto(prefixed + path);
      await page.getByText("The examples have this sandbox's key").waitFor();
      assert.ok((await page.locator("article").innerText()).includes(prefixed), path);
      const links = await page.locator("a").evaluateAll((all) => all.map((a) => (a as HTMLAnchorElement).href));
      assert.deepEqual(links.filter((link) => link.startsWith("http://127.") && !link.startsWith(`${prefixed}/`)), []);
    }
    await page.goto(`${prefixed}/docs/reference`);
    await page.getByRole("button", { name: /Test Request/i }).first().waitFor();
    await page.getByText(prefixed).first().waitFor();
    assert.deepEqual(notThere(), []);
    assert.deepEqual(complaints.filter((text) => !/inline style|unsafe-eval/.test(text)), []);
    await close();
    proxy.closeAllConnections();
    proxy.close();
  },
);

test(
  "over plain HTTP, where a browser cannot hash, the box names HTTPS as the reason",
  { skip: skip || longOnly },
  async () => {
    const { page, close } = await open("/docs/signing");
    await page.evaluate(() => Object.defineProperty(crypto, "subtle", { value: undefined }));
    await page.getByLabel("An envelope").fill("AAAAAgAAAAA=");
    await page.locator("#envelope-says").getByText("the browser computes its hash over HTTPS only").waitFor();
    await page.getByLabel("An envelope").fill("no envelope!");
    await page.locator("#envelope-says").getByText("the browser computes its hash over HTTPS only").waitFor();
    await close();
  },
);

test(
  "the box names the reason for text that is no base64, and for incomplete JSON",
  { skip: skip || longOnly },
  async () => {
    const { page, close } = await open("/docs/signing");
    const says = page.locator("#envelope-says");
    await page.getByLabel("An envelope").fill("no envelope!");
    await says.getByText("Cannot read this envelope: it is not base64.").waitFor();
    await page.getByLabel("An envelope").fill('{ "xdr": "AAA');
    await says.getByText("Cannot read this envelope: its JSON is incomplete.").waitFor();
    await close();
  },
);

test("the form for examples rejects a key with a character that no key has", {
  skip: skip || longOnly,
}, async () => {
  const watched = await openPage(browser);
  const { page } = watched;
  // As of a gateway that is no sandbox.
  await page.route(`${sandbox.info.gateway}/`, (route) => route.fulfill({ status: 404, json: {} }));
  await page.goto(`${sandbox.info.gateway}/docs/signing`);
  await page.getByText("The key stays in this page.").waitFor({ timeout: 20_000 });
  await page.getByLabel("API key").fill("service_sk_x_y\u200b\u2026");
  await page.getByRole("button", { name: "Fill the examples" }).click();
  await page.getByText("The examples are not filled: the API key is malformed").waitFor();
  await watched.close();
});
