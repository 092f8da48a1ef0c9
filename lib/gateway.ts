import { type Config, ConfigError } from "./config.ts";
import { createEscrow, type Escrow } from "./escrow/escrow.ts";
import { decodeEvent } from "./escrow/events.ts";
import { createHistory } from "./events/history.ts";
import { createWatcher, type Watcher } from "./events/watcher.ts";
import { createApp, type GatewayApp } from "./http/app.ts";
import { createAnswerLog } from "./http/answer_log.ts";
import { createRequestIds } from "./http/request_id.ts";
import { allRoutes } from "./http/routes.ts";
import type { GatewayStatus } from "./http/routes/status.ts";
import type { KeySource } from "./keys/key_source.ts";
import { createKeyVerifier, type KeyVerifier } from "./keys/verifier.ts";
import { createAddressLimiter } from "./limits/address_limiter.ts";
import { clientAddress } from "./limits/client_address.ts";
import { createLimiter, type Limiter } from "./limits/limiter.ts";
import { createRateLimitHeaders } from "./limits/rate_limit_headers.ts";
import type { Log } from "./log.ts";
import type { Peer } from "./runtime/serve.ts";
import { sleep, type Wait } from "./stellar/clock.ts";
import type { RpcClient } from "./stellar/rpc.ts";
import { createRpcClient } from "./stellar/rpc_client.ts";
import type { Fetch } from "./stellar/rpc_transport.ts";
import { createLedgerTip, type LedgerTip } from "./stellar/tip.ts";
import type { Store } from "./store/store.ts";
import { VERSION } from "./version.ts";

export interface GatewayOptions {
  config: Config;
  /** Stays the caller's: closed after `stop`. */
  store: Store;
  /** Where API keys come from; stays the caller's as well. */
  keys: KeySource;
  log: Log;
  /** Unix milliseconds; the system's clock when absent. */
  now?: () => number;
  wait?: Wait;
  /** How the RPC node is asked; the runtime's fetch when absent. */
  fetch?: Fetch;
  /** Tests: check every answer against what /openapi.json says of it. */
  checkAnswers?: boolean;
}

export interface Gateway {
  fetch(request: Request, peer: Peer): Response | Promise<Response>;
  /** Begins to watch the network. */
  start(): void;
  /** Answers nothing any more, ends what runs in the background, and writes what was only in memory. */
  stop(): Promise<void>;
}

const PRUNE_INTERVAL_MS = 3_600_000;
/** Longer than an envelope can be valid and than any node remembers it. */
const SUBMISSION_KEPT_MS = 30 * 86_400_000;
const NETWORK_CHECK_TIMEOUT_MS = 3_000;

/**
 * Puts the gateway together on a store it holds for itself.
 * @throws {StoreError} `locked` when another gateway serves this store, `network_mismatch` when it belongs to another network
 * @throws {ConfigError} when the RPC node speaks for another network than the settings say
 */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, store, keys, log, now = Date.now } = options;
  await store.holdForServing();
  await store.bindNetwork(config.networkPassphrase);
  const chain = await createChain(options);
  const limiter = createLimiter({ store, now, defaultRate: config.defaultRate, onProblem: told(log) });
  await limiter.load();
  const verifier = createKeyVerifier({ source: keys, now, onProblem: told(log) });
  await verifier.refresh();
  let isStopping = false;
  const app = createHttp(options, chain, { limiter, verifier, isStopping: () => isStopping });
  const prune = () =>
    store.pruneSubmissions(now() - SUBMISSION_KEPT_MS)
      .catch((error) => log.warn("old submissions could not be pruned", { error }));
  let timer: ReturnType<typeof setInterval> | undefined;

  return {
    fetch: (request, peer) => app.fetch(request, { peer }),
    start() {
      chain.watcher.start();
      limiter.start();
      verifier.start();
      timer = setInterval(prune, PRUNE_INTERVAL_MS);
    },
    async stop() {
      isStopping = true;
      clearInterval(timer);
      await chain.watcher.stop();
      await verifier.stop();
      await limiter.stop();
    },
  };
}

/** All that speaks with the network. */
interface Chain {
  tip: LedgerTip;
  escrow: Escrow;
  watcher: Watcher;
}

async function createChain(options: GatewayOptions): Promise<Chain> {
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
    onProblem: ({ kind, message, ...more }) =>
      kind === "recovered" ? log.info(message) : log.warn(message, { kind, ...more }),
  });
  return { tip, escrow, watcher };
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

function createHttp(
  { config, store, log, now = Date.now, checkAnswers = false }: GatewayOptions,
  { tip, escrow, watcher }: Chain,
  { limiter, verifier, isStopping }: { limiter: Limiter; verifier: KeyVerifier; isStopping(): boolean },
): GatewayApp {
  const addresses = createAddressLimiter({ now, rate: config.defaultRate });
  const history = createHistory({ store, tip });
  const address = (request: Request, peer: Peer) =>
    clientAddress(request.headers, peer.remoteAddress, config.trustProxy);

  /** What was just confirmed shows in the history at once, not a poll later. */
  async function submit(xdr: string): Promise<{ hash: string; ledger: number }> {
    const confirmed = await escrow.transactions.submit(xdr);
    watcher.wake();
    return confirmed;
  }

  async function status(): Promise<GatewayStatus> {
    const { held, gaps, epoch, undecodedEvents } = await history.status();
    const { sequence, closeTime } = tip;
    return {
      version: VERSION,
      ledger: {
        sequence,
        closedAt: closeTime === 0 ? null : new Date(closeTime * 1000).toISOString(),
        lagSeconds: closeTime === 0 ? null : Math.max(0, Math.round(now() / 1000) - closeTime),
      },
      history: { epoch, ranges: held, gaps, undecodedEvents },
      reads: escrow.reads.ways(),
    };
  }

  return createApp({
    routes: allRoutes({
      network: {
        rpcUrl: config.publicRpcUrl ?? new URL(config.rpcUrls[0]!).origin,
        networkPassphrase: config.networkPassphrase,
        contracts: {
          deviceRegistry: config.deviceRegistry,
          agentRegistry: config.agentRegistry,
          paymentEscrow: config.paymentEscrow,
        },
      },
      reads: escrow.reads,
      payments: escrow.payments,
      transactions: { ...escrow.transactions, submit },
      history,
      status,
    }),
    corsOrigins: config.corsOrigins,
    pages: config.pages === "on",
    version: VERSION,
    requestId: createRequestIds(),
    verifyKey: verifier.verify,
    takeForKey: ({ id, rate }) => limiter.take(id, rate),
    takeForAddress: (request, peer) => addresses.take(address(request, peer)),
    peekAddress: (request, peer) => addresses.peek(() => address(request, peer)),
    rateHeaders: createRateLimitHeaders(),
    onAnswer: createAnswerLog(log),
    isStopping,
    checkAnswers,
  });
}

function told(log: Log): (message: string, cause: unknown) => void {
  return (message, cause) => log.warn(message, { cause });
}
