// needs: once
import { writeFileSync } from "node:fs";
import { describe, test } from "node:test";
import type { ExaminationParts } from "../../../cli/doctor/checks.ts";
import { type HttpServer, serveHttp } from "../../../lib/runtime/serve.ts";
import { openStore } from "../../../lib/store/open.ts";
import { doctorOfFile, NODE, says } from "./stage.ts";

const doctor = doctorOfFile();

describe("doctor: port and target", () => {
  let server: HttpServer;
  const listen = async (answer: Response) => {
    server = await serveHttp({ hostname: "127.0.0.1", port: 0, idleTimeoutMs: 1_000, fetch: () => answer });
    return String(server.port);
  };
  /** Nodes are asked without a port, the port itself for real. */
  const fetch: ExaminationParts["fetch"] = (url, init) =>
    url.startsWith(NODE) ? doctor.sandbox.fetch(url, init) : globalThis.fetch(url, init);

  test("a port in use by another program, or by another gateway, is named", async () => {
    const port = await listen(new Response("hello"));
    says(
      await doctor.finding("port", { port }, { fetch }),
      "fail",
      new RegExp(`127\\.0\\.0\\.1:${port}: the port is in use$`),
    );
    await server.stop({ drainMs: 0 });
    const gatewayPort = await listen(Response.json({ ok: true }));
    says(
      await doctor.finding("port", { port: gatewayPort }, { fetch }),
      "fail",
      /in use, by another gateway/,
      /stop the program that listens there .*SERVICE_API_PORT \(--port\)$/,
    );
    await server.stop({ drainMs: 0 });
    says(await doctor.finding("port", { port: gatewayPort }, { fetch }), "ok", /is free/);
  });

  test("an address of another machine is not reported as a port in use", async () => {
    // No machine has an address in 192.0.2.0/24 (RFC 5737). A name could resolve differently between machines.
    const hosts = [["192.0.2.1", /not one of this machine's/], [
      "256.1.1.1",
      /neither an IP address nor a name/,
    ]] as const;
    for (const [host, why] of hosts) {
      const finding = await doctor.finding("port", { host, port: "0" }, { fetch });
      says(finding, "fail", why, /^set SERVICE_API_HOST \(--host\) to an address of this machine/);
    }
  });

  test("a port where the gateway of this store answers is ok", async () => {
    const setting = `sqlite:${doctor.newPath()}`;
    const store = await openStore(setting);
    await store.holdForServing();
    const port = await listen(Response.json({ ok: true }));
    says(await doctor.finding("port", { port, store: setting }, { fetch }), "ok", /a gateway answers there/);
    await server.stop({ drainMs: 0 });
    await store.close();
  });

  test("an unreadable store, as on a full disk, is not reported as a foreign program on the port", async () => {
    const damaged = doctor.newPath();
    writeFileSync(damaged, "no database ".repeat(1_000));
    const port = await listen(Response.json({ ok: true }));
    says(
      await doctor.finding("port", { port, store: `sqlite:${damaged}` }, { fetch }),
      "ok",
      /a gateway answers there; whether it serves this store is not known/,
    );
    await server.stop({ drainMs: 0 });
  });

  test("a webhook's target is checked with the current addresses of its host", async () => {
    const target = (target: string, address: string) =>
      doctor.finding("webhook target", {}, { target, resolve: () => Promise.resolve([address]) });
    says(
      await target("https://shop.example.com/hook", "93.184.216.34"),
      "ok",
      /shop\.example\.com .* 93\.184\.216\.34/,
    );
    says(await target("https://shop.example.com/hook", "10.0.0.1"), "fail", /must be public/, /public addresses/);
    says(await target("http://shop.example.com/hook", "93.184.216.34"), "fail", /https/);
  });
});
