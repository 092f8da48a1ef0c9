import { ConfigError } from "../config.ts";
import { createEscrow, type Escrow } from "../escrow/escrow.ts";
import { decodeEvent } from "../escrow/events.ts";
import { createWatcher, type Watcher } from "../events/watcher.ts";
import type { Log } from "../log.ts";
import { sleep } from "../stellar/clock.ts";
import type { RpcClient } from "../stellar/rpc.ts";
import { createRpcClient } from "../stellar/rpc_client.ts";
import { createLedgerTip, type LedgerTip } from "../stellar/tip.ts";
import type { GatewayOptions } from "./options.ts";

const NETWORK_CHECK_TIMEOUT_MS = 3_000;

/** All that speaks with the network. */
export interface Chain {
  rpc: RpcClient;
  tip: LedgerTip;
  escrow: Escrow;
  watcher: Watcher;
}

/**
 * Puts together what speaks with the network. `onCommit` is called after each commit of the watcher.
 * @throws {ConfigError} when the RPC node speaks for another network than the settings say
 */
export async function createChain(options: GatewayOptions, onCommit: () => void): Promise<Chain> {
  const { config, store, log, now = Date.now, wait = sleep, fetch = globalThis.fetch } = options;
  const contracts = {
    deviceRegistry: config.deviceRegistry,
    agentRegistry: config.agentRegistry,
    paymentEscrow: config.paymentEscrow,
  };
  const seen = await store.watcherState();
  const tip = createLedgerTip({
    epoch: seen?.epoch,
    sequence: seen?.latestLedger,
    closeTime: seen?.latestLedgerCloseTime,
  });
  const rpc = createRpcClient({
    urls: config.rpcUrls,
    fetch,
    now,
    wait,
    tip,
    onProblem: ({ node, method, message }) => log.debug("RPC call failed", { node, method, problem: message }),
  });
  await checkNetwork(rpc, config.networkPassphrase, log);
  const escrow = createEscrow({
    rpc,
    tip,
    now,
    wait,
    contracts,
    networkPassphrase: config.networkPassphrase,
    submitTimeoutMs: config.submitTimeoutMs,
    noteSubmission: (note) => store.recordSubmission({ ...note, submittedAtMs: now() }),
    getSubmission: (hash) => store.getSubmission(hash),
    onProblem: (message) => log.warn(message),
  });
  const watcher = createWatcher({
    rpc,
    store,
    tip,
    contractIds: Object.values(contracts),
    decode: (event) => decodeEvent(event, contracts),
    now,
    wait,
    pollMs: config.pollMs,
    onCommit,
    onProblem: ({ kind, message, ...more }) =>
      kind === "recovered" ? log.info(message) : log.warn(message, { kind, ...more }),
  });
  return { rpc, tip, escrow, watcher };
}

/** A node of another network is a mistake in the settings; one that does not answer now may do so later. */
async function checkNetwork(rpc: RpcClient, passphrase: string, log: Log): Promise<void> {
  try {
    const network = await rpc.getNetwork({ timeoutMs: NETWORK_CHECK_TIMEOUT_MS });
    if (network.passphrase === passphrase) return;
    throw new ConfigError(
      `the RPC node is of the network ${JSON.stringify(network.passphrase)}, the settings say ${
        JSON.stringify(passphrase)
      }`,
    );
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    log.warn("the RPC node does not answer yet; serving all the same", { problem: (error as Error).message });
  }
}
