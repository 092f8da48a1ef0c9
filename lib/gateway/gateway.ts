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
import type { Peer } from "../runtime/serve.ts";
import { createRetention } from "../store/retention.ts";
import { openStoreClock } from "../store/store_clock.ts";
import { createMaintenance } from "./maintenance.ts";
import { createChain } from "./chain.ts";
import { createOutcomeLookUp } from "./submission_log.ts";
import { createHttp, wholeMs } from "./http.ts";
import type { GatewayOptions } from "./options.ts";
import { stopInOrder } from "./stop_steps.ts";
import { createGatewayWebhooks } from "./webhooks.ts";

export type { GatewayOptions } from "./options.ts";

export interface Gateway {
  fetch(request: Request, peer: Peer): Response | Promise<Response>;
  /**
   * Resolves when the node was asked which network it is of, or did not answer. To be awaited before `start`.
   * @throws {ConfigError} when it speaks for another network than the settings say
   */
  networkChecked: Promise<void>;
  /** Begins to watch the network and to deliver. */
  start(): void;
  /**
   * What `start` begins, as one bounded turn, for places that have crons instead of loops: watches until the newest
   * ledger, then delivers until nothing is due; at most about `boundMs`. Never rejects.
   */
  turn(boundMs: number): Promise<void>;
  /** Forgets what has been kept long enough; at most about `boundMs`. Never rejects. */
  tidy(boundMs: number): Promise<void>;
  /**
   * Learns which ledgers other gateways on the store have seen and committed, and the store's time, for places without
   * loops. Never rejects.
   */
  lookAround(): Promise<void>;
  /** Writes what is only in memory: rate limits, and which keys were used. Never rejects. */
  flush(): Promise<void>;
  /** Begins to give connections up: each gets its answer and is closed, and the health check answers 503. */
  drain(): void;
  /** Requests whose answer is still to come. */
  readonly requestsInFlight: number;
  /**
   * Answers nothing any more, ends what runs in the background, and writes what was only in memory. Answers whether all
   * of it ended well and in time; never rejects.
   */
  stop(): Promise<boolean>;
}

/** How often what has been kept long enough is forgotten. */
const FORGET_MS = 3_600_000;
/** How often the store's file is looked after. */
const LOOK_AFTER_MS = 1_000;
/** How often the store is asked for its time: by then its clock and the monotonic one have not drifted apart. */
const STORE_CLOCK_MS = 10_000;

