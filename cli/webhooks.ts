import { sleep } from "../lib/clock.ts";
import type { Store } from "../lib/store/store.ts";
import type { StoredConsumer } from "../lib/store/webhook.ts";
import { MAX_UINT32 } from "../lib/ledger_numbers.ts";
import { backlogOf } from "../lib/webhooks/backlog.ts";
import { type Command, CommandError, type CommandIo, type Flags, integerFlag, UsageError } from "./command.ts";
import { helpText, jsonRow, STORE_ROW, YES_ROW } from "./help.ts";
import { tablePrinter } from "./terminal/table.ts";
import { confirmDeletion, parseNounCommand, refuseWholeKey } from "./noun_command.ts";
import { withStore } from "./store_setting.ts";
import { replayWebhook, rotateWebhook } from "./webhook_changes.ts";
import { printAttempts, printFailed, stateFlag, WEBHOOK_COLUMNS, webhookJson } from "./webhook_lists.ts";

const FLAGS = [
  ["--key ID", "Only the webhooks of this API key", ["list"]],
  [
    "--state STATE",
    "Show the failed deliveries in this state, with their last answer: rejected, dead or retrying",
    ["deliveries"],
  ],
  ["--limit N", "Largest number of attempts or deliveries (default 50)", ["deliveries"]],
  ["--from-ledger N", "First ledger of a replay", ["replay"]],
  ["--to-ledger N", "Last ledger of a replay (default: the newest stored one)", ["replay"]],
  ["--dry-run", "Only count the deliveries of a replay", ["replay"]],
  STORE_ROW,
  YES_ROW,
  jsonRow(
    "the fields of the HTTP API, for replay id, deliveries and atLeast, for delete id and deleted",
    "webhook, attempt or delivery",
  ),
] as const;

const help = helpText({
  usage: [
    "webhooks list [--key ID] [--json]",
    "webhooks deliveries ID [--state STATE] [--limit N] [--json]",
    "webhooks replay ID --from-ledger N [--to-ledger N] [--dry-run] [--json]",
    "webhooks rotate ID [--json]",
    "webhooks delete ID [--yes] [--json]",
  ],
  about: "Lists and changes the webhooks of all API keys, beside a running gateway. ID is the id of a webhook (wh_…).",
  lists: {
    Commands: [
      ["list", "List all webhooks with the number of their pending deliveries"],
      ["deliveries", "List the attempts to deliver, newest first, or with --state the failed deliveries"],
      ["replay", "Deliver the events of these ledgers again, by the gateway that serves the store"],
      ["rotate", "Create a new secret and print it once; the old one signs too for 24 hours"],
      ["delete", "Delete a webhook and its pending deliveries"],
    ],
  },
  flags: FLAGS,
  environment: [["SERVICE_API_SECRETS_KEY", "For rotate: the key that encrypts the secrets in the store"]],
  notes: "When standard output is not a terminal, list and deliveries separate their columns by tabs.",
  examples: [
    "gateway webhooks list",
    "gateway webhooks deliveries wh_0Xk2p9Qd --limit 10",
    "gateway webhooks deliveries wh_0Xk2p9Qd --state rejected",
    "gateway webhooks replay wh_0Xk2p9Qd --from-ledger 52000000 --dry-run",
    "gateway webhooks list --json | jq 'select(.dead + .rejected > 0)'",
  ],
});

/** Webhooks per page of a list. No more are in memory at once. */
const PAGE_SIZE = 1_000;

interface Call {
  store: Store;
  io: CommandIo;
  flags: Flags<typeof FLAGS>;
  id: string;
}

const ACTIONS = { list, deliveries, replay, rotate, delete: remove } as const;
const NAMES = Object.keys(ACTIONS) as (keyof typeof ACTIONS)[];

export const command: Command = {
  help,
  actions: NAMES,
  run,
};

async function run(args: string[], io: CommandIo): Promise<number> {
  const webhooks = { name: "webhooks", noun: "a webhook", actions: NAMES, flags: FLAGS };
  const { action, id, flags } = parseNounCommand(webhooks, args, io);
  refuseWholeKey([flags.key]);
  if (action === "replay" && flags["from-ledger"] === undefined) {
    throw new UsageError("--from-ledger is missing: pass the first ledger of the replay");
  }
  stateFlag(flags.state);
  return await withStore(flags.store, io, (store) => ACTIONS[action]({ store, io, flags, id }));
}

