import { ConfigError, settingTitle } from "../config.ts";
import { CONTRACT_KEYS, type ContractIds, CONTRACTS } from "../escrow/contracts/errors.ts";
import { createAssetList } from "../escrow/assets/asset_list.ts";
import { movedAsset, speaksOfAsset } from "../escrow/assets/moved_asset.ts";
import { paymentFacts } from "../escrow/payments/payment_facts.ts";
import { paymentsCondition } from "../escrow/payments/payments_condition.ts";
import { createPaymentsProjection } from "../escrow/payments/projection.ts";
import { createEscrow } from "../escrow/escrow.ts";
import { decodeEvent } from "../escrow/events.ts";
import { createWatcher } from "../events/watcher.ts";
import type { Log } from "../log.ts";
import { VERSION } from "../version.ts";
import type { Clock } from "../clock.ts";
import { createRpcClient, type NodesRpcClient } from "../stellar/rpc/client.ts";
import { askNewest } from "../stellar/fresh_read.ts";
import { createHead } from "../stellar/head.ts";
import { createContractWatch } from "./contract_watch.ts";
import type { GatewayMetrics } from "./gateway_metrics.ts";
import { createSubmissionLog } from "./submission_log.ts";
import { createUnresolvedSubmissions } from "./unresolved_submissions.ts";
import { createSharedState } from "./shared_state.ts";
import { watchSolvency } from "./solvency_watch.ts";
import { watchUnacceptedAssets } from "./unaccepted_assets.ts";
import type { LoggedEvent } from "../store/event.ts";
import type { Store } from "../store/store.ts";
import type { GatewayOptions } from "./options.ts";

const NETWORK_CHECK_TIMEOUT_MS = 3_000;
/** Pause before the second check of a node with another network. */
const ASK_AGAIN_MS = 2_000;
/** For a request that waits for the log: isolates have no loop to wake. */
const CATCH_UP_MS = 2_000;

/** All parts that use the network. */
export type Chain = Awaited<ReturnType<typeof createChain>>;

export interface ChainParts {
  clock: Clock;
  /** Unique to this process. */
  holder: string;
  /** Called after each commit of the watcher. */
  onCommit(): void;
  metrics: GatewayMetrics;
  /** Ends background work. */
  stopping: AbortSignal;
}

/** Creates all parts that use the network. */
export async function createChain(
  options: GatewayOptions,
  { clock, holder, onCommit, metrics, stopping }: ChainParts,
) {
  const { config, store, log, fetch = globalThis.fetch } = options;
  const contracts = {
    deviceRegistry: config.deviceRegistry,
    agentRegistry: config.agentRegistry,
    paymentEscrow: config.paymentEscrow,
  };
  const assets = createAssetList(config.assets, config.networkPassphrase);
  const seen = await store.events.watcherState();
  const head = createHead({
    clock,
    stored: seen && { sequence: seen.latestLedger, closeTime: seen.latestLedgerCloseTime },
    ask: (node) => askNewest(rpc, { node, signal: stopping }),
  });
  const rpc = createRpcClient({
    urls: config.rpcUrls,
    fetch,
    clock,
    head,
    networkPassphrase: config.networkPassphrase,
    stopping,
    onProblem: ({ node, method, message }) => log.debug("RPC call failed", { node, method, problem: message }),
    onAttempt: metrics.rpcAttempt,
    onNodeChange: ({ name, condition, problem }) => {
      const asked = rpc.nodes().find(({ inUse }) => inUse)?.name;
      if (condition === "well") log.info("RPC node is well again", { node: name, asked });
      else log.warn(`RPC node is ${condition}`, { node: name, problem, asked });
    },
  });
  const wait = (ms: number) => clock.wait(ms, stopping);
  const networkChecked = checkNetwork(rpc, { passphrase: config.networkPassphrase, log, wait });
  // The caller awaits it later. A rejection before that, or after a stop, must not end the process.
  networkChecked.catch(() => {});
  const sharedState = !store.isShared ? undefined : createSharedState({
    store,
    head,
    clock,
    onUnread: () => watcher.wake(),
    onProblem: (message, cause) => log.warn(message, { cause }),
  });
  const unresolvedSubmissions = createUnresolvedSubmissions(store, () => head);
  const contractWatch = createContractWatch({ rpc, contracts, log, clock, stopping });
  /** Makes the leader poll now, and resolves after a poll. Never rejects. */
  async function catchUp(): Promise<void> {
    const { isFollower } = await watcher.pollFor(CATCH_UP_MS, { newestOnly: true });
    // Makes the leader poll at once.
    if (isFollower) await sharedState?.tellLedger();
  }
  const escrow = createEscrow({
    rpc,
    head,
    clock,
    contracts,
    assets,
    events: store.events,
    catchUp,
    networkPassphrase: config.networkPassphrase,
    submitTimeoutMs: config.submitTimeoutMs,
    maxFee: config.maxFee,
    sharedState: store.sharedState,
    // With a clock that is days behind, retention would delete the submission as soon as the clock is right.
    submissionLog: createSubmissionLog(store, () => Math.max(clock.now(), head.networkSeconds() * 1_000)),
    unresolved: unresolvedSubmissions.of,
    keepUnresolved: unresolvedSubmissions.add,
    nodes: config.rpcUrls.length,
    onProblem: (message) => log.warn(message),
    onNewCodes: contractWatch.checkAgain,
  });
  const networkSeconds = () => Math.floor(head.networkSeconds());
  /** Which payments need a person. Rejects when the store fails. */
  const condition = () =>
    paymentsCondition(store, {
      ledgerTimes: () => escrow.ledgerTimes().catch(() => undefined),
      head: () => ({ sequence: head.sequence, seconds: networkSeconds() }),
    });
  const payments = createPaymentsProjection({
    store,
    paymentEscrow: contracts.paymentEscrow,
    shortestLife: escrow.shortestLife,
    readEntries: escrow.paymentEntries,
    head: () => ({ sequence: head.sequence, closeTime: head.closeTime || networkSeconds() }),
  });
  const unacceptedAssets = watchUnacceptedAssets({ store, contractIds: Object.values(contracts), assets, log });
  const solvency = watchSolvency({
    log: store.events,
    sharedState: store.sharedState,
    paymentEscrow: contracts.paymentEscrow,
    assets,
    held: escrow.held,
    monotonicMs: clock.monotonicMs,
    logger: log,
  });
  const watcher = createWatcher({
    rpc,
    store,
    head,
    epoch: seen?.epoch,
    contractIds: Object.values(contracts),
    decode: (event) => decodeEvent(event, contracts),
    decoder: `${VERSION} ${Object.values(contracts).join(" ")}`,
    movements: {
      isOne: speaksOfAsset,
      assetIn: (event, transaction) => movedAsset(event, transaction, contracts),
      paymentIn: (event, transaction) => paymentFacts(event, transaction, contracts),
    },
    payments,
    onEvents: (events) => void tellExpired(store, events, log),
    titleOf: (id) => settingsOf(id, contracts),
    clock,
    holder,
    pollMs: config.pollMs,
    keptDays: config.retentionDays,
    firstLedger: config.firstLedger,
    onCommit() {
      onCommit();
      void unacceptedAssets.look();
      void solvency.look();
      // The node answers, so a check that failed before can succeed now.
      void contractWatch.check();
    },
    onProblem: ({ kind, message, ...more }) => {
      metrics.watcherTold(kind);
      if (kind === "recovered") log.info(message);
      else log.warn(message, { kind, ...more });
      if (kind === "recovered" || kind === "reset") contractWatch.checkAgain();
    },
  });
  return {
    rpc,
    head,
    escrow,
    assets,
    watcher,
    catchUp,
    contractWatch,
    /** Undefined where no other gateway shares the store. */
    sharedState,
    unacceptedAssets,
    solvency,
    paymentsCondition: condition,
    unresolvedSubmissions,
    /**
     * Resolves after the check of the nodes' network, or when a node does not answer. The gateway may serve before.
     * @throws {ConfigError} when a node's network differs from the settings
     */
    networkChecked,
  };
}

