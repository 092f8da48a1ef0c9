// needs: runtime
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { createPageAnswer } from "../../lib/http/pages/page_file.ts";
import packageJson from "../../package.json" with { type: "json" };
import { readReferenceScript } from "../../lib/runtime/reference_script.ts";
import { gatewayOfFile, startGateway } from "./test_gateway.ts";

const { on, api } = gatewayOfFile({ started: false });

function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return Promise.resolve(api.gateway.fetch(new Request(`http://gateway.test${path}`, { headers }), {
    remoteAddress: "198.51.100.7",
  }));
}

test("a page has its content type, forbids frames, and sends no referrer", async () => {
  const pages = [["/assets/base.css", "text/css; charset=utf-8", /:root/], [
    "/openapi.json",
    "application/json",
    /"openapi"/,
  ]] as const;
  for (const [path, type, text] of pages) {
    const answer = await get(path);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("content-type"), type);
    assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
    assert.match(answer.headers.get("content-security-policy")!, /default-src 'none'.*frame-ancestors 'none'/);
    assert.equal(answer.headers.get("referrer-policy"), "no-referrer");
    assert.ok(answer.headers.get("x-ratelimit-limit"), "a page has the headers of every answer");
    assert.match(await answer.text(), text);
  }
});

test("a page has the same content with and without compression", async () => {
  const plain = await get("/openapi.json", { "accept-encoding": "gzip;q=0, br" });
  assert.equal(plain.headers.get("content-encoding"), null);
  const compressed = await get("/openapi.json", { "accept-encoding": "br, gzip" });
  assert.equal(compressed.headers.get("content-encoding"), "gzip");
  assert.equal(compressed.headers.get("vary"), "Accept-Encoding");
  assert.notEqual(compressed.headers.get("etag"), plain.headers.get("etag"));
  assert.equal(new TextDecoder().decode(gunzipSync(await compressed.bytes())), await plain.text());
});

test("a page's address with a trailing slash redirects to the page, also behind a prefix", async () => {
  for (const path of ["/console", "/docs", "/docs/settings", "/docs/reference"]) {
    const answer = await get(`${path}/`);
    assert.equal(answer.status, 308, path);
    const behindPrefix = new URL(answer.headers.get("location")!, `http://gateway.test/pay${path}/`);
    assert.equal(behindPrefix.href, `http://gateway.test/pay${path}`);
    assert.equal(answer.headers.get("cache-control"), "no-cache");
    assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
  }
  assert.equal((await get("/docs/docs.css/")).status, 404, "no page");
});

test("each link of /llms.txt leads to a file, also behind a prefix", async () => {
  const links = [...(await (await get("/llms.txt")).text()).matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link!);
  assert.ok(links.length > 15);
  for (const link of links) {
    const { origin, pathname } = new URL(link, "http://gateway.test/pay/llms.txt");
    assert.equal(origin, "http://gateway.test", link);
    assert.ok(pathname.startsWith("/pay/"), link);
    assert.equal((await get(pathname.slice("/pay".length))).status, 200, link);
  }
});

test("a browser with a cached page gets 304 while the page is unchanged", async () => {
  for (const encoding of ["gzip", "identity"]) {
    const first = await get("/assets/base.css", { "accept-encoding": encoding });
    const etag = first.headers.get("etag")!;
    assert.equal(first.headers.get("cache-control"), "no-cache");
    for (const held of [etag, `"other", W/${etag}`]) {
      const again = await get("/assets/base.css", { "accept-encoding": encoding, "if-none-match": held });
      assert.deepEqual([again.status, await again.text(), again.headers.get("etag")], [304, "", etag]);
    }
    assert.equal((await get("/assets/base.css", { "if-none-match": '"other"' })).status, 200);
  }
});

test("a page varies by origin and encoding", async () => {
  const open = await startGateway(on, { started: false, settings: { corsOrigins: "https://app.example" } });
  try {
    const { headers } = await open.request("GET", "/openapi.json", { headers: { "accept-encoding": "identity" } });
    assert.equal(headers.get("vary"), "Accept-Encoding, Origin");
  } finally {
    await open.stop();
  }
});

test("SERVICE_API_PAGES=off removes all pages", async () => {
  const closed = await startGateway(on, { started: false, settings: { pages: "off" } });
  try {
    for (const path of ["/openapi.json", "/assets/base.css"]) {
      assert.equal((await closed.request("GET", path)).status, 404, path);
    }
  } finally {
    await closed.stop();
  }
});

test("the gateway sends compressed files unchanged, and decompresses them for a client without gzip", async () => {
  const packed = gzipSync("export {};");
  const answer = createPageAnswer({ path: "/x.js", read: () => Promise.resolve(packed) });
  const ask = (encoding: string) =>
    answer(new Request("http://gateway.test/x.js", { headers: { "accept-encoding": encoding } }));
  assert.deepEqual(Buffer.from(await (await ask("gzip")).bytes()), packed);
  assert.equal(await (await ask("identity")).text(), "export {};");
});

test("the API reference's script matches the hash of its manifest and the version of package.json", async () => {
  const { default: manifest } = await import("../../lib/http/pages/reference/manifest.json", {
    with: { type: "json" },
  });
  const script = gunzipSync(await readReferenceScript());
  assert.equal(createHash("sha256").update(script).digest("hex"), manifest.sha256, "run ./compile.sh reference");
  assert.equal(manifest.version, packageJson.config.scalar, "run ./compile.sh reference");
  assert.equal((await (await get("/docs/reference/scalar.js")).bytes()).length, script.length);
});

test("an HTML page runs only the gateway's own scripts, unless it has its own policy", async () => {
  const read = () => Promise.resolve("<!doctype html><title>x</title>");
  const policyOf = async (policy?: string) =>
    (await createPageAnswer({ path: "/x", read, policy })(new Request("http://gateway.test/x"))).headers
      .get("content-security-policy")!;
  const strict = await policyOf();
  assert.match(strict, /script-src 'self';/);
  assert.doesNotMatch(strict, /unsafe|\*|https?:/);
  assert.equal(await policyOf("default-src 'self'"), "default-src 'self'");
});

test("the next request reads a page again after a failed read", async () => {
  let reads = 0;
  const answer = createPageAnswer({
    path: "/docs",
    read: () => ++reads === 1 ? Promise.reject(new Error("Too many open files")) : Promise.resolve("<!doctype html>"),
  });
  const request = new Request("http://gateway.test/docs");
  await assert.rejects(answer(request), /Too many open files/);
  assert.equal(await (await answer(request)).text(), "<!doctype html>");
  assert.equal((await answer(request)).status, 200);
  assert.equal(reads, 2);
});
