import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readDoc, replaceEach } from "./tools.ts";

/** Folder and ports of a documented proxy in a test. */
export interface Site {
  /** A folder for this proxy alone. With TLS it contains `cert.pem` and `key.pem`. */
  folder: string;
  port: number;
  /** The gateways' ports: two for a load balancer. */
  upstreamPorts: [number] | [number, number];
  hasTls: boolean;
}

/** Writes the documented configuration with the site's certificate and ports; returns the command that starts the proxy. */
export const PROXIES: Record<string, (site: Site) => string[]> = {
  nginx({ folder, port, upstreamPorts, hasTls }) {
    const certificate = "ssl_certificate /etc/letsencrypt/live/gateway.example.com/fullchain.pem;";
    const key = "ssl_certificate_key /etc/letsencrypt/live/gateway.example.com/privkey.pem;";
    const server = replaceEach(readDoc("nginx.conf"), [
      ["server 127.0.0.1:8787;", upstreamPorts.map((port) => `server 127.0.0.1:${port};`).join("\n  ")],
      ["listen 443 ssl;", `listen 127.0.0.1:${port}${hasTls ? " ssl" : ""};`],
      ["listen [::]:443 ssl;", ""],
      [certificate, hasTls ? `ssl_certificate ${folder}/cert.pem;` : ""],
      [key, hasTls ? `ssl_certificate_key ${folder}/key.pem;` : ""],
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
  caddy({ folder, port, upstreamPorts: [upstreamPort] }) {
    const file = replaceEach(readDoc("Caddyfile"), [
      ["auto_https disable_redirects", "auto_https disable_redirects\n\tadmin off"],
      [
        "\ngateway.example.com {",
        `\nhttps://gateway.example.com:${port} {\n\ttls ${folder}/cert.pem ${folder}/key.pem`,
      ],
      ["127.0.0.1:8787", `127.0.0.1:${upstreamPort}`],
    ]);
    writeFileSync(join(folder, "Caddyfile"), file);
    return ["caddy", "run", "--config", join(folder, "Caddyfile"), "--adapter", "caddyfile"];
  },
  haproxy({ folder, port, upstreamPorts: [first, second = first], hasTls }) {
    const pem = join(folder, "gateway.pem");
    if (hasTls) writeFileSync(pem, ["cert.pem", "key.pem"].map((name) => readFileSync(join(folder, name))).join(""));
    const tls = " ssl crt /etc/haproxy/gateway.pem alpn h2,http/1.1 ssl-min-ver TLSv1.2";
    const text = replaceEach(readDoc("haproxy.cfg"), [
      [`bind :443${tls}`, `bind 127.0.0.1:${port}${hasTls ? tls.replace("/etc/haproxy/gateway.pem", pem) : ""}`],
      ["gateway-1:8787", `127.0.0.1:${first}`],
      ["gateway-2:8787", `127.0.0.1:${second}`],
    ]);
    writeFileSync(join(folder, "haproxy.cfg"), text);
    return ["haproxy", "-db", "-f", join(folder, "haproxy.cfg")];
  },
};
