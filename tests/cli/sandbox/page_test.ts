// needs: once
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { welcomePage } from "../../../cli/sandbox/page.ts";
import type { SandboxInfo } from "../../../cli/sandbox/running_sandbox.ts";
import { getAs } from "../../e2e/raw_http.ts";
import type { SandboxProcess } from "../../e2e/sandbox_process.ts";
import { startReadySandboxHere } from "./sandbox_here.ts";

const HTML = "text/html,application/xhtml+xml,*/*;q=0.8";

let sandbox: SandboxProcess;
before(async () => {
  sandbox = await startReadySandboxHere([], {}, `<script>alert("&")</script>`);
});
after(() => sandbox.stop());

test("GET / of gateway and RPC is a page for browsers, and the line of --json for programs", async () => {
  const { gateway, rpc, contracts, apiKey } = sandbox.info;
  for (const url of [gateway, rpc]) {
    for (const accept of ["application/json", "*/*"]) {
      const told = await fetch(`${url}/`, { headers: { Accept: accept } });
      assert.deepEqual(await told.json(), sandbox.info);
    }
    const page = await fetch(`${url}/`, { headers: { Accept: HTML } });
    assert.equal(page.status, 200);
    assert.match(page.headers.get("Content-Type")!, /^text\/html/);
    const text = await page.text();
    for (const shown of [contracts.paymentEscrow, apiKey, `trigger --sandbox ${rpc}`]) {
      assert.ok(text.includes(shown), shown);
    }
  }
});

test("the page escapes its values, loads nothing and runs no script", async () => {
  const { gateway, rpc } = sandbox.info;
  const page = await fetch(`${rpc}/`, { headers: { Accept: HTML } });
  const text = await page.text();
  assert.ok(text.includes("&lt;script&gt;alert(&quot;&amp;&quot;)&lt;/script&gt;"));
  assert.ok(!text.includes("<script"));
  const urls = text.match(/https?:\/\/[^/"&\s<)]+/g)!;
  assert.deepEqual([...new Set(urls)].sort(), [gateway, rpc].sort());
  const style = /<style>([^]*)<\/style>/.exec(text)![1]!;
  const hash = createHash("sha256").update(style).digest("base64");
  const policy = page.headers.get("Content-Security-Policy")!;
  assert.match(policy, /^default-src 'none'; /);
  assert.ok(policy.includes(`style-src 'sha256-${hash}'`), "its own style is what the policy allows");
  assert.match(style, /prefers-color-scheme: dark/);
  assert.equal(page.headers.get("Cache-Control"), "no-store");
});

test("pages of other origins and foreign host names get no page", async () => {
  const { gateway, rpc, apiKey } = sandbox.info;
  for (const url of [gateway, rpc]) {
    const foreign = await fetch(`${url}/`, { headers: { Origin: "https://evil.example" } });
    assert.equal(foreign.status, 403);
    assert.ok(!(await foreign.text()).includes(apiKey));
    const rebound = await getAs("evil.example", `${url}/`);
    assert.match(rebound, /^HTTP\/1\.1 403 /);
    assert.ok(!rebound.includes(apiKey));
  }
});

test("the page names an issued asset", async () => {
  const info = { ...sandbox.info, assetCode: "USDC" } as SandboxInfo;
  const request = new Request("http://127.0.0.1/", { headers: { Accept: HTML } });
  const text = await welcomePage(request, info, { ledger: 7, closeTime: 1_790_000_000 }, "gateway").text();
  assert.match(text, /Asset \(USDC\)/);
  assert.match(text, /at ledger 7, 2026-09-21 14:13:20 UTC\./);
});

test("a malformed Host is a 400 at gateway and RPC for any path, and a missing Host is accepted", async () => {
  const { gateway, rpc } = sandbox.info;
  for (const host of ["a:99999999", "a/sandbox#", "127.0.0.1/sandbox?", "[::1", "a#", "a b"]) {
    for (const url of [`${gateway}/`, `${gateway}/v1/health`, `${rpc}/friendbot`, `${rpc}/sandbox`]) {
      const answer = await getAs(host, url);
      assert.doesNotMatch(answer, /^HTTP\/1.1 (2|5)|service_sk_/, `${host} ${url}`);
    }
  }
  assert.match(await getAs("a:99999999", `${gateway}/v1/health`), /^HTTP\/1.1 400 /);
  assert.match(await getAs("a:99999999", `${rpc}/friendbot`), /^HTTP\/1.1 400 /);
  assert.match(await getAs("", `${gateway}/v1/health`), /^HTTP\/1.1 200 /);
});
