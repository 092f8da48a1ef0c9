import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DnsAnswer, startDnsServer } from "../webhooks/targets/dns_server.ts";
import { OK_ANSWER, type Receiver, startReceiver } from "../webhooks/receiver.ts";
import { createTestCertificates } from "../webhooks/post/test_certificates.ts";

/** Public addresses of the stage; behind the second one somebody shows a certificate for another name. */
export const PUBLIC = "93.184.216.34";
export const PUBLIC_IMPOSTOR = "93.184.216.35";
export const PRIVATE = "10.0.0.1";
const DNS_ADDRESS = "127.0.0.53";
export interface PublicNetwork {
  /** At https on its address. */
  endpoint: Receiver;
  impostor: Receiver;
  /** What must not be reached: https on a private and on a loopback address, and a proxy. */
  forbidden: { private: Receiver; loopback: Receiver; proxy: Receiver };
  /** The environment of a program that is to trust the endpoints' certificates, and would use the proxy if it used any. */
  env: Record<string, string>;
  close(): Promise<void>;
}

/**
 * Builds, in the network and mount namespaces that this process has for itself, a network with public addresses, a DNS
 * server that the system's settings name, and endpoints with a certificate for all of these names.
 */
export async function buildPublicNetwork(names: string[], answer: (name: string) => DnsAnswer): Promise<PublicNetwork> {
  const ip = (...args: string[]) => execFileSync("ip", args, { stdio: "inherit" });
  // A namespace of one's own has no way out yet. Anywhere else what follows would cut the machine off its name server.
  const routes = execFileSync("ip", ["route", "show"], { encoding: "utf8" });
  if (routes.trim() !== "") throw new Error("this is the machine's own network: run under unshare --net --mount");
  ip("link", "set", "lo", "up");
  for (const address of [PUBLIC, PUBLIC_IMPOSTOR, PRIVATE]) ip("addr", "add", `${address}/32`, "dev", "lo");
  const folder = mkdtempSync(join(tmpdir(), "public-network-"));
  writeFileSync(join(folder, "resolv.conf"), `nameserver ${DNS_ADDRESS}\n`);
  execFileSync("mount", ["--bind", join(folder, "resolv.conf"), "/etc/resolv.conf"], { stdio: "inherit" });
  const onPort = { address: DNS_ADDRESS, port: 53 };
  const dns = await startDnsServer((name, type) => type === "A" ? answer(name) : [], onPort);

  const certificates = createTestCertificates()!;
  writeFileSync(join(folder, "ca.pem"), certificates.ca);
  // The private ones too: only the address gives them away.
  const tls = certificates.issue(names.map((name) => `DNS:${name}`).join());
  const moved = `HTTP/1.1 307 Moved\r\nLocation: https://${PRIVATE}/\r\nContent-Length: 0\r\n\r\n`;
  const endpoint = await startReceiver(({ serverName }) => serverName === "moved.example" ? moved : OK_ANSWER, {
    address: PUBLIC,
    port: 443,
    tls,
  });
  const impostorTls = certificates.issue("DNS:impostor.example");
  const impostor = await startReceiver(undefined, { address: PUBLIC_IMPOSTOR, port: 443, tls: impostorTls });
  const forbidden = {
    private: await startReceiver(undefined, { address: PRIVATE, port: 443, tls }),
    loopback: await startReceiver(undefined, { address: "127.0.0.1", port: 443, tls }),
    proxy: await startReceiver(),
  };
  const proxy = `http://127.0.0.1:${forbidden.proxy.port}`;
  return {
    endpoint,
    impostor,
    forbidden,
    env: {
      NODE_EXTRA_CA_CERTS: join(folder, "ca.pem"),
      NODE_USE_ENV_PROXY: "1",
      HTTPS_PROXY: proxy,
      https_proxy: proxy,
      // Deno's own search for a newer version would use the proxy.
      DENO_NO_UPDATE_CHECK: "1",
    },
    async close() {
      for (const receiver of [endpoint, impostor, ...Object.values(forbidden)]) await receiver.close();
      await dns.close();
      certificates.remove();
      rmSync(folder, { recursive: true });
    },
  };
}
