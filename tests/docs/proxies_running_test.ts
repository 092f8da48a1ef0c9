// needs: long, runtime
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { clientAddress } from "../../lib/limits/client_address.ts";
import { type HttpServer, serveHttp } from "../../lib/runtime/serve.ts";
import { freePort } from "../faults/serve_process.ts";
import { type GatewayUnderTest, startGateway, startTestNetwork, type TestNetwork } from "../http/test_gateway.ts";
import { createTestCertificates } from "../webhooks/post/test_certificates.ts";
import { SERVERS_PATH } from "./balancers.ts";
import { PROXIES } from "./proxies.ts";
import { isInstalled, readDoc, replaceEach } from "./tools.ts";

describe("two proxies in a row", () => {
  if (!isInstalled("nginx")) return void test("needs nginx, not on this machine", { skip: true });

  /** The address that the gateway assigns to a caller for which the first proxy wrote 203.0.113.7. */
  async function seenBehind(setting: string, trusted: number): Promise<string> {
    const folder = mkdtempSync(join(tmpdir(), "gateway-two-proxies-"));
    const upstream = createServer(({ headers }, response) => response.end(headers["x-forwarded-for"]));
    await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
    const port = await freePort();
    const { port: upstreamPort } = upstream.address() as AddressInfo;
    const [program, ...args] = PROXIES.nginx!({ folder, port, upstreamPorts: [upstreamPort], hasTls: false });
    const file = join(folder, "nginx.conf");
    writeFileSync(file, replaceEach(readFileSync(file, "utf8"), [["X-Forwarded-For $remote_addr;", setting]]));
    const nginx = spawn(program!, args, { stdio: "ignore", env: { PATH: SERVERS_PATH } });
    try {
      const ask = () => fetch(`http://127.0.0.1:${port}/`, { headers: { "x-forwarded-for": "203.0.113.7" } });
      let answer: Response | undefined;
      while (answer === undefined && nginx.exitCode === null) answer = await ask().catch(() => undefined);
      const forwarded = await answer!.text();
      return clientAddress(new Headers({ "x-forwarded-for": forwarded }), "of nginx itself", trusted);
    } finally {
      nginx.kill("SIGTERM");
      upstream.closeAllConnections();
      upstream.close();
      await new Promise((resolve) => nginx.once("close", resolve));
      rmSync(folder, { recursive: true, force: true });
    }
  }

  test("give the client's address to a gateway with SERVICE_API_TRUST_PROXY=2 and the header that the page names", async () => {
    assert.equal(await seenBehind("X-Forwarded-For $remote_addr;", 2), "of nginx itself");
    const [, said] = /`(X-Forwarded-For \$\w+;)`/.exec(readDoc("behind-tls.md")) ??
      assert.fail("the page says nothing");
    assert.equal(await seenBehind(said!, 2), "203.0.113.7");
  });
});

interface RunningProxy {
  /** Sends a request from this address; returns curl's output, headers first. */
  ask(path: string, options?: { from?: string; args?: string[] }): Promise<string>;
  /** Starts a request and calls `onText` with all text so far whenever more arrives. */
  listen(path: string, onText: (soFar: string) => void): ChildProcess;
  stop(): Promise<void>;
}

