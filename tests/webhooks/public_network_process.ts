/*
 * Runs in a network namespace of its own, where public addresses can be given to the loopback interface: real names from
 * a DNS server of the test's own, real certificates, the policy as it is in production. Prints what came of each scene.
 */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import process from "node:process";
import { createPoster, type PostResult } from "../../lib/webhooks/post/post.ts";
import { createResolver, keepBriefly } from "../../lib/webhooks/targets/dns.ts";
import { createTargetPolicy } from "../../lib/webhooks/targets/policy.ts";
import { type DnsAnswer, startDnsServer } from "./targets/dns_server.ts";
import { OK_ANSWER, type Receiver, startReceiver } from "./receiver.ts";
import { until } from "../until.ts";
import { createTestCertificates } from "./post/test_certificates.ts";

export interface Scene {
  results: PostResult[];
  /** The DNS queries. */
  asked: string[];
  /** Requests that reached the public endpoint, and names that TLS was asked for there. */
  publicRequests: number;
  serverNames: (string | undefined)[];
  /** Connections that reached a private address. */
  privateConnections: number;
}

const PUBLIC = "93.184.216.34";
const PUBLIC_IPV6 = "2606:4700::1111";
const PRIVATE = "10.0.0.1";
const PORT = 8443;

const ip = (...args: string[]) => execFileSync("ip", args, { stdio: "ignore" });
// A namespace of one's own has no way out yet: addresses are given to no other.
const routes = execFileSync("ip", ["route", "show"], { encoding: "utf8" });
if (routes.trim() !== "") throw new Error("this is the machine's own network: run under unshare --net");
ip("link", "set", "lo", "up");
for (const address of [PUBLIC, PRIVATE]) ip("addr", "add", `${address}/32`, "dev", "lo");
let hasIpv6 = true;
try {
  ip("-6", "addr", "add", `${PUBLIC_IPV6}/128`, "dev", "lo", "nodad");
} catch {
  hasIpv6 = false;
}

const { ca, issue, remove } = createTestCertificates()!;
const certificate = issue("DNS:hooks.example");

/** Posts `times` times to https://hooks.example while its name has what `answers` say, one after the other. */
async function play(answers: Partial<Record<"A" | "AAAA", DnsAnswer>>[], times: number, keepMs = 0): Promise<Scene> {
  const turns = { A: 0, AAAA: 0 };
  const dns = await startDnsServer((_, type) => answers[Math.min(turns[type]++, answers.length - 1)]![type] ?? []);
  const moved = `HTTP/1.1 302 Found\r\nLocation: https://${PRIVATE}:${PORT}/\r\nContent-Length: 0\r\n\r\n`;
  const listen = (address: string) =>
    startReceiver(({ head }) => head.startsWith("POST /moved") ? moved : OK_ANSWER, {
      address,
      port: PORT,
      tls: certificate,
    });
  const publicEndpoints: Receiver[] = [await listen(PUBLIC), ...(hasIpv6 ? [await listen(PUBLIC_IPV6)] : [])];
  const privateEndpoints: Receiver[] = [await listen(PRIVATE), await listen("127.0.0.1")];
  const clock = { nowMs: 0 };
  const now = () => clock.nowMs;
  // Long, because a busy machine answers late.
  const resolve = createResolver({ servers: [dns.server], timeoutMs: 20_000 });
  const policy = createTargetPolicy({ resolve: keepMs === 0 ? resolve : keepBriefly({ resolve, now, keepMs }) });
  const poster = createPoster({ policy, now, ca });
  const results: PostResult[] = [];
  for (let i = 0; i < times; i++) {
    const url = `https://hooks.example:${PORT}/${i === 0 ? "moved" : "in"}`;
    results.push(await poster.post({ url, headers: {}, body: "{}" }));
    clock.nowMs += 1_000;
  }
  poster.close();
  const requests = publicEndpoints.flatMap((endpoint) => endpoint.requests);
  await Promise.all([...publicEndpoints, ...privateEndpoints].map((endpoint) => endpoint.close()));
  await dns.close();
  return {
    results,
    asked: dns.asked,
    publicRequests: requests.length,
    serverNames: [...new Set(requests.map(({ serverName }) => serverName))],
    privateConnections: privateEndpoints.reduce((sum, { connections }) => sum + connections, 0),
  };
}

/** The kernel makes an IPv6 address reachable a moment after it is added: on a busy machine seconds later. */
async function isReached(address: string): Promise<boolean> {
  const server = createServer((socket) => void socket.end()).listen(PORT, address);
  await once(server, "listening");
  const socket = connect(PORT, address);
  const isConnected = await once(socket, "connect").then(() => true, () => false);
  socket.destroy();
  server.close();
  return isConnected;
}
if (hasIpv6) await until(() => isReached(PUBLIC_IPV6));

const scenes: Record<string, Scene> = {
  steady: await play([{ A: [PUBLIC] }], 3),
  turnsLoopback: await play([{ A: [PUBLIC] }, { A: ["127.0.0.1"] }], 3),
  turnsPrivate: await play([{ A: [PUBLIC] }, { A: [PRIVATE] }], 2),
  oneOfTwo: await play([{ A: [PUBLIC, PRIVATE] }], 1),
  ipv6Loopback: await play([{ A: [PUBLIC], AAAA: ["::1"] }], 1),
  // Kept for two seconds: posts at 0, 1, 2 and 3 s.
  kept: await play([{ A: [PUBLIC] }, { A: [PRIVATE] }], 4, 2_000),
  ...(hasIpv6 ? { ipv6: await play([{ AAAA: [PUBLIC_IPV6] }], 2) } : {}),
};
remove();
process.stdout.write(JSON.stringify(scenes));
