import { KeyFieldError, MAX_RATE, mintKey } from "../lib/keys/api_key.ts";
import type { KeyLocation } from "../lib/keys/keys_file.ts";
import { type KeyRecord, SCOPES } from "../lib/store/store.ts";
import { secureRandom } from "../lib/random.ts";
import {
  type Command,
  CommandError,
  type CommandIo,
  type Flags,
  integerFlag,
  OutputError,
  parseFlags,
  refuseExtra,
  UsageError,
} from "./command.ts";
import { helpText, jsonRow, KEY_PLACE_ROWS } from "./help.ts";
import { withKeyLocation } from "./key_location.ts";

const FLAGS = [
  ["--name NAME", "A name for the key: 1–64 printable characters"],
  ["--scopes LIST", `Comma-separated, one or more of ${SCOPES.join(",")}`],
  ["--rate N", `Requests per minute, 1 to ${MAX_RATE} (default: the gateway's default rate)`],
  [
    "--expires WHEN",
    "A date or time (2027-01-31, 2027-01-31T12:00:00Z), or a span from now: 12h, 90d (default never). After it the gateway " +
    "refuses the key, and its webhooks get no more events",
  ],
  ...KEY_PLACE_ROWS,
  [
    "--record",
    "Do not store the key. Print its record for SERVICE_API_KEYS, one line of JSON, on standard output and the key on " +
    "standard error. With --json both go to standard output",
  ],
  jsonRow("key, id, name, scopes, rate, expiresAt, store, with --record also record"),
] as const;

const help = helpText({
  usage: [
    "keygen --name NAME --scopes LIST [--rate N] [--expires WHEN] [--json]",
    "               [--store SETTING | --keys-file PATH | --record]",
  ],
  about:
    "Creates an API key and prints it once, on standard output. The gateway stores only its SHA-256. If the key cannot " +
    "be printed, it is deleted again.\n\nThe key goes to the place that --store or --keys-file names. Without them it " +
    "goes to SERVICE_API_KEYS_FILE, else to SERVICE_API_STORE, else to the default store in the working directory.",
  flags: FLAGS,
  examples: [
    "gateway keygen --name my-app --scopes read,write,webhooks",
    "gateway keygen --name partner --scopes read --rate 600 --expires 90d --json",
    "gateway keygen --name shop --scopes read,write --store sqlite:/var/lib/gateway/gateway.db",
    "gateway keygen --name edge --scopes read --record > record.json",
  ],
});

/** Fields of a key by the flag that sets them. */
const FLAG_OF = { name: "--name", scopes: "--scopes", rate: "--rate", expiresAt: "--expires" } as const;

export const command: Command = { help, run };

async function run(args: string[], io: CommandIo): Promise<number> {
  const { flags, positionals } = parseFlags(args, FLAGS);
  refuseExtra(positionals);
  if (flags.record && (flags.store ?? flags["keys-file"]) !== undefined) {
    throw new UsageError("--record does not store the key: leave out --store and --keys-file");
  }
  const { key, record } = minted(flags, io.now());
  if (io.isOutputUnread) throw new CommandError("standard output is closed, so no key was created");
  if (flags.record) {
    printUnstored(key, record, flags.json === true, io);
    return 0;
  }
  return await withKeyLocation(flags, io, { mustExist: false }, async (place) => {
    await place.keys.insert(record);
    try {
      printStored(key, record, place.location, flags.json === true, io);
    } catch (error) {
      throw error instanceof OutputError ? await withdraw(place, record, error) : error;
    }
    return 0;
  });
}

/** Deletes a key that could not be printed, and returns the error for the operator. */
async function withdraw(place: KeyLocation, { id }: KeyRecord, error: OutputError): Promise<CommandError> {
  await place.keys.delete(id).catch((cause) => {
    throw new CommandError(
      `${error.message}, and key ${id} is still in ${place.location}: delete it with gateway keys delete ${id}`,
      { cause },
    );
  });
  return new CommandError(`${error.message}, so the key was deleted again from ${place.location}`);
}

function minted(flags: Flags<typeof FLAGS>, now: number): { key: string; record: KeyRecord } {
  if (flags.name === undefined) throw new UsageError("--name is missing: pass a name for the key");
  if (flags.scopes === undefined) throw new UsageError("--scopes is missing: pass one or more of read,write,webhooks");
  try {
    return mintKey({
      name: flags.name,
      scopes: flags.scopes.split(",").map((scope) => scope.trim()),
      rate: flags.rate === undefined ? undefined : integerFlag("--rate", flags.rate, { min: 1, max: MAX_RATE }),
      expiresAt: flags.expires === undefined ? undefined : expiry(flags.expires, now),
      now,
      random: secureRandom,
    });
  } catch (error) {
    if (error instanceof KeyFieldError) throw new UsageError(`${FLAG_OF[error.field]} ${error.message}`);
    throw error;
  }
}

/** ISO 8601 has four digits for a year. A record with more would make its whole keys file unreadable. */
const YEAR_10000_MS = Date.UTC(10_000, 0, 1);

/** A span from now (`12h`, `90d`) as a time. A text that begins like a date is returned as it is. */
function expiry(text: string, now: number): string {
  const got = `got ${JSON.stringify(text)}`;
  const span = /^(\d+)([hd])$/.exec(text);
  if (span === null && !/^\d{4}-/.test(text)) {
    throw new KeyFieldError(
      "expiresAt",
      `must be a date or time (2027-01-31, 2027-01-31T12:00:00Z) or a span from now (12h, 90d); ${got}`,
    );
  }
  const hours = span === null ? undefined : Number(span[1]) * (span[2] === "d" ? 24 : 1);
  if (hours === 0) throw new KeyFieldError("expiresAt", `must be in the future; ${got}`);
  const atMs = hours === undefined ? Date.parse(text) : now + hours * 3_600_000;
  if (atMs >= YEAR_10000_MS) throw new KeyFieldError("expiresAt", `must be before the year 10000 in UTC; ${got}`);
  return hours === undefined ? text : new Date(atMs).toISOString();
}

function printStored(key: string, record: KeyRecord, store: string, json: boolean, io: CommandIo): void {
  if (json) return io.stdout(JSON.stringify({ key, ...shown(record), store }) + "\n");
  io.stdout(key + "\n");
  io.stderr(
    `${described(record)} is stored in ${store}\n` +
      "Copy the key now: only its SHA-256 is stored. A running gateway accepts it within a second.\n" +
      'Send it in the header "Authorization: Bearer <key>"\n',
  );
}

function printUnstored(key: string, record: KeyRecord, json: boolean, io: CommandIo): void {
  if (json) return io.stdout(JSON.stringify({ key, ...shown(record), store: null, record }) + "\n");
  // The key first: a record without its key is of no use.
  io.stderrOrFail(key + "\n");
  io.stdout(JSON.stringify(record) + "\n");
  io.stderr(
    `${described(record)} is not stored. Copy the key now.\n` +
      "Add the record on standard output to SERVICE_API_KEYS, one line per key, and restart the gateway.\n",
  );
}

function shown({ id, name, scopes, rate, expiresAt }: KeyRecord) {
  return { id, name, scopes, rate: rate ?? null, expiresAt: expiresAt ?? null };
}

function described({ id, name, scopes, rate, expiresAt }: KeyRecord): string {
  const pace = rate === undefined ? "the default rate" : `${rate} requests a minute`;
  const end = expiresAt === undefined ? "no expiry" : `until ${expiresAt}`;
  return `Key ${id} "${name}" (${scopes.join(", ")}; ${pace}; ${end})`;
}
