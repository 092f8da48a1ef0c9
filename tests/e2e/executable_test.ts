// needs: once
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import manifest from "../../lib/http/pages/reference/manifest.json" with { type: "json" };
import packageJson from "../../package.json" with { type: "json" };
import { openPage, skip, startBrowser } from "../browser/browser.ts";
import { tellLife } from "../browser/life_story.ts";
import { assertPinned, ownNetwork } from "../faults/pinning.ts";
import { longOnly } from "../tier.ts";
import { tellBackup } from "./backup_story.ts";
import { compileExecutable } from "./compiled.ts";
import { tellListen } from "./listen_story.ts";
import { environment, startSandbox } from "./sandbox_process.ts";
import { tellStory } from "./story.ts";

const run = (...args: string[]) => promisify(execFile)(gateway, args, { cwd: folder, env: environment() });

// Outside a hook, because Bun ends a hook after five seconds.
const { folder, gateway } = await compileExecutable();
const sandbox = await startSandbox([gateway]);
after(() => rm(folder, { recursive: true, force: true }));

// This story counts all events, so it runs first.
test("the executable alone serves the whole life of a card", async () => {
  await tellStory(sandbox.info);
});

test("the executable contains its pages and serves them", async () => {
  const { gateway: url } = sandbox.info;
  const index = await (await fetch(`${url}/llms.txt`)).text();
  const paths = [...index.matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => `/${link}`);
  assert.ok(paths.length > 15);
  for (const path of [...paths, "/docs", "/docs/reference", "/console", "/assets/base.css"]) {
    assert.equal((await fetch(url + path)).status, 200, path);
  }
  const script = new Uint8Array(await (await fetch(`${url}/docs/reference/scalar.js`)).arrayBuffer());
  assert.equal(createHash("sha256").update(script).digest("hex"), manifest.sha256);
});

test("the executable creates and lists keys, and prints its help, version and OpenAPI document", async () => {
  const made = await run("keygen", "--name", "shop", "--scopes", "read,write", "--rate", "300", "--json");
  const { key, id, store } = JSON.parse(made.stdout);
  assert.match(key, new RegExp(`^service_sk_${id}_[0-9A-Za-z]+$`));
  assert.equal(store, `sqlite:${join(folder, "gateway.db")}`);
  const listed = await run("keys", "list", "--json");
  assert.ok(listed.stdout.includes(id) && !listed.stdout.includes(key));
  assert.match((await run("help")).stdout, /gateway sandbox/);
  const version = JSON.parse((await run("version", "--json")).stdout);
  assert.equal(version.version, packageJson.version);
  assert.match(version.commit, /^[0-9a-f]{12}(-changed)?$/);
  assert.equal(`${version.runtime}@${version.runtimeVersion}`, `bun@${packageJson.config.bun}`);
  assert.equal(JSON.parse((await run("openapi")).stdout).openapi.slice(0, 3), "3.1");
  assert.ok((await readdir(folder)).every((name) => name.startsWith("gateway")), "nothing else was left in the folder");
});

test("the executable reports a wrong flag on standard error with a hint, and exits with code 2", async () => {
  const failed = await run("serve", "--prot", "1").catch((error) => error);
  assert.equal(failed.code, 2);
  assert.match(failed.stderr, /^gateway serve: unknown flag --prot; did you mean --port\?\nSee: gateway help serve\n$/);
});

test("the executable serves the console, and a new user goes through the life of a card there", {
  skip: longOnly || skip,
}, async () => {
  // This story also counts all events.
  const [own, browser] = await Promise.all([startSandbox([gateway]), startBrowser()]);
  await tellLife(browser, own.info);
  await browser.close();
  await own.stop();
});

test(
  "a browser shows the executable's reference, and examples with the sandbox's key",
  { skip: longOnly || skip },
  async () => {
    const browser = await startBrowser();
    const { page, complaints } = await openPage(browser);
    await page.goto(`${sandbox.info.gateway}/docs/take-a-payment`);
    await page.getByText("The examples have this sandbox's key").waitFor();
    assert.deepEqual(complaints, []);
    await page.goto(`${sandbox.info.gateway}/docs/reference`);
    await page.getByRole("button", { name: /Test Request/i }).first().waitFor();
    await browser.close();
  },
);

test("the executable backs up a store under load, and starts on the copy", { skip: longOnly }, async () => {
  const elsewhere = await mkdtemp(join(tmpdir(), "gateway-restored-"));
  await tellBackup(sandbox.info, [gateway], elsewhere);
  await rm(elsewhere, { recursive: true });
});

test("the executable's listen command shows signed webhooks of triggered events", { skip: longOnly }, async () => {
  await tellListen([gateway], await startSandbox([gateway]));
});

test("the executable posts to no endpoint whose address or certificate differs from the checked one", {
  skip: longOnly || ownNetwork === undefined,
}, async () => {
  await assertPinned([gateway]);
});

test("the executable exits with code 0 on SIGTERM", async () => {
  assert.equal(await sandbox.stop("SIGTERM"), 0, sandbox.log());
});
