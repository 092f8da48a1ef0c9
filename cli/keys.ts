import { hasExpired } from "../lib/keys/api_key.ts";
import type { KeyPlace } from "../lib/keys/key_place.ts";
import type { KeyRecord } from "../lib/store/store.ts";
import {
  type Command,
  CommandError,
  type CommandIo,
  parseFlags,
  readAction,
  refuseExtra,
  refuseWholeKey,
  UsageError,
} from "./command.ts";
import { helpText, jsonRow, KEY_PLACE_ROWS, YES_ROW } from "./help.ts";
import { PLACE_FLAGS, withKeyPlace } from "./key_place.ts";
import { type KeyWebhooks, webhooksOfKey } from "./key_webhooks.ts";
import { KEY_COLUMNS, keyDetails, keyJson, keyTexts } from "./key_table.ts";
import { tablePrinter } from "./terminal/table.ts";

const help = helpText({
  usage: [
    "keys list [--json]",
    "keys show ID [--json]",
    "keys enable ID [--json]",
    "keys disable ID [--json]",
    "keys delete ID [--yes] [--json]",
  ],
  about:
    "Shows and changes API keys; a running gateway heeds a change within a second. ID is the part of a key between " +
    "service_sk_ and the next _.",
  lists: {
    Commands: [
      ["list", "All keys"],
      ["show", "One key in full"],
      [
        "enable",
        "Let a disabled key in again; what its webhooks are owed is delivered. One that has expired stays out: make another",
      ],
      ["disable", "Refuse a key; what its webhooks are owed waits until it is enabled"],
      ["delete", "Delete a key and its webhooks, with what they are owed"],
    ],
  },
  flags: [
    ...KEY_PLACE_ROWS,
    YES_ROW,
    jsonRow("id, name, scopes, rate, disabled, createdAt, expiresAt, lastUsedAt", "key"),
  ],
  notes: "Where standard output is no terminal, list prints columns with tabs between them: id, name, scopes, rate, " +
    "state, created, expires, last used.",
  examples: [
    "gateway keys list",
    "gateway keys disable 4fJ2kQ9xTz",
    "gateway keys list --json | jq -r 'select(.lastUsedAt == null) | .id'",
  ],
});

const FLAGS = { yes: "switch", json: "switch", ...PLACE_FLAGS } as const;

/** What a page of a listing holds: however many keys there are, no more are in memory. */
const PAGE_SIZE = 1_000;

interface Call {
  place: KeyPlace;
  io: CommandIo;
  json: boolean;
  yes: boolean;
}

const ACTIONS = { list, show, enable, disable, delete: remove } as const;
const NAMES = Object.keys(ACTIONS) as (keyof typeof ACTIONS)[];

export const command: Command = {
  help,
  actions: NAMES,
  run,
};

async function run(args: string[], io: CommandIo): Promise<number> {
  const { flags, positionals } = parseFlags(args, FLAGS);
  refuseWholeKey(...positionals);
  const [first, id, ...rest] = positionals;
  const action = readAction(first, NAMES);
  checkArguments(action, id, rest);
  if (flags.yes && action !== "delete") throw new UsageError("--yes belongs to keys delete");
  if (action === "delete" && !flags.yes && io.ask === undefined) {
    throw new UsageError("keys delete asks before it deletes, and here is no terminal to ask: add --yes");
  }
  return await withKeyPlace(flags, io, { mustExist: true }, (place) => {
    const call = { place, io, json: flags.json === true, yes: flags.yes === true };
    return ACTIONS[action](call, id ?? "");
  });
}

function checkArguments(action: string, id: string | undefined, rest: string[]): void {
  refuseExtra(action === "list" && id !== undefined ? [id] : rest, `keys ${action}`);
  if (action !== "list" && id === undefined) throw new UsageError(`ID is missing: keys ${action} takes that of a key`);
}

async function list({ place, io, json }: Call): Promise<number> {
  const print = tablePrinter(io, KEY_COLUMNS);
  let after: string | undefined;
  for (;;) {
    const page = await place.keys.list({ after, limit: PAGE_SIZE });
    if (after === undefined && !json) io.stderr(`keys in ${place.location}\n`);
    if (page.length === 0) break;
    if (json) io.stdout(page.map(keyJson).join(""));
    else print(page.map((record) => keyTexts(record, io.now())));
    after = page.at(-1)!.id;
  }
  if (after === undefined && !json) io.stderr("there are none; make one with gateway keygen\n");
  return 0;
}

async function show({ place, io, json }: Call, id: string): Promise<number> {
  const record = await place.keys.get(id);
  if (record === undefined) throw unknownKey(place, id);
  if (json) io.stdout(keyJson(record));
  else io.stdout(keyDetails(record, io.now()) + `kept in      ${place.location}\n`);
  return 0;
}

function enable(call: Call, id: string): Promise<number> {
  return setDisabled(call, id, false);
}

function disable(call: Call, id: string): Promise<number> {
  return setDisabled(call, id, true);
}

async function setDisabled({ place, io, json }: Call, id: string, disabled: boolean): Promise<number> {
  const before = await place.keys.get(id);
  const record = await place.keys.setDisabled(id, disabled);
  if (record === undefined) throw unknownKey(place, id);
  const state = disabled ? "disabled" : "enabled";
  if (json) io.stdout(keyJson(record));
  else if (before?.disabled === disabled) io.stdout(`${named(record)} in ${place.location} was ${state} already\n`);
  else io.stdout(`${state} ${named(record)} in ${place.location}\n`);
  if (!disabled && hasExpired(record, io.now())) {
    io.stderr(`it expired at ${record.expiresAt} and is refused all the same: make another one with gateway keygen\n`);
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
  if (!yes) {
    const answer = await io.ask!(`Delete ${named(record)}${its} from ${place.location}? It cannot be undone. [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) {
      throw new CommandError("nothing was deleted");
    }
  }
  if (webhooks.areApart) {
    // Before the key: gone before them it could not be deleted again, and they would stay.
    await place.keys.setDisabled(record.id, true);
    await webhooks.remove();
  }
  if (!await place.keys.delete(record.id)) throw unknownKey(place, record.id);
  // One may have been under way.
  if (webhooks.areApart) await webhooks.remove();
  if (json) io.stdout(JSON.stringify({ id: record.id, deleted: true, webhooks: count }) + "\n");
  else io.stdout(`deleted ${named(record)}${its} from ${place.location}\n`);
  return 0;
}

function unknownKey(place: KeyPlace, id: string): CommandError {
  return new CommandError(`there is no key ${JSON.stringify(id)} in ${place.location}`);
}

function named({ id, name }: KeyRecord): string {
  return `key ${id} "${name}"`;
}
