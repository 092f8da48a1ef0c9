import { ConfigError } from "../config.ts";
import { endOfLedger } from "../events/position.ts";
import { publicEvent } from "../events/public_event.ts";
import { randomBase62 } from "../random.ts";
import { sleep } from "../clock.ts";
import { createPoster } from "../webhooks/post/post.ts";
import { sealSecrets } from "../webhooks/secrets/reseal.ts";
import { createResolver, keepBriefly } from "../webhooks/targets/dns.ts";
import { createSecretBox, type SecretBox, SecretsKeyError } from "../webhooks/secrets/secrets.ts";
import { createTargetPolicy } from "../webhooks/targets/policy.ts";
import { createWebhooks, type Webhooks } from "../webhooks/webhooks.ts";
import type { Chain } from "./chain.ts";
import type { GatewayOptions } from "./options.ts";

/** Longer than two ledgers of a network take. */
const STALE_TIP_MS = 15_000;

const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));

/**
 * Puts the webhooks of a gateway together. `chain` is asked for only once both are there.
 * @throws {ConfigError} when the secrets key is missing or wrong
 */
export async function createGatewayWebhooks(options: GatewayOptions, chain: () => Chain): Promise<Webhooks> {
  const { config, store, keys, log, now = Date.now, wait = sleep, targets = {} } = options;
  const policy = createTargetPolicy({
    resolve: targets.resolve ?? keepBriefly({ resolve: createResolver(), now }),
    allowLoopbackHttp: targets.allowLoopbackHttp,
  });

  async function isKeyEnabled(keyId: string): Promise<boolean> {
    const record = await keys.get(keyId);
    return record !== undefined && !record.disabled &&
      (record.expiresAt === undefined || now() < Date.parse(record.expiresAt));
  }

  /** Which ledgers are past is known from what the node said lately; where nothing polls it, it is asked. */
  async function tip(): Promise<{ epoch: number; sequence: number }> {
    const { rpc, tip } = chain();
    if (now() - tip.closeTime * 1000 > STALE_TIP_MS) {
      await rpc.getLatestLedger().catch((error) => {
        if (tip.sequence === 0) throw error;
        log.warn("the newest ledger cannot be asked for: a webhook may hear ledgers from before its creation", {
          error,
        });
      });
    }
    return { epoch: tip.epoch, sequence: tip.sequence };
  }

  return createWebhooks({
    store,
    targets: policy,
    poster: createPoster({ policy, now, ca: targets.ca }),
    secrets: await openSecrets(options),
    isKeyEnabled,
    tip,
    endOfLedger,
    publicEvent,
    randomBytes: random,
    randomText: (length) => randomBase62(length, random),
    historyDays: config.retentionDays,
    attemptDays: config.attemptRetentionDays,
    now,
    wait,
    onProblem: (message, cause) => log.warn(message, { cause }),
    courierLimits: options.courierLimits,
  });
}

/** The box that opens the store's secrets; with a new key it seals those that are still plain. */
async function openSecrets({ config, store, log }: GatewayOptions): Promise<SecretBox> {
  try {
    const box = createSecretBox(config.secretsKey);
    const sealed = await sealSecrets(store, box);
    if (sealed > 0) log.info("webhook secrets that were kept plain are sealed now", { secrets: sealed });
    return box;
  } catch (error) {
    if (!(error instanceof SecretsKeyError)) throw error;
    throw new ConfigError(error.message);
  }
}