/** Logs payments of this gateway's API keys that ended unclaimed. Never rejects. */
async function tellExpired(
  { submissions }: Pick<Store, "submissions">,
  events: LoggedEvent[],
  log: Log,
): Promise<void> {
  for (const { type, payment, txHash, merchant, deviceHash, amount, asset } of events) {
    // The store reports its own errors. The status counts the payment all the same.
    if (type !== "payment.expired" || await submissions.get(txHash).catch(() => undefined) === undefined) continue;
    log.warn("a payment ended unclaimed: the merchant cannot collect it any more", {
      ...{ payment: payment!.of, merchant, deviceHash, amount, asset, txHash },
      todo: "docs/get-paid.md; gateway payments acknowledge ends the alarm",
    });
  }
}

/** The settings with this contract id. */
function settingsOf(id: string, contracts: ContractIds): string {
  const keys = CONTRACTS.map((name) => CONTRACT_KEYS[name]).filter((key) => contracts[key] === id);
  return keys.map(settingTitle).join(" and ");
}

/**
 * A node of another network is a mistake in the settings. A node that does not answer may do so later. One wrong answer does not
 * stop the gateway, because nothing would start it again.
 */
async function checkNetwork(
  rpc: NodesRpcClient,
  { passphrase, log, wait }: { passphrase: string; log: Log; wait: (ms: number) => Promise<void> },
): Promise<void> {
  const first = await rpc.networks({ timeoutMs: NETWORK_CHECK_TIMEOUT_MS });
  for (const { node, passphrase, problem } of first) {
    if (passphrase === undefined) {
      log.warn("an RPC node does not answer yet; the gateway serves without it", { node, problem });
    }
  }
  const isOther = (reported: string | undefined) => reported !== undefined && reported !== passphrase;
  if (!first.some((one) => isOther(one.passphrase))) return;
  await wait(ASK_AGAIN_MS);
  const second = await rpc.networks({ timeoutMs: NETWORK_CHECK_TIMEOUT_MS });
  first.forEach(({ node, passphrase: reported }, index) => {
    if (!isOther(reported)) return;
    if (second[index]!.passphrase === passphrase) {
      return log.warn("an RPC node reported another network once", { node, network: reported });
    }
    throw new ConfigError(
      `the network of the RPC node ${node} must be ${JSON.stringify(passphrase)}, as in the settings; got ${
        JSON.stringify(reported)
      }`,
    );
  });
}