/**
 * Puts the gateway together on a store it holds for itself.
 * @throws {StoreError} `locked` when another gateway serves this store, `network_mismatch` when it belongs to another network
 * @throws {ConfigError} when the secrets key is wrong
 */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, store, keys, log, clock = systemClock } = options;
  const metrics = createGatewayMetrics({ now: clock.now });
  store.observe({ called: (_method, _durationMs, failure) => failure !== undefined && metrics.storeFailed(failure) });
  const stopping = new AbortController();
  const holder = randomBase62(16, secureRandom);
  await store.holdForServing();
  // A store that is bound already tells at once whether it is this network's; a new one is bound only when no node has
  // contradicted the settings: a forgotten passphrase must not spoil it.
  const isNew = await store.network.bound() === undefined;
  if (!isNew) await store.network.bind(config.networkPassphrase);
  const chain = await createChain(options, {
    clock,
    holder,
    onCommit: () => handleNotification(),
    metrics,
    stopping: stopping.signal,
  });
  /** The log has grown, by this gateway's hand or another's. Nothing is committed before `start`, or a turn. */
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
      await chain.findings?.look();
      return chain.head.sequence;
    },
  });
  const onProblem = told(log);
  const history = createHistory({ store, head: chain.head });
  const streams = createEventStreams({ store, history, head: chain.head, clock, onProblem });
  const networkChecked = chain.networkChecked.then(async () => {
    await store.network.bind(config.networkPassphrase);
    // Who does not expect it has named another place, or its disk is not mounted.
    if (isNew) log.info("no gateway has served from this store before", { store: store.location });
  });
  // Whoever awaits it is told; until somebody does, it is no fault of the process.
  networkChecked.catch(() => {});
  const limiter = await openLimiter(options, { clock, holder, onProblem });
  const verifier = createKeyVerifier({ source: keys, clock: storeClock, onProblem });
  await verifier.refresh();
  const maintenance = createMaintenance({ store, clock, log });
  const forget = createRetention({
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
    onUntold: chain.unresolvedSubmissions.add,
  });
  const forgetting = createLoop({
    step: async (signal) => {
      await lookUpOutcomes(signal);
      await forget(signal);
      return FORGET_MS;
    },
    wait: clock.wait,
    onProblem: (cause) => log.warn("what has been kept long enough cannot be forgotten; trying on", { cause }),
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
    isStopping: () => isStopping,
    isDraining: () => isDraining,
  });
  let lookingAfter: ReturnType<typeof setInterval> | undefined;
  let lookingAtStoreClock: ReturnType<typeof setInterval> | undefined;
  let loopDelay: ReturnType<typeof watchLoopDelay> | undefined;

  /** Half of the time at most is for watching. */
  async function turn(boundMs: number): Promise<void> {
    const beganAt = clock.monotonicMs();
    await networkChecked;
    await lookAtStoreClock();
    const looked = chain.contractWatch.look();
    await chain.watcher.pollFor(boundMs / 2);
    await webhooks.turn(boundMs * 0.8 - (clock.monotonicMs() - beganAt));
    await looked;
  }

  return {
    fetch: (request, peer) => app.fetch(request, peer),
    networkChecked,
    start() {
      chain.watcher.start();
      chain.findings?.start();
      void chain.contractWatch.look();
      void chain.unacceptedAssets.look();
      webhooks.start();
      limiter.start();
      verifier.start();
      forgetting.start();
      store.onNotification(handleNotification);
      lookingAfter = setInterval(maintenance.look, LOOK_AFTER_MS);
      lookingAtStoreClock = setInterval(lookAtStoreClock, STORE_CLOCK_MS);
      loopDelay = watchLoopDelay(metrics.eventLoopDelayed);
    },
    turn: (boundMs) => turn(boundMs).catch((error) => log.error("a turn has failed; the next tries again", { error })),
    async tidy(boundMs) {
      const timeIsUp = AbortSignal.timeout(boundMs);
      // Half of the time at most: what a slow node leaves unknown must not keep the store growing.
      const half = AbortSignal.timeout(boundMs / 2);
      await lookUpOutcomes(half).then(() => forget(timeIsUp))
        .catch((cause) => log.warn("what has been kept long enough cannot be forgotten", { cause }));
    },
    async lookAround() {
      await Promise.all([chain.findings?.look(), chain.watcher.refresh(), lookAtStoreClock()]);
    },
    async flush() {
      await Promise.all([limiter.flush(), verifier.refresh()]);
    },
    drain() {
      isDraining = true;
      streams.drain();
    },
    get requestsInFlight() {
      return metrics.requests.inFlight;
    },
    async stop() {
      isDraining = true;
      isStopping = true;
      clearInterval(lookingAfter);
      clearInterval(lookingAtStoreClock);
      loopDelay?.stop();
      stopping.abort();
      const allEnded = await stopInOrder([
        { name: "live streams", stop: streams.stop, boundMs: 5_000 },
        { name: "looks at what other gateways saw", stop: async () => await chain.findings?.stop(), boundMs: 3_000 },
        { name: "the watcher's turns", stop: chain.watcher.stop, boundMs: 5_000 },
        { name: "what is being forgotten", stop: forgetting.stop, boundMs: 5_000 },
        { name: "deliveries", stop: webhooks.stop, boundMs: 15_000 },
        { name: "the keys' last uses", stop: verifier.stop, boundMs: 3_000 },
        { name: "rate limits", stop: limiter.stop, boundMs: 5_000 },
      ], { wait: clock.wait, onProblem });
      if (maintenance.isStoreGone()) log.error("what was written since the store's file was lost is lost");
      return allEnded && !maintenance.isStoreGone();
    },
  };
}

/** Where one gateway has the store for itself it counts in memory, else all count in the store. */
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

function told(log: Log): (message: string, cause?: unknown) => void {
  return (message, cause) => log.warn(message, { cause });
}
