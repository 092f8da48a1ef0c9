import { systemClock, type Wait } from "../lib/clock.ts";
import { randomBase62, secureRandom } from "../lib/random.ts";
import type { Store } from "../lib/store/store.ts";
import { openStoreClock } from "../lib/store/store_clock.ts";
import type { Replay, StoredConsumer, Subscription } from "../lib/store/webhook.ts";
import { createSecret } from "../lib/webhooks/delivery/signature.ts";
import { publicWebhook } from "../lib/webhooks/public_webhook.ts";
import { beginReplay, planReplay, type ReplayRequest } from "../lib/webhooks/replays.ts";
import { comparedWith } from "../lib/webhooks/secrets/reseal.ts";
import { rotateSecret } from "../lib/webhooks/secrets/rotation.ts";
import { createSecretCipher, type SecretCipher, SecretsKeyError } from "../lib/webhooks/secrets/secrets.ts";
import { CommandError, type CommandIo, OutputError } from "./command.ts";
import { errorRoomOf, roomOf, sentence } from "./terminal/line_width.ts";
import { cut } from "./terminal/text_width.ts";

const CHECK_MS = 500;
/** A gateway starts a replay within a few seconds. A replay without progress for so long has no gateway. */
const STALLED_MS = 10_000;
/** Length of a replay id without its prefix. */
const ID_LENGTH = 22;

export interface ReplayCall {
  store: Store;
  io: CommandIo;
  wait: Wait;
  subscription: Subscription;
  range: ReplayRequest;
  dryRun: boolean;
  json: boolean;
}

/** Starts a replay, or only counts its deliveries. On a terminal it shows the progress. */
export async function replayWebhook(
  { store, io, wait, subscription, range, dryRun, json }: ReplayCall,
): Promise<number> {
  const plan = await planReplay(store, subscription, range);
  if (dryRun) {
    if (json) io.stdout(JSON.stringify({ id: null, deliveries: plan.deliveries, atLeast: plan.atLeast }) + "\n");
    else {
      io.stdout(sentence(`a replay would make ${counted(plan)} to ${subscription.url}`, roomOf(io)));
    }
    return 0;
  }
  const id = `rp_${randomBase62(ID_LENGTH, secureRandom)}`;
  const replay = await beginReplay(store, subscription.id, plan, { id, nowMs: io.now() });
  if (json) {
    io.stdout(JSON.stringify({ id, deliveries: plan.deliveries, atLeast: plan.atLeast }) + "\n");
    return 0;
  }
  if (plan.deliveries === 0 && plan.endSequence !== null) {
    io.stdout("there is nothing to replay in these ledgers\n");
    return 0;
  }
  const started = `replay ${id} of ${subscription.id} started: ${counted(plan)}`;
  io.stdout(sentence(`${started} by the gateway that serves this store`, roomOf(io)));
  if (io.isTerminal) await watch(store, replay, { io, wait, line: progressLine(io) });
  return 0;
}

/** Shows the progress of a replay until it ends or stalls. */
async function watch(
  store: Store,
  replay: Replay,
  { io, wait, line }: { io: CommandIo; wait: Wait; line: ProgressLine },
): Promise<void> {
  let { cursor } = replay;
  for (let stillMs = 0; stillMs < STALLED_MS; stillMs += CHECK_MS) {
    const now = (await store.deliveries.consumer(replay.subscriptionId))?.replay;
    if (now?.id !== replay.id) {
      line.clear();
      io.stdout(sentence(`the replay has ended; see gateway webhooks deliveries ${replay.subscriptionId}`, roomOf(io)));
      return;
    }
    if (now.cursor !== cursor) stillMs = 0;
    cursor = now.cursor;
    const end = now.endSequence ?? (await store.events.bounds()).last;
    const percent = end <= replay.cursor ? 100 : Math.floor((100 * (cursor - replay.cursor)) / (end - replay.cursor));
    line.show(`${percent} % of the events done; the replay continues after Ctrl-C`);
    await wait(CHECK_MS);
  }
  line.clear();
  const stalled = "no progress: either no gateway serves this store, or the endpoint does not answer";
  io.stdout(sentence(`${stalled}; the replay continues by itself`, roomOf(io)));
}

interface ProgressLine {
  show(text: string): void;
  clear(): void;
}

/** One line on a terminal that the next one overwrites. Nothing elsewhere. */
function progressLine(io: CommandIo): ProgressLine {
  let isShown = false;
  return {
    show(text) {
      if (!io.isErrorTerminal) return;
      isShown = true;
      // A wrapped line could not be overwritten.
      io.stderr(`\r\x1b[K${cut(text, errorRoomOf(io) - 1)}`);
    },
    clear() {
      if (isShown) io.stderr("\r\x1b[K");
      isShown = false;
    },
  };
}

function counted({ deliveries, atLeast }: { deliveries: number; atLeast: boolean }): string {
  if (atLeast) return `at least ${deliveries} deliveries`;
  return deliveries === 1 ? "1 delivery" : `${deliveries} deliveries`;
}

const SETTING = "SERVICE_API_SECRETS_KEY";

export interface RotateCall {
  store: Store;
  io: CommandIo;
  wait: Wait;
  consumer: StoredConsumer;
  json: boolean;
}

/** Gives a webhook a new secret beside a running gateway, and prints it once. */
export async function rotateWebhook({ store, io, wait, consumer, json }: RotateCall): Promise<number> {
  const { subscription, progress } = consumer;
  const { id } = subscription;
  if (io.isOutputUnread) {
    throw new CommandError("standard output is closed, so the secret was not rotated");
  }
  const secrets = await cipherOf(store, io);
  // The gateways of this store end the old secret by this clock.
  const { clock } = await openStoreClock(store, { ...systemClock, now: io.now });
  const parts = { store, secrets, createSecret: () => createSecret(secureRandom), now: clock.now, wait };
  const rotated = await rotateSecret(parts, subscription);
  if (rotated === undefined) {
    throw new CommandError(`${id} is deleted, or another command has just rotated its secret: try again`);
  }
  const { plainSecret: secret } = rotated;
  const webhook = publicWebhook(rotated, progress);
  try {
    io.stdout(json ? JSON.stringify({ ...webhook, secret }) + "\n" : `${secret}\n`);
  } catch (error) {
    if (!(error instanceof OutputError)) throw error;
    throw new CommandError(
      `${error.message}, so the new secret of ${id} is not shown: rotate again before ${webhook.previousSecretUntil}, ` +
        "when the old secret ends",
    );
  }
  if (!json) {
    const shown = `The new secret of ${id} in ${store.location}. Copy it now. It signs from now on.`;
    io.stderr(sentence(`${shown} The old secret signs too until ${webhook.previousSecretUntil}.`, errorRoomOf(io)));
  }
  return 0;
}

/** The cipher of the store's secrets. A secret under another key would stop the deliveries. */
async function cipherOf(store: Store, { env }: CommandIo): Promise<SecretCipher> {
  // An empty variable counts as not set.
  const cipher = createSecretCipher(env[SETTING] || undefined);
  if (await comparedWith(store, cipher) === "same") return cipher;
  throw new SecretsKeyError(
    `${SETTING} is set, but the store holds unencrypted secrets: start the gateway with it first, or unset it`,
  );
}
