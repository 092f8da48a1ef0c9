import { type Clock, systemClock } from "../clock.ts";
import { createHistory } from "../events/history.ts";
import { createEventStreams } from "../events/streams.ts";
import { createKeyVerifier } from "../keys/verifier.ts";
import { createLimiter, type Limiter } from "../limits/limiter.ts";
import { createSharedLimiter } from "../limits/shared_limiter.ts";
import type { Log } from "../log.ts";
import { createLoop } from "../loop.ts";
import { createGatewayMetrics } from "./gateway_metrics.ts";
import { watchLoopDelay } from "../metrics/loop_delay.ts";
import { randomBase62, secureRandom } from "../random.ts";
import { createRetention } from "../store/retention.ts";
import { openStoreClock } from "../store/store_clock.ts";
import { createMaintenance } from "./maintenance.ts";
import { createChain } from "./chain.ts";
import { createOutcomeLookUp } from "./submission_log.ts";
import { createHttp, wholeMs } from "./http.ts";
import type { GatewayOptions } from "./options.ts";
import { createReconciliations } from "./reconciliations.ts";
import { stopInOrder } from "./stop_steps.ts";
import { createGatewayWebhooks } from "./webhooks.ts";

export type { GatewayOptions } from "./options.ts";

export type Gateway = Awaited<ReturnType<typeof createGateway>>;

/** Interval of the retention job. */
const RETENTION_MS = 3_600_000;
/** Interval between checks whether a reconciliation is due. */
const RECONCILIATION_CHECK_MS = 60_000;
/** Interval between checks of the store's file. */
const FILE_CHECK_MS = 1_000;
/** Interval between reads of the store's time. The store's clock and the monotonic one do not drift apart within it. */
const STORE_CLOCK_MS = 10_000;

/**
 * Creates the gateway, which locks its store unless the store is shared.
 * @throws {StoreError} `locked` when another gateway serves this store, `network_mismatch` when it belongs to another network
 * @throws {ConfigError} when the secrets key is wrong
 */
