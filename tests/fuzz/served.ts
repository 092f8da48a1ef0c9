import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { flagsFor, makeKey, type SandboxProcess, sourceCommand, startSandbox } from "../e2e/sandbox_process.ts";
import { type ServeProcess, startServe } from "../faults/serve_process.ts";

/** A gateway in its own process. */
export interface Served {
  gateway: ServeProcess;
  port: number;
  apiKey: string;
  /** Memory of its process, in MiB. */
  memory(): number;
  stop(): Promise<number | null>;
}

/** Starts `gateway serve` on a sandbox's network. It trusts X-Forwarded-For, so that each request may have its own address. */
export async function startServed(flags: Record<string, string> = {}): Promise<Served> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-fuzz-"));
  const sandbox: SandboxProcess = await startSandbox();
  const store = `sqlite:${join(folder, "gateway.db")}`;
  const apiKey = await makeKey(sourceCommand(), store, { scopes: "read,write,webhooks", rate: 1_000_000 });
  const own = { store, "trust-proxy": "1", "cors-origins": "https://app.example", ...flags };
  const gateway = await startServe(flagsFor(sandbox.info, own));
  return {
    gateway,
    apiKey,
    port: Number(new URL(gateway.url).port),
    memory: () => Number(execFileSync("ps", ["-o", "rss=", "-p", String(gateway.pid)], { encoding: "utf8" })) / 1024,
    async stop() {
      gateway.signal("SIGINT");
      const code = await gateway.ended;
      await sandbox.stop();
      await rm(folder, { recursive: true });
      return code;
    },
  };
}