async function startProxy(name: string, upstreamPort: number): Promise<RunningProxy> {
  const certificates = createTestCertificates()!;
  const folder = mkdtempSync(join(tmpdir(), `gateway-${name}-`));
  const { cert, key } = certificates.issue("DNS:gateway.example.com");
  for (const [file, text] of [["cert.pem", cert], ["key.pem", key], ["ca.pem", certificates.ca]] as const) {
    writeFileSync(join(folder, file), text);
  }
  certificates.remove();
  const port = await freePort();
  const [program, ...args] = PROXIES[name]!({ folder, port, upstreamPorts: [upstreamPort], hasTls: true });
  const env = { PATH: SERVERS_PATH, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const child = spawn(program!, args, { stdio: ["ignore", "ignore", "pipe"], env });
  let problems = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => problems += text);
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));

  const host = `gateway.example.com:${port}`;
  const curl = (path: string, from: string, more: string[]) =>
    spawn("curl", [
      ...["--silent", "--show-error", "--noproxy", "*", "--cacert", join(folder, "ca.pem"), "--max-time", "20"],
      ...["--resolve", `${host}:127.0.0.1`, "--interface", from, ...more, `https://${host}${path}`],
    ], { stdio: ["ignore", "pipe", "pipe"] });
  const ask: RunningProxy["ask"] = (path, { from = "127.0.0.1", args = [] } = {}) =>
    new Promise((resolve) => {
      const asking = curl(path, from, ["--include", ...args]);
      let text = "";
      for (const stream of [asking.stdout, asking.stderr]) {
        stream.setEncoding("utf8").on("data", (more: string) => text += more);
      }
      asking.once("close", () => resolve(text));
    });
  for (const deadline = Date.now() + 15_000; !/^HTTP/.test(await ask("/v1/health"));) {
    if (Date.now() > deadline || child.exitCode !== null) throw new Error(`${name} did not come up:\n${problems}`);
  }
  return {
    ask,
    listen(path, onText) {
      const listening = curl(path, "127.0.0.1", ["--no-buffer"]);
      let text = "";
      listening.stdout.setEncoding("utf8").on("data", (more: string) => onText(text += more));
      return listening;
    },
    async stop() {
      child.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const statusOf = (answer: string) => Number(/^HTTP\/[\d.]+ (\d+)/.exec(answer)?.[1]);

for (const name of Object.keys(PROXIES)) {
  describe(`the gateway behind ${name}`, () => {
    const missing = [name, "curl", "openssl"].filter((program) => !isInstalled(program));
    if (missing.length > 0) return void test(`needs ${missing.join(", ")}, not on this machine`, { skip: true });

    let on: TestNetwork;
    let api: GatewayUnderTest;
    let server: HttpServer;
    let proxy: RunningProxy;
    before(async () => {
      on = await startTestNetwork();
      api = await startGateway(on, { settings: { trustProxy: "1", defaultRate: "4" }, checkAnswers: false });
      server = await serveHttp({ hostname: "127.0.0.1", port: 0, fetch: api.gateway.fetch, idleTimeoutMs: 65_000 });
      proxy = await startProxy(name, server.port);
    });
    after(async () => {
      await proxy?.stop();
      await server.stop({ drainMs: 1_000 });
      await api.stop();
      await on.network.stop();
    });

    test("answers a caller with a key over TLS", async () => {
      const answer = await proxy.ask("/v1/network", { args: ["--header", `Authorization: Bearer ${api.apiKey}`] });
      assert.equal(statusOf(answer), 200, answer);
      assert.match(answer, /"networkPassphrase"/);
    });

    test("limits the rate of callers without a key by their own address, not by a forged X-Forwarded-For", async () => {
      const strangers = (from: string, claim: string) =>
        proxy.ask("/v1/network", { from, args: ["--header", `X-Forwarded-For: ${claim}`] });
      for (let i = 0; i < 4; i++) assert.equal(statusOf(await strangers("127.0.0.1", `203.0.113.${i}`)), 401);
      assert.equal(statusOf(await strangers("127.0.0.1", "203.0.113.9")), 429);
      assert.equal(statusOf(await strangers("127.0.0.2", "127.0.0.1")), 401, "another caller is another address");
    });
  });

  describe(`a stream behind ${name}`, () => {
    if (!isInstalled(name) || !isInstalled("curl") || !isInstalled("openssl")) return;
    let upstream: Server;
    let proxy: RunningProxy;
    let streaming: ServerResponse | undefined;
    before(async () => {
      upstream = createServer((request, response) => {
        if (request.url !== "/stream") return void response.end("well");
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write("data: first\n\n");
        streaming = response;
      });
      await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
      proxy = await startProxy(name, (upstream.address() as { port: number }).port);
    });
    after(async () => {
      await proxy?.stop();
      upstream.closeAllConnections();
      await new Promise((resolve) => upstream.close(resolve));
    });

    test("reaches the client piece by piece, without buffering", async () => {
      await new Promise<void>((resolve) => {
        proxy.listen("/stream", (soFar) => {
          // The second event follows only after the client has the first: a proxy that buffers would never get it.
          if (soFar === "data: first\n\n") streaming!.write("data: second\n\n");
          if (soFar === "data: first\n\ndata: second\n\n") streaming!.end();
        }).once("close", resolve);
      });
      assert.equal(streaming!.writableFinished, true);
    });
  });
}
