import { KeyFieldError, MAX_RATE, mintKey } from "../lib/keys/api_key.ts";
import type { KeyLocation } from "../lib/keys/key_location.ts";
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
  ["--name NAME", "What the key is for: 1–64 printable characters"],
  ["--scopes LIST", `Some of ${SCOPES.join(",")}`],
  ["--rate N", `Requests per minute, 1 to ${MAX_RATE} (the gateway's default rate)`],
  [
    "--expires WHEN",
    "A date or time (2027-01-31, 2027-01-31T12:00:00Z), or a span from now: 12h, 90d (never). From then on the key is " +
    "refused and its webhooks hear nothing more",
  ],
  ...KEY_PLACE_ROWS,
  [
    "--record",
    "Keep the key nowhere: print its record on standard output, a line of JSON for SERVICE_API_KEYS, and the key on " +
    "standard error; with --json both on standard output",
  ],
  jsonRow("key, id, name, scopes, rate, expiresAt, store, with --record also record"),
] as const;

const help = helpText({
  usage: [
    "keygen --name NAME --scopes LIST [--rate N] [--expires WHEN] [--json]",
    "               [--store SETTING | --keys-file PATH | --record]",
  ],
  about:
    "Makes an API key and prints it on standard output, this once: only its SHA-256 is kept. A key that cannot be " +
    "printed is withdrawn. Without --store, --keys-file or --record it goes where SERVICE_API_KEYS_FILE, else " +
    "SERVICE_API_STORE says, else into the standard store in the working directory.",
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
    throw new UsageError("--record keeps the key nowhere: leave out --store and --keys-file");
  }
  const { key, record } = minted(flags, io.now());
  if (io.isOutputUnread) throw new CommandError("standard output is closed: nobody would see the key, so none is made");
  if (flags.record) {
    printUnkept(key, record, flags.json === true, io);
    return 0;
  }
  return await withKeyLocation(flags, io, { mustExist: false }, async (place) => {
    await place.keys.insert(record);
    try {
      printKept(key, record, place.location, flags.json === true, io);
    } catch (error) {
      throw error instanceof OutputError ? await withdrawn(place, record, error) : error;
    }
    return 0;
  });
}

/** A key that nobody has seen must not stay: it could only be in somebody's way. Answers what to say of it. */
async function withdrawn(place: KeyLocation, { id }: KeyRecord, error: OutputError): Promise<CommandError> {
  await place.keys.delete(id).catch((cause) => {
    throw new CommandError(
      `${error.message}, and key ${id} is still in ${place.location}: delete it with gateway keys delete ${id}`,
      { cause },
    );
  });
  return new CommandError(`${error.message}, so nobody has seen the key: it is withdrawn again from ${place.location}`);
}

function minted(flags: Flags<typeof FLAGS>, now: number): { key: string; record: KeyRecord } {
  if (flags.name === undefined) throw new UsageError("--name is missing: say what the key is for");
  if (flags.scopes === undefined) throw new UsageError("--scopes is missing: name some of read,write,webhooks");
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

/** A record of a longer year makes its whole keys file unreadable: ISO 8601 writes four digits. */
const YEAR_10000_MS = Date.UTC(10_000, 0, 1);

/** A span from now (`12h`, `90d`) as a time; what begins as a date is taken for one. */
function expiry(text: string, now: number): string {
  const got = `got ${JSON.stringify(text)}`;
  const span = /^(\d+)([hd])$/.exec(text);
  if (span === null && !/^\d{4}-/.test(text)) {
    throw new KeyFieldError(
      "expiresAt",
      `must be a date or time (2027-01-31, 2027-01-31T12:00:00Z) or a span from now (12h, 90d), ${got}`,
    );
  }
  const hours = span === null ? undefined : Number(span[1]) * (span[2] === "d" ? 24 : 1);
  if (hours === 0) throw new KeyFieldError("expiresAt", `must be in the future, ${got}`);
  const atMs = hours === undefined ? Date.parse(text) : now + hours * 3_600_000;
  if (atMs >= YEAR_10000_MS) throw new KeyFieldError("expiresAt", `must be before the year 10000 in UTC, ${got}`);
  return hours === undefined ? text : new Date(atMs).toISOString();
}

function printKept(key: string, record: KeyRecord, store: string, json: boolean, io: CommandIo): void {
  if (json) return io.stdout(JSON.stringify({ key, ...shown(record), store }) + "\n");
  io.stdout(key + "\n");
  io.stderr(
    `${described(record)} is kept in ${store}\n` +
      "The key is shown this once: only its SHA-256 is kept. A gateway that runs on it knows the key within a second.\n" +
      "Send it as: Authorization: Bearer <key>\n",
  );
}

function printUnkept(key: string, record: KeyRecord, json: boolean, io: CommandIo): void {
  if (json) return io.stdout(JSON.stringify({ key, ...shown(record), store: null, record }) + "\n");
  // The key first: a record in somebody's settings whose key nobody saw could only be in the way.
  io.stderrOrFail(key + "\n");
  io.stdout(JSON.stringify(record) + "\n");
  io.stderr(
    `${described(record)} is kept nowhere. The key is shown this once.\n` +
      "The record on standard output goes into SERVICE_API_KEYS, a line for each key; restart the gateway then.\n",
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
