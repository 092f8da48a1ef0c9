import { systemClock, type Wait } from "../lib/clock.ts";
import type { Store } from "../lib/store/store.ts";
import { openStoreClock } from "../lib/store/store_clock.ts";
import type { Reader } from "../lib/store/webhook.ts";
import { publicWebhook } from "../lib/webhooks/public_webhook.ts";
import { comparedWith } from "../lib/webhooks/secrets/reseal.ts";
import { rotateSecret } from "../lib/webhooks/secrets/rotation.ts";
import { createSecretCipher, type SecretCipher, SecretsKeyError } from "../lib/webhooks/secrets/secrets.ts";
import { createSecret } from "../lib/webhooks/delivery/signature.ts";
import { secureRandom } from "../lib/random.ts";
import { CommandError, type CommandIo, OutputError } from "./command.ts";
import { errorRoomOf, sentence } from "./terminal/line_width.ts";

const SETTING = "SERVICE_API_SECRETS_KEY";

export interface RotateCall {
  store: Store;
  io: CommandIo;
  wait: Wait;
  reader: Reader;
  json: boolean;
}

/** Gives a webhook a new secret, beside a running gateway, and prints it, this once. */
export async function rotateWebhook({ store, io, wait, reader, json }: RotateCall): Promise<number> {
  const { subscription, progress } = reader;
  const { id } = subscription;
  if (io.isOutputUnread) {
    throw new CommandError("standard output is closed: nobody would see the new secret, so the old one stays");
  }
  const secrets = await cipherOf(store, io);
  // The time by which the store's gateways end the former secret.
  const { clock } = await openStoreClock(store, { ...systemClock, now: io.now });
  const parts = { store, secrets, createSecret: () => createSecret(secureRandom), now: clock.now, wait };
  const rotated = await rotateSecret(parts, subscription);
  if (rotated === undefined) {
    throw new CommandError(`${id} is gone, or its secret was changed by somebody else just now: try again`);
  }
  const { plainSecret: secret } = rotated;
  const webhook = publicWebhook(rotated, progress);
  try {
    io.stdout(json ? JSON.stringify({ ...webhook, secret }) + "\n" : `${secret}\n`);
  } catch (error) {
    if (!(error instanceof OutputError)) throw error;
    throw new CommandError(
      `${error.message}, so nobody has seen the new secret of ${id}: make another; the one before signs too until ` +
        webhook.previousSecretUntil,
    );
  }
  if (!json) {
    const shown = `The new secret of ${id} in ${store.location}, shown this once. It signs from now on;`;
    io.stderr(sentence(`${shown} the one before signs too until ${webhook.previousSecretUntil}.`, errorRoomOf(io)));
  }
  return 0;
}

/** Keeps the new secret as the gateway keeps all of them: what it could not open would stop its deliveries. */
async function cipherOf(store: Store, { env }: CommandIo): Promise<SecretCipher> {
  // An empty variable is one that is not set, as everywhere.
  const cipher = createSecretCipher(env[SETTING] || undefined);
  if (await comparedWith(store, cipher) === "same") return cipher;
  throw new SecretsKeyError(
    `${SETTING} is set, but the webhook secrets in the store are plain: start the gateway with it first, or unset it`,
  );
}