export async function createGateway(options: GatewayOptions) {
  const { config, store, keys, log, clock = systemClock } = options;
  const metrics = createGatewayMetrics({ now: clock.now });
  store.observe({ called: (_method, _durationMs, failure) => failure !== undefined && metrics.storeFailed(failure) });
  const stopping = new AbortController();
  const holder = randomBase62(16, secureRandom);
  await store.holdForServing();
  // A bound store shows at once whether it belongs to this network. A new store is bound only after the nodes have confirmed the
  // settings: a missing passphrase must not bind it to the wrong network.
  const isNew = await store.network.bound() === undefined;
  if (!isNew) await store.network.bind(config.networkPassphrase);
  const chain = await createChain(options, {
    clock,
    holder,
    onCommit: () => handleNotification(),
    metrics,
    stopping: stopping.signal,
  });
  /** This gateway or another has committed events. This gateway commits nothing before `start`, or a turn. */
  function handleNotification(): void {
    webhooks.wake();
    streams.wake();
  }
  const { clock: storeClock, look: lookAtStoreClock } = await openStoreClock(store, clock);
  const webhooks = await createGatewayWebhooks(options, {
    clock: storeClock,
    metrics,
    watch: chain.watcher.pollFor,
    async seenLedger() {
      await chain.sharedState?.look();
      return chain.head.sequence;
    },
  });
  const onProblem = warnTo(log);
  const history = createHistory({ store, head: chain.head });
  const streams = createEventStreams({ store, history, head: chain.head, clock, onProblem });
  const networkChecked = chain.networkChecked.then(async () => {
    await store.network.bind(config.networkPassphrase);
    // An operator who does not expect this has a wrong path, or a disk that is not mounted.
    if (isNew) log.info("no gateway has served from this store before", { store: store.location });
  });
  // The caller awaits it later. A rejection before that must not end the process.
  networkChecked.catch(() => {});
  const limiter = await openLimiter(options, { clock, holder, onProblem });
  const verifier = createKeyVerifier({ source: keys, clock: storeClock, onProblem });
  await verifier.refresh();
  const maintenance = createMaintenance({ store, log });
  const runRetention = createRetention({
    store,
    holder,
    now: clock.now,
    historyDays: config.retentionDays,
    attemptDays: config.attemptRetentionDays,
  });
  const lookUpOutcomes = createOutcomeLookUp({
    submissions: store.submissions,
    status: chain.escrow.transactions.status,
    networkSeconds: chain.head.networkSeconds,
    onUnresolved: chain.unresolvedSubmissions.add,
  });
  const reconciliations = createReconciliations({
    store,
    paymentEscrow: config.paymentEscrow,
    assets: chain.assets.ids,
    ...chain.escrow.books,
    catchUp: chain.catchUp,
    clock: storeClock,
    holder,
    everyHours: config.reconcileHours,
    log,
  });
  const reconciling = createLoop({
    step: async (signal) => {
      // The first look leaves a start its time.
      await clock.wait(RECONCILIATION_CHECK_MS, signal);
      if (!signal.aborted) await reconciliations.look(signal);
      return 0;
    },
    wait: clock.wait,
    onProblem: (cause) => log.warn("a reconciliation failed; retrying", { cause }),
  });
  const retention = createLoop({
    step: async (signal) => {
      await lookUpOutcomes(signal);
      await runRetention(signal);
      return RETENTION_MS;
    },
    wait: clock.wait,
    onProblem: (cause) => log.warn("the retention job failed; retrying", { cause }),
  });
  let isStopping = false;
  let isDraining = false;
  const app = createHttp(options, chain, {
    clock,
    limiter,
    verifier,
    history,
    streams,
    webhooks,
    metrics,
    maintenance,
    reconciliations,
    isStopping: () => isStopping,
    isDraining: () => isDraining,
    stopping: stopping.signal,
  });
  let fileTimer: ReturnType<typeof setInterval> | undefined;
  let storeClockTimer: ReturnType<typeof setInterval> | undefined;
  let loopDelay: ReturnType<typeof watchLoopDelay> | undefined;

  /** At most half of the time is for watching. */
  async function turn(boundMs: number): Promise<void> {
    const beganAt = clock.monotonicMs();
    await networkChecked;
    await lookAtStoreClock();
    const checked = chain.contractWatch.check();
    await chain.watcher.pollFor(boundMs / 2);
    const compared = chain.solvency.look();
    await webhooks.turn(boundMs * 0.8 - (clock.monotonicMs() - beganAt));
    await Promise.all([checked, compared]);
  }

  return {
    fetch: app.fetch,
    /**
     * Resolves after the check of the nodes' network, or when a node does not answer. Await it before `start`.
     * @throws {ConfigError} when a node's network differs from the settings
     */
    networkChecked,
    /** Begins to watch the network and to deliver. */
    start() {
      chain.watcher.start();
      chain.sharedState?.start();
      void chain.contractWatch.check();
      void chain.unacceptedAssets.look();
      void chain.solvency.look();
      webhooks.start();
      limiter.start();
      verifier.start();
      retention.start();
      if (config.reconcileHours > 0) reconciling.start();
      store.onNotification(handleNotification);
      fileTimer = setInterval(maintenance.look, FILE_CHECK_MS);
      storeClockTimer = setInterval(lookAtStoreClock, STORE_CLOCK_MS);
      loopDelay = watchLoopDelay(metrics.eventLoopDelayed);
    },
    /**
     * One bounded turn of the work of `start`, for platforms with crons instead of loops. It reads up to the latest ledger, then
     * delivers all due events; it takes at most about `boundMs`. Never rejects.
     */
    turn: (boundMs: number) =>
      turn(boundMs).catch((error) => log.error("a turn failed; the next turn retries", { error })),
    /** Runs the retention job and a reconciliation that is due, for at most about `boundMs`. Never rejects. */
    async tidy(boundMs: number) {
      const timeIsUp = AbortSignal.timeout(boundMs);
      // At most half of the time: a slow node must not keep the retention job from shrinking the store.
      const half = AbortSignal.timeout(boundMs / 2);
      await lookUpOutcomes(half).then(() => runRetention(timeIsUp))
        .catch((cause) => log.warn("the retention job failed", { cause }));
      if (!timeIsUp.aborted) await reconciliations.look(timeIsUp, { isBounded: true });
    },
    /**
     * Reads the ledgers of the other gateways on the store, and the store's time, for platforms without loops. Never rejects.
     */
    async lookAround() {
      await Promise.all([chain.sharedState?.look(), chain.watcher.refresh(), lookAtStoreClock()]);
    },
    /** Writes rate limits and key uses from memory to the store. Never rejects. */
    async flush() {
      await Promise.all([limiter.flush(), verifier.refresh()]);
    },
    /** Begins to drain: each connection closes after its response, and the health check returns 503. */
    drain() {
      isDraining = true;
      streams.drain();
    },
    /** Requests in progress. */
    get requestsInFlight() {
      return metrics.requests.inFlight;
    },
    /**
     * Refuses all requests, stops background work, and writes the state in memory to the store. Returns whether all parts stopped
     * in time; never rejects.
     */
    async stop() {
      isDraining = true;
      isStopping = true;
      clearInterval(fileTimer);
      clearInterval(storeClockTimer);
      loopDelay?.stop();
      stopping.abort();
      const allEnded = await stopInOrder([
        { name: "live streams", stop: streams.stop, boundMs: 5_000 },
        { name: "reads of the shared state", stop: async () => await chain.sharedState?.stop(), boundMs: 3_000 },
        { name: "polls of the watcher", stop: chain.watcher.stop, boundMs: 5_000 },
        {
          name: "retention jobs and reconciliations",
          stop: async () => void await Promise.all([retention.stop(), reconciling.stop()]),
          boundMs: 5_000,
        },
        { name: "deliveries", stop: webhooks.stop, boundMs: 15_000 },
        { name: "uses of keys", stop: verifier.stop, boundMs: 3_000 },
        { name: "rate limits", stop: limiter.stop, boundMs: 5_000 },
      ], { wait: clock.wait, onProblem });
      if (maintenance.isStoreGone()) log.error("all writes since the loss of the store's file are lost");
      return allEnded && !maintenance.isStoreGone();
    },
  };
}

/** A single gateway limits in memory. Gateways on a shared store limit in the store. */
async function openLimiter(
  { store, config }: GatewayOptions,
  { clock, holder, onProblem }: { clock: Clock; holder: string; onProblem(message: string, cause: unknown): void },
): Promise<Limiter> {
  const parts = { store, monotonicNow: wholeMs(clock), defaultRate: config.defaultRate, onProblem };
  if (store.isShared) return createSharedLimiter({ ...parts, holder });
  const limiter = createLimiter({ ...parts, now: clock.now });
  await limiter.load();
  return limiter;
}

function warnTo(log: Log): (message: string, cause?: unknown) => void {
  return (message, cause) => log.warn(message, { cause });
}
