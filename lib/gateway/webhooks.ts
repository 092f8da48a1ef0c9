import { ConfigError } from "../config.ts";
import { endOfLedger } from "../events/position.ts";
import { publicEvent } from "../events/public_event.ts";
import { randomBase62 } from "../keys/base62.ts";
import { sleep } from "../stellar/clock.ts";
import { createPoster } from "../webhooks/post.ts";
import { sealSecrets } from "../webhooks/reseal.ts";
import { createResolver, keepBriefly } from "../webhooks/resolve.ts";
import { createSecretBox, type SecretBox, SecretsKeyError } from "../webhooks/secrets.ts";
import { createTargetPolicy } from "../webhooks/targets.ts";
import { createWebhooks, type Webhooks } from "../webhooks/webhooks.ts";
import type { Chain } from "./chain.ts";
import type { GatewayOptions } from "./options.ts";

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

  /** Before the first answer of a node nobody knows which ledgers are past: then it is asked. */
  async function tip(): Promise<{ epoch: number; sequence: number }> {
    const { rpc, tip } = chain();
    if (tip.sequence === 0) await rpc.getLatestLedger();
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
