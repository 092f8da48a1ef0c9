import { hasExpired } from "../lib/keys/api_key.ts";
import type { KeyLocation } from "../lib/keys/keys_file.ts";
import type { KeyRecord } from "../lib/store/store.ts";
import { visible } from "../lib/visible_text.ts";
import { type Command, CommandError, type CommandIo } from "./command.ts";
import { helpText, jsonRow, KEY_PLACE_ROWS, YES_ROW } from "./help.ts";
import { type KeyWebhooks, webhooksOfKey, withKeyLocation } from "./key_location.ts";
import { confirmDeletion, parseNounCommand } from "./noun_command.ts";
import { type Column, tablePrinter } from "./terminal/table.ts";

const FLAGS = [
  ...KEY_PLACE_ROWS,
  YES_ROW,
  jsonRow("id, name, scopes, rate, disabled, createdAt, expiresAt, lastUsedAt", "key"),
] as const;

const help = helpText({
  usage: [
    "keys list [--json]",
    "keys show ID [--json]",
    "keys enable ID [--json]",
    "keys disable ID [--json]",
    "keys delete ID [--yes] [--json]",
  ],
  about:
    "Lists and changes API keys. A running gateway applies a change within a second. ID is the part of a key between " +
    "service_sk_ and the next _.",
  lists: {
    Commands: [
      ["list", "List all keys"],
      ["show", "Show one key in full"],
      [
        "enable",
        "Accept a disabled key again; its webhooks get their pending deliveries. An expired key stays refused",
      ],
      ["disable", "Refuse a key; its webhooks' deliveries wait until it is enabled"],
      ["delete", "Delete a key, its webhooks and their pending deliveries"],
    ],
  },
  flags: FLAGS,
  notes: "When standard output is not a terminal, list separates its columns by tabs: id, name, scopes, rate, state, " +
    "created, expires, last used.",
  examples: [
    "gateway keys list",
    "gateway keys disable 4fJ2kQ9xTz",
    "gateway keys list --json | jq -r 'select(.lastUsedAt == null) | .id'",
  ],
});

/** The columns of a list of keys, as of this time (Unix ms). */
export function keyColumns(nowMs: number): Column<KeyRecord>[] {
  return [
    { heading: "ID", width: 10, text: ({ id }) => id },
    { heading: "NAME", width: 24, least: 12, text: ({ name }) => name },
    { heading: "SCOPES", width: 19, text: ({ scopes }) => scopes.join(",") },
    { heading: "RATE", width: 7, text: ({ rate }) => rate === undefined ? "default" : String(rate) },
    { heading: "STATE", width: 8, text: (record) => stateOf(record, nowMs) },
    { heading: "CREATED", width: 16, least: 10, goes: 1, text: ({ createdAt }) => createdAt },
    { heading: "EXPIRES", width: 16, least: 10, goes: 2, text: ({ expiresAt = "never" }) => expiresAt },
    { heading: "LAST USED", width: 16, least: 10, text: ({ lastUsedAt = "never" }) => lastUsedAt },
  ];
}

/** Keys per page of a list. No more are in memory at once. */
const PAGE_SIZE = 1_000;

interface Call {
  place: KeyLocation;
  io: CommandIo;
  json: boolean;
  yes: boolean;
}

const ACTIONS = { list, show, enable: toState(false), disable: toState(true), delete: remove } as const;
const NAMES = Object.keys(ACTIONS) as (keyof typeof ACTIONS)[];

export const command: Command = {
  help,
  actions: NAMES,
  run,
};

async function run(args: string[], io: CommandIo): Promise<number> {
  const { action, id, flags } = parseNounCommand(
    { name: "keys", noun: "a key", actions: NAMES, flags: FLAGS },
    args,
    io,
  );
  return await withKeyLocation(flags, io, { mustExist: true }, (place) => {
    const call = { place, io, json: flags.json === true, yes: flags.yes === true };
    return ACTIONS[action](call, id);
  });
}

