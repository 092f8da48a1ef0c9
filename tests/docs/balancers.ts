import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { plainClient } from "../faults/plain_client.ts";
import { freePort } from "../faults/serve_process.ts";
import { PROXIES } from "./proxies.ts";

/** A load balancer with the documented configuration in front of two gateways, without TLS. */
export interface Balancer {
  port: number;
  /** All that it wrote to standard error so far. */
  log(): string;
  stop(): Promise<void>;
}

/** The documented proxies that balance between gateways. */
export const BALANCERS = ["haproxy", "nginx"];

/** Servers are in /usr/sbin, which only root has in its path. */
export const SERVERS_PATH = [process.env.PATH, "/usr/sbin"].join(delimiter);

/** Starts a balancer and waits until it forwards a gateway's answer. */
export async function startBalancer(name: string, upstreamPorts: [number, number]): Promise<Balancer> {
  const folder = mkdtempSync(join(tmpdir(), `gateway-${name}-`));
  const port = await freePort();
  const [program, ...args] = PROXIES[name]!({ folder, port, upstreamPorts, hasTls: false });
  const child: ChildProcess = spawn(program!, args, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: SERVERS_PATH, HOME: folder },
  });
  let text = "";
  child.stderr!.setEncoding("utf8").on("data", (more: string) => text += more);
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const isUp = () => {
    const { request, close } = plainClient(port);
    return request("GET", "/v1/health").then(({ status }) => status === 200, () => false).finally(close);
  };
  for (const deadline = Date.now() + 30_000; !await isUp();) {
    if (Date.now() > deadline || child.exitCode !== null) throw new Error(`${name} did not come up:\n${text}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    port,
    log: () => text,
    async stop() {
      child.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
