import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { plainClient } from "../faults/plain_client.ts";
import { freePort } from "../faults/serve_process.ts";
import { readDoc, replaceEach } from "./tools.ts";

/** A load balancer of the documented configuration in front of two gateways; without TLS, which is no matter here. */
export interface Balancer {
  port: number;
  /** All that it wrote to standard error so far. */
  log(): string;
  stop(): Promise<void>;
}

interface Site {
  folder: string;
  port: number;
  /** Of the gateways. */
  upstreamPorts: [number, number];
}

/** Writes the configuration with this test's ports into the folder; answers how to start the balancer on it. */
export const BALANCERS: Record<string, (site: Site) => string[]> = {
  haproxy({ folder, port, upstreamPorts: [first, second] }) {
    const text = replaceEach(readDoc("haproxy.cfg"), [
      [
        "bind :443 ssl crt /etc/haproxy/gateway.pem alpn h2,http/1.1 ssl-min-ver TLSv1.2",
        `bind 127.0.0.1:${port}`,
      ],
      ["gateway-1:8787", `127.0.0.1:${first}`],
      ["gateway-2:8787", `127.0.0.1:${second}`],
    ]);
    writeFileSync(join(folder, "haproxy.cfg"), text);
    return ["haproxy", "-db", "-f", join(folder, "haproxy.cfg")];
  },
  nginx({ folder, port, upstreamPorts: [first, second] }) {
    const server = replaceEach(readDoc("nginx.conf"), [
      ["server 127.0.0.1:8787;", `server 127.0.0.1:${first};\n  server 127.0.0.1:${second};`],
      ["listen 443 ssl;", `listen 127.0.0.1:${port};`],
      ["listen [::]:443 ssl;", ""],
      ["ssl_certificate /etc/letsencrypt/live/gateway.example.com/fullchain.pem;", ""],
      ["ssl_certificate_key /etc/letsencrypt/live/gateway.example.com/privkey.pem;", ""],
    ]);
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((name) => `${name}_temp_path ${folder}/${name};`).join("\n");
    writeFileSync(
      join(folder, "nginx.conf"),
      `daemon off; pid ${folder}/pid; error_log stderr; worker_processes 1;
       events {} http { access_log off; ${temporary} ${server} }`,
    );
    return ["nginx", "-p", folder, "-e", "stderr", "-c", join(folder, "nginx.conf")];
  },
};

export const SERVERS_PATH = [process.env.PATH, "/usr/sbin"].join(delimiter);

/** Starts one and waits until it answers for a gateway. */
export async function startBalancer(name: string, upstreamPorts: [number, number]): Promise<Balancer> {
  const folder = mkdtempSync(join(tmpdir(), `gateway-${name}-`));
  const port = await freePort();
  const [program, ...args] = BALANCERS[name]!({ folder, port, upstreamPorts });
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