async function list({ place, io, json }: Call): Promise<number> {
  const print = tablePrinter(io, keyColumns(io.now()));
  let after: string | undefined;
  for (;;) {
    const page = await place.keys.list({ after, limit: PAGE_SIZE });
    if (after === undefined && !json) io.stderr(`keys in ${place.location}\n`);
    if (page.length === 0) break;
    if (json) io.stdout(page.map(keyJson).join(""));
    else print(page);
    after = page.at(-1)!.id;
  }
  if (after === undefined && !json) io.stderr("no keys; create one with gateway keygen\n");
  return 0;
}

async function show({ place, io, json }: Call, id: string): Promise<number> {
  const record = await place.keys.get(id);
  if (record === undefined) throw unknownKey(place, id);
  if (json) io.stdout(keyJson(record));
  else io.stdout(keyDetails(record, io.now()) + `stored in    ${place.location}\n`);
  return 0;
}

function toState(disabled: boolean): (call: Call, id: string) => Promise<number> {
  return (call, id) => setDisabled(call, id, disabled);
}

async function setDisabled({ place, io, json }: Call, id: string, disabled: boolean): Promise<number> {
  const before = await place.keys.get(id);
  const record = await place.keys.setDisabled(id, disabled);
  if (record === undefined) throw unknownKey(place, id);
  const state = disabled ? "disabled" : "enabled";
  if (json) io.stdout(keyJson(record));
  else if (before?.disabled === disabled) io.stdout(`${named(record)} in ${place.location} is already ${state}\n`);
  else io.stdout(`${state} ${named(record)} in ${place.location}\n`);
  if (!disabled && hasExpired(record, io.now())) {
    io.stderr(
      `the key expired at ${record.expiresAt}, so the gateway refuses it: create another with gateway keygen\n`,
    );
  }
  return 0;
}

async function remove(call: Call, id: string): Promise<number> {
  const { place, io } = call;
  const record = await place.keys.get(id);
  if (record === undefined) throw unknownKey(place, id);
  const webhooks = await webhooksOfKey(place, io, id);
  try {
    return await removeWith(webhooks, record, call);
  } finally {
    await webhooks.close();
  }
}

async function removeWith(webhooks: KeyWebhooks, record: KeyRecord, { place, io, json, yes }: Call): Promise<number> {
  const { count } = webhooks;
  const its = count === 0 ? "" : ` and its ${count === 1 ? "webhook" : `${count} webhooks`}`;
  if (!yes) await confirmDeletion(io, `${named(record)}${its} from ${place.location}`);
  if (webhooks.areApart) {
    // Webhooks first: if deleting them fails, the command can be repeated, because the key is still there.
    await place.keys.setDisabled(record.id, true);
    await webhooks.remove();
  }
  if (!await place.keys.delete(record.id)) throw unknownKey(place, record.id);
  // A request may have created one meanwhile.
  if (webhooks.areApart) await webhooks.remove();
  if (json) io.stdout(JSON.stringify({ id: record.id, deleted: true, webhooks: count }) + "\n");
  else io.stdout(`deleted ${named(record)}${its} from ${place.location}\n`);
  return 0;
}

function unknownKey(place: KeyLocation, id: string): CommandError {
  return new CommandError(`there is no key ${JSON.stringify(id)} in ${place.location}`);
}

function named({ id, name }: KeyRecord): string {
  return `key ${visible(id)} "${visible(name)}"`;
}

/** A key as one line of JSON, without its hash. */
function keyJson({ id, name, scopes, rate, disabled, createdAt, expiresAt, lastUsedAt }: KeyRecord): string {
  return JSON.stringify({
    id,
    name,
    scopes,
    rate: rate ?? null,
    disabled,
    createdAt,
    expiresAt: expiresAt ?? null,
    lastUsedAt: lastUsedAt ?? null,
  }) + "\n";
}

/** A key as lines of heading and value. */
function keyDetails(record: KeyRecord, nowMs: number): string {
  const lines = keyColumns(nowMs).map(({ heading, text }) =>
    `${heading.toLowerCase().padEnd(12)} ${visible(text(record))}\n`
  );
  return lines.join("");
}

function stateOf(record: KeyRecord, nowMs: number): string {
  if (record.disabled) return "disabled";
  return hasExpired(record, nowMs) ? "expired" : "enabled";
}
