import { type Clock, systemClock } from "../lib/clock.ts";
import type { Config } from "../lib/config.ts";
import { GatewayError } from "../lib/errors.ts";
import { type AssetReader, createAssetReader } from "../lib/escrow/reads/asset_info.ts";
import { askNewest } from "../lib/stellar/fresh_read.ts";
import { createHead, type Head } from "../lib/stellar/head.ts";
import { createRpcClient, type RpcClient } from "../lib/stellar/rpc/client.ts";
import { createContractCalls } from "../lib/stellar/transactions/contract_call.ts";
import type { Store } from "../lib/store/store.ts";
import { type CommandIo, type Flags, UsageError } from "./command.ts";
import { STORE_ROW } from "./help.ts";
import { readConfig } from "./read_config.ts";
import { findSandbox, sandboxUrl } from "./sandbox/running_sandbox.ts";
import { withStore } from "./store_setting.ts";

/** The flags of a command that reads the store, and asks a node for the rest. */
export const STORE_AND_NODE_ROWS = [
  STORE_ROW,
  ["--rpc-url LIST", "Stellar RPC nodes, comma-separated (default SERVICE_API_RPC_URL, as for serve)"],
  ["--sandbox URL", "Read the store and the node of the sandbox with this gateway or Stellar RPC"],
] as const;

/** The nodes of the store's network, for what the store does not have. */
export interface StoreNode {
  rpc: RpcClient;
  head: Head;
  /** Rejects when no node answers. */
  assets: AssetReader;
  /** Why no node answers; undefined when one does. Asks once. */
  problem(): Promise<string | undefined>;
}

export interface StoreAndNode {
  store: Store;
  node: StoreNode;
  config: Config;
  networkPassphrase: string;
}

const TIMEOUT_MS = 3_000;

/**
 * Opens the store of the flags, which must exist, runs `use` on it and its node, and returns the exit code.
 * @throws {UsageError | ConfigError} for a wrong flag or setting
 * @throws {CommandError | StoreError} when there is no such sandbox, or the store cannot be used
 */
export async function withStoreAndNode(
  flags: Flags<typeof STORE_AND_NODE_ROWS>,
  io: CommandIo,
  use: (parts: StoreAndNode) => Promise<number>,
): Promise<number> {
  for (const other of ["store", "rpc-url"] as const) {
    if (flags.sandbox === undefined || flags[other] === undefined) continue;
    throw new UsageError(`--sandbox and --${other} exclude each other`);
  }
  const sandbox = flags.sandbox === undefined ? undefined : await findSandbox(sandboxUrl(flags.sandbox));
  const rpcUrls = sandbox?.rpc ?? flags["rpc-url"];
  const config = readConfig(io.env, rpcUrls === undefined ? {} : { rpcUrls });
  return await withStore(sandbox?.store ?? flags.store, io, async (store) => {
    const networkPassphrase = await store.network.bound() ?? config.networkPassphrase;
    const node = createStoreNode(config.rpcUrls, networkPassphrase, { ...systemClock, now: io.now });
    return await use({ store, node, config, networkPassphrase });
  });
}

function createStoreNode(urls: string[], networkPassphrase: string, clock: Clock): StoreNode {
  const head: Head = createHead({ clock, ask: () => askNewest(rpc) });
  const rpc = createRpcClient({ urls, fetch: globalThis.fetch, clock, head, timeoutMs: TIMEOUT_MS, networkPassphrase });
  const assets = createAssetReader(createContractCalls({ rpc, head, clock, nodes: urls.length, networkPassphrase }));
  let asked: Promise<string | undefined> | undefined;
  const problem = () => asked ??= rpc.getHealth().then(() => undefined, (error: Error) => error.message);
  return {
    rpc,
    head,
    problem,
    async assets(asset) {
      const why = await problem();
      if (why !== undefined) throw new GatewayError("upstream_error", why);
      return await assets(asset);
    },
  };
}
