import type { Clock } from "../clock.ts";
import { ConfigError } from "../config.ts";
import { GatewayError } from "../errors.ts";
import type { PollResult } from "../events/polling.ts";
import { hasExpired } from "../keys/api_key.ts";
import type { GatewayMetrics } from "./gateway_metrics.ts";
import { randomBase62, secureRandom } from "../random.ts";
import type { Store } from "../store/store.ts";
import { heightAfter } from "../store/watcher_state.ts";
import { createPoster } from "../webhooks/post/post.ts";
import { sealSecrets } from "../webhooks/secrets/reseal.ts";
import { createSecretCipher, type SecretCipher, SecretsKeyError } from "../webhooks/secrets/secrets.ts";
import { createResolver, keepBriefly } from "../webhooks/targets/dns.ts";
import { createTargetPolicy } from "../webhooks/targets/policy.ts";
import { createWebhooks, type Webhooks } from "../webhooks/webhooks.ts";
import type { GatewayOptions } from "./options.ts";

/** How long the creation of a webhook waits for the node. */
const WATCH_MS = 3_000;
/** Interval between checks of the leader's progress. */
const LOOK_MS = 100;

export interface WebhooksWiring {
  clock: Clock;
  metrics: GatewayMetrics;
  /** Makes the watcher poll the node once, or for about so long; joins a running poll. Never rejects. */
  watch(boundMs: number): Promise<Pick<PollResult, "isFollower">>;
  /** The latest ledger of this gateway and the others on the store. */
  seenLedger(): Promise<number>;
}

/**
 * Creates the webhooks of a gateway.
 * @throws {ConfigError} when the secrets key is missing or wrong
 */
export async function createGatewayWebhooks(
  options: GatewayOptions,
  { clock, metrics, watch, seenLedger }: WebhooksWiring,
): Promise<Webhooks> {
  const { store, keys, log, targets = {} } = options;
  const policy = createTargetPolicy({
    resolve: targets.resolve ?? keepBriefly({ resolve: createResolver(), now: clock.monotonicMs }),
    allowLoopbackHttp: targets.allowLoopbackHttp,
  });

  async function isKeyEnabled(keyId: string): Promise<boolean> {
    const record = await keys.get(keyId);
    return record !== undefined && !record.disabled && record.scopes.includes("webhooks") &&
      !hasExpired(record, clock.now());
  }

  return createWebhooks({
    store,
    targets: policy,
    poster: targets.poster ?? createPoster({ policy, now: clock.monotonicMs, ca: targets.ca }),
    secrets: await openSecrets(options),
    isKeyEnabled,
    isKeyThere: async (keyId) => await keys.get(keyId) !== undefined,
    startHeight: () => heightAfterTip(store, { clock, watch, seenLedger }),
    randomBytes: secureRandom,
    randomText: (length) => randomBase62(length, secureRandom),
    clock,
    onAttempt: metrics.deliveryAttempted,
    onProblem: (message, cause) => log.warn(message, { cause }),
    workerLimits: options.workerLimits,
  });
}

/**
 * A new webhook gets the ledgers after the end of the log. The gateway polls first, or waits for the leader, so that transactions
 * confirmed before the creation come before this ledger.
 */
async function heightAfterTip(
  store: Store,
  { clock, watch, seenLedger }: Pick<WebhooksWiring, "clock" | "watch" | "seenLedger">,
): Promise<number> {
  const endsAtMs = clock.monotonicMs() + WATCH_MS;
  const timeIsUp = new AbortController();
  const polled = await Promise.race([watch(0), clock.wait(WATCH_MS, timeIsUp.signal)]);
  timeIsUp.abort();
  const awaited = polled?.isFollower ? await seenLedger() : 0;
  while (true) {
    const state = await store.events.watcherState();
    const tip = Math.max(state?.latestLedger ?? 0, state?.scannedLedger ?? 0);
    if (tip < awaited && clock.monotonicMs() < endsAtMs) await clock.wait(LOOK_MS);
    else if (state !== undefined) return heightAfter(state);
    else {throw new GatewayError(
        "upstream_error",
        "the RPC node has not answered yet, so the latest ledger is unknown; retry later",
      );}
  }
}

/** The cipher for the store's secrets. With a new key it also encrypts secrets that are still plain. */
async function openSecrets({ config, store, log }: GatewayOptions): Promise<SecretCipher> {
  try {
    const cipher = createSecretCipher(config.secretsKey);
    const sealed = await sealSecrets(store, cipher);
    if (sealed > 0) log.info("plain webhook secrets are encrypted now", { secrets: sealed });
    return cipher;
  } catch (error) {
    if (!(error instanceof SecretsKeyError)) throw error;
    throw new ConfigError(error.message);
  }
}