async function list({ store, io, flags: { key, json } }: Call): Promise<number> {
  const print = tablePrinter(io, WEBHOOK_COLUMNS);
  let after: string | undefined;
  while (true) {
    const page = await store.subscriptions.list({ keyId: key, after, limit: PAGE_SIZE });
    const { last } = await store.events.bounds();
    if (after === undefined) {
      if (page.length === 0 && key !== undefined) await refuseUnknownKey(store, key, io);
      if (!json) io.stderr(`webhooks in ${store.location}\n`);
    }
    for (const { id } of page) {
      const consumer = await store.deliveries.consumer(id);
      if (consumer === undefined) continue;
      const backlog = await backlogOf(store, consumer, last);
      if (json) io.stdout(webhookJson({ consumer, backlog }));
      else print([{ consumer, backlog }]);
    }
    if (page.length > 0) after = page.at(-1)!.id;
    if (page.length < PAGE_SIZE) break;
  }
  if (after === undefined && !json) {
    io.stderr("no webhooks; applications create them with POST /v1/webhooks\n");
  }
  return 0;
}

/** Refuses a key that does not exist. Keys outside the store are not checked. */
async function refuseUnknownKey(store: Store, key: string, { env }: CommandIo): Promise<void> {
  if (env.SERVICE_API_KEYS || env.SERVICE_API_KEYS_FILE || await store.keys.get(key) !== undefined) return;
  throw new CommandError(`there is no key ${JSON.stringify(key)} in ${store.location}, and no webhook of one`);
}

async function deliveries({ store, io, flags: { state, limit = "50", json }, id }: Call): Promise<number> {
  const most = integerFlag("--limit", limit, { min: 1, max: 1_000_000 });
  if (await store.subscriptions.get(id) === undefined) throw unknown(store, id);
  const call = { store, io, id, most, json: json === true };
  const failed = stateFlag(state);
  await (failed === undefined ? printAttempts(call) : printFailed(call, failed));
  return 0;
}

/** Bounds of a ledger sequence. */
const LEDGERS = { min: 1, max: MAX_UINT32 };

async function replay({ store, io, flags, id }: Call): Promise<number> {
  const to = flags["to-ledger"];
  const range = {
    fromLedger: integerFlag("--from-ledger", flags["from-ledger"]!, LEDGERS),
    ...(to === undefined ? {} : { toLedger: integerFlag("--to-ledger", to, LEDGERS) }),
  };
  if (range.toLedger !== undefined && range.toLedger < range.fromLedger) {
    throw new UsageError(`--to-ledger must not be before --from-ledger ${range.fromLedger}; got ${range.toLedger}`);
  }
  const { subscription } = await consumerOf(store, id);
  const how = { dryRun: flags["dry-run"] === true, json: flags.json === true };
  return await replayWebhook({ store, io, wait: sleep, subscription, range, ...how });
}

async function rotate({ store, io, flags, id }: Call): Promise<number> {
  const consumer = await consumerOf(store, id);
  return await rotateWebhook({ store, io, wait: sleep, consumer, json: flags.json === true });
}

async function remove({ store, io, flags: { yes, json }, id }: Call): Promise<number> {
  const consumer = await consumerOf(store, id);
  const { pending } = await backlogOf(store, consumer, (await store.events.bounds()).last);
  if (!yes) {
    const owed = pending === 0 ? "" : ` and its ${pending} pending deliveries`;
    await confirmDeletion(io, `${id} (${consumer.subscription.url})${owed}`);
  }
  if (!await store.subscriptions.delete(id)) throw unknown(store, id);
  if (json) io.stdout(JSON.stringify({ id, deleted: true }) + "\n");
  else io.stdout(`deleted ${id} from ${store.location}\n`);
  return 0;
}

async function consumerOf(store: Store, id: string): Promise<StoredConsumer> {
  const consumer = await store.deliveries.consumer(id);
  if (consumer === undefined) throw unknown(store, id);
  return consumer;
}

function unknown(store: Store, id: string): CommandError {
  return new CommandError(`there is no webhook ${JSON.stringify(id)} in ${store.location}`);
}
