import { rpc } from "@stellar/stellar-sdk";
import { serveHttp } from "../../../lib/runtime/serve.ts";
import { createNetwork, type NetworkOptions } from "../../../lib/sandbox/network.ts";
import type { Network } from "../../../lib/sandbox/network_types.ts";
import { createRpcServer, type RpcServer } from "../../../lib/sandbox/rpc/server.ts";
import { engineModule } from "../sandbox_network.ts";
import { after, before } from "node:test";

/** The folder of the compiled engine and contracts. */
export const WASM = `${import.meta.dirname}/../../../lib/sandbox/wasm`;

export interface SandboxRpc {
  network: Network;
  url: string;
  /** The SDK's client of it. */
  rpc: rpc.Server;
  // deno-lint-ignore no-explicit-any -- tests read single fields of answers
  call(method: string, params?: unknown): Promise<{ result?: any; error?: any }>;
  stop(): Promise<void>;
}

/** Closes a ledger at once after a transaction, and none without one. */
const schedule: NetworkOptions["schedule"] = (callback, delayMs) => {
  if (delayMs > 0) return () => {};
  const timer = setTimeout(callback, 0);
  return () => clearTimeout(timer);
};

/** A network and its RPC server, started before the first test of a file and stopped after the last one. */
export function sandboxRpcOfFile(options: Partial<NetworkOptions> = {}): SandboxRpc {
  const sandbox = {} as SandboxRpc;
  before(async () => void Object.assign(sandbox, await openSandboxRpc(options)));
  after(() => sandbox.stop());
  return sandbox;
}

/** Starts a network that closes ledgers at once, and its RPC server on a free loopback port. */
export async function openSandboxRpc(
  options: Partial<NetworkOptions> = {},
  serverOptions: { corsOrigins?: string[] } = {},
): Promise<SandboxRpc> {
  const network = await createNetwork({ engineWasm: engineModule, ledgerMs: 0, schedule, ...options });
  let handle: RpcServer["fetch"] = () => Promise.reject(new Error("not ready"));
  const local = { hostname: "127.0.0.1", port: 0, idleTimeoutMs: 60_000 };
  const http = await serveHttp({ ...local, fetch: (request, peer) => handle(request, peer) });
  const now = options.now ?? Date.now;
  const friendbotUrl = `${http.url}/friendbot`;
  handle = createRpcServer({ network, friendbotUrl, version: "0.0.0-test", now, ...serverOptions }).fetch;
  return {
    network,
    url: http.url,
    rpc: new rpc.Server(http.url, { allowHttp: true }),
    async call(method, params) {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
      const headers = { "Content-Type": "application/json" };
      const response = await fetch(http.url, { method: "POST", body, headers });
      return await response.json();
    },
    async stop() {
      await http.stop({ drainMs: 1000 });
      await network.stop();
    },
  };
}
