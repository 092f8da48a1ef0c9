import { createChain } from "./chain.ts";
import { createHttp } from "./http.ts";
import { watchLoopDelay } from "../metrics/loop_delay.ts";
import { createGatewayMetrics } from "../metrics/gateway_metrics.ts";
import { observedStore } from "./observed_store.ts";
import type { GatewayOptions } from "./options.ts";
import { stopInTurn } from "./stop_steps.ts";
import { createGatewayWebhooks } from "./webhooks.ts";
import { createKeyVerifier } from "../keys/verifier.ts";
import { createLimiter } from "../limits/limiter.ts";
import type { Log } from "../log.ts";
import type { Peer } from "../runtime/serve.ts";
import { monotonicNow as monotonicClock, sleep } from "../clock.ts";

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

const PRUNE_INTERVAL_MS = 3_600_000;
/** Longer than an envelope can be valid and than any node remembers it. */
const SUBMISSION_KEPT_MS = 30 * 86_400_000;

/**
 * Puts the gateway together on a store it holds for itself.
 * @throws {StoreError} `locked` when another gateway serves this store, `network_mismatch` when it belongs to another network
 * @throws {ConfigError} when the secrets key is wrong
 */
export async function createGateway(given: GatewayOptions): Promise<Gateway> {
  const { config, keys, log, now = Date.now, monotonicNow = monotonicClock, wait = sleep } = given;
  const metrics = createGatewayMetrics({ now });
  const store = observedStore(given.store, metrics);
  const options = { ...given, store };
  const stopping = new AbortController();
  await store.holdForServing();
  // A store that is bound already tells at once whether it is this network's; a new one is bound only when no node has
  // contradicted the settings: a forgotten passphrase must not spoil it.
  if (await store.network.bound() !== undefined) await store.network.bind(config.networkPassphrase);
  const webhooks = await createGatewayWebhooks(options, () => chain);
  const chain = await createChain(options, { onCommit: webhooks.wake, metrics, stopping: stopping.signal });
  const networkChecked = chain.networkChecked.then(() => store.network.bind(config.networkPassphrase));
  // Whoever awaits it is told; until somebody does, it is no fault of the process.
  networkChecked.catch(() => {});
  const limiter = createLimiter({ store, now, monotonicNow, defaultRate: config.defaultRate, onProblem: told(log) });
  await limiter.load();
  const verifier = createKeyVerifier({ source: keys, now, onProblem: told(log) });
  await verifier.refresh();
  let isStopping = false;
  let isDraining = false;
  const app = createHttp(options, chain, {
    limiter,
    verifier,
    webhooks,
    metrics,
    isStopping: () => isStopping,
    isDraining: () => isDraining,
  });
  const prune = () =>
    store.submissions.prune(now() - SUBMISSION_KEPT_MS)
      .catch((error) => log.warn("old submissions could not be pruned", { error }));
  let timer: ReturnType<typeof setInterval> | undefined;
  let loopDelay: ReturnType<typeof watchLoopDelay> | undefined;

  /** Half of the time at most is for watching, a fifth for posts to end. */
  async function turn(boundMs: number): Promise<void> {
    const beganAtMs = now();
    await networkChecked;
    const looked = chain.contractWatch.look();
    while (now() < beganAtMs + boundMs / 2 && (await chain.watcher.turn()).outcome === "behind");
    await webhooks.turn({ untilMs: beganAtMs + boundMs * 0.8, drainMs: boundMs / 5 });
    await looked;
  }

  return {
    fetch: (request, peer) => app.fetch(request, peer),
    networkChecked,
    start() {
      chain.watcher.start();
      void chain.contractWatch.look();
      webhooks.start();
      limiter.start();
      verifier.start();
      timer = setInterval(prune, PRUNE_INTERVAL_MS);
      loopDelay = watchLoopDelay(metrics.eventLoopDelayed);
    },
    turn: (boundMs) => turn(boundMs).catch((error) => log.error("a turn has failed; the next tries again", { error })),
    async tidy(boundMs) {
      await prune();
      await webhooks.tidy(AbortSignal.timeout(boundMs));
    },
    async flush() {
      await Promise.all([limiter.flush(), verifier.refresh()]);
    },
    drain() {
      isDraining = true;
    },
    get requestsInFlight() {
      return metrics.requestsInFlight;
    },
    stop() {
      isDraining = true;
      isStopping = true;
      clearInterval(timer);
      loopDelay?.stop();
      stopping.abort();
      return stopInTurn([
        { name: "the watcher's turns", stop: chain.watcher.stop, boundMs: 5_000 },
        { name: "deliveries", stop: webhooks.stop, boundMs: 15_000 },
        { name: "the keys' last uses", stop: verifier.stop, boundMs: 3_000 },
        { name: "rate limits", stop: limiter.stop, boundMs: 5_000 },
      ], { wait, onProblem: told(log) });
    },
  };
}

function told(log: Log): (message: string, cause?: unknown) => void {
  return (message, cause) => log.warn(message, { cause });
}
