import { rekeySecrets } from "../lib/webhooks/secrets/reseal.ts";
import { createSecretCipher, type SecretCipher, SecretsKeyError } from "../lib/webhooks/secrets/secrets.ts";
import type { Store } from "../lib/store/store.ts";
import { type Command, type CommandIo, parseFlags, refuseExtra, UsageError } from "./command.ts";
import { helpText, STORE_ROW } from "./help.ts";
import { holdAlone } from "./store_lock.ts";
import { withStore } from "./store_setting.ts";

const OLD = "SERVICE_API_SECRETS_KEY";
const NEW = "SERVICE_API_NEW_SECRETS_KEY";

const FLAGS = [["--off", "Store the secrets unencrypted from now on, without a new key"], STORE_ROW] as const;

const help = helpText({
  usage: ["secrets rekey [--off] [--store SETTING]"],
  about:
    "Changes the key that encrypts the signing secrets of webhooks in the store. Stop the gateway first, and start it " +
    "afterwards with the new key. The secrets themselves stay, so receivers need no change.\n\n" +
    "Save the new key before you begin. The command does not print it, and without it the secrets are lost. After an " +
    "interruption run the same command again.",
  flags: FLAGS,
  environment: [
    [OLD, "The present key; not set when the secrets are unencrypted"],
    [NEW, "The new key: 32 bytes in base64 or hex"],
  ],
  examples: [
    `openssl rand -base64 32 > key && ${NEW}=$(cat key) gateway secrets rekey`,
    "gateway secrets rekey --off --store sqlite:/var/lib/gateway/gateway.db",
  ],
});

export const command: Command = {
  help,
  actions: ["rekey"],
  run,
};

async function run(args: string[], io: CommandIo): Promise<number> {
  const { flags, positionals: [action, ...rest] } = parseFlags(args, FLAGS);
  if (action !== "rekey") {
    throw new UsageError(`expected rekey; got ${action === undefined ? "nothing" : JSON.stringify(action)}`);
  }
  refuseExtra(rest, "secrets rekey");
  // An empty variable counts as not set.
  const [oldKey, newKey] = [io.env[OLD] || undefined, io.env[NEW] || undefined];
  if (flags.off && newKey !== undefined) throw new UsageError(`--off and ${NEW} exclude each other`);
  if (!flags.off && newKey === undefined) {
    throw new UsageError(`${NEW} is not set: set it to the new key, or store the secrets unencrypted with --off`);
  }
  const change = { from: createSecretCipher(oldKey), to: cipherOf(newKey) };
  return await withStore(flags.store, io, (store) => rekey(store, io, change));
}

async function rekey(store: Store, io: CommandIo, change: { from: SecretCipher; to: SecretCipher }): Promise<number> {
  const release = await holdAlone(store, { why: " with the old key" });
  const onProgress = (count: number) => io.isErrorTerminal && io.stderr(`\r\x1b[K${count} webhooks`);
  const count = await rekeySecrets(store, { ...change, onProgress }).finally(release);
  if (io.isErrorTerminal) io.stderr("\r\x1b[K");
  const start = change.to.seals ? `start the gateway with it in ${OLD}` : `start the gateway without ${OLD}`;
  io.stdout(`${outcome(count, store.location, change.to.seals)}: ${start}\n`);
  return 0;
}

function outcome(count: number | undefined, location: string, isSealed: boolean): string {
  if (count === undefined) {
    return `the secrets of webhooks in ${location} are already ${isSealed ? "encrypted with this key" : "unencrypted"}`;
  }
  const webhooks = count === 1 ? "webhook" : "webhooks";
  return `the secrets of ${count} ${webhooks} in ${location} are ${
    isSealed ? "encrypted with the new key" : "unencrypted"
  }`;
}

/** The cipher of the new key. Its errors name the variable of the new key. */
function cipherOf(newKey: string | undefined): SecretCipher {
  try {
    return createSecretCipher(newKey);
  } catch (error) {
    if (!(error instanceof SecretsKeyError)) throw error;
    throw new SecretsKeyError(error.message.replaceAll(OLD, NEW));
  }
}
