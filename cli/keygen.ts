import { KeyFieldError, MAX_RATE, mintKey } from "../lib/keys/api_key.ts";
import type { KeyRecord } from "../lib/store/store.ts";
import { type Command, type CommandIo, type Flags, integerFlag, parseFlags, UsageError } from "./command.ts";
import { PLACE_FLAGS, withKeyPlace } from "./key_place.ts";

const help = `Usage: gateway keygen --name NAME --scopes LIST [--rate N] [--expires WHEN] [--json]
                      [--store SETTING | --keys-file PATH | --record]

Makes an API key and prints it on standard output, this once: only its SHA-256 is kept.

  --name NAME        what the key is for: 1–64 printable characters
  --scopes LIST      some of read,write,webhooks
  --rate N           requests per minute, 1–1000000; without it the gateway's default rate
  --expires WHEN     an ISO 8601 date or time (2027-01-31, 2027-01-31T12:00:00Z), or from now: 12h, 90d
  --store SETTING    keep it in this store: sqlite:PATH, deno-kv:PATH
  --keys-file PATH   keep it in this JSON file
  --record           keep it nowhere: print its record on standard output, one line of JSON for SERVICE_API_KEYS,
                     and the key on standard error
  --json             print one line of JSON: key, id, name, scopes, rate, expiresAt, store

Without --store, --keys-file or --record it goes where SERVICE_API_KEYS_FILE, else SERVICE_API_STORE says, else into
the standard store in the working directory.
`;

const FLAGS = {
  name: "text",
  scopes: "text",
  rate: "text",
  expires: "text",
  ...PLACE_FLAGS,
  record: "switch",
  json: "switch",
} as const;

/** Fields of a key by the flag that sets them. */
const FLAG_OF = { name: "--name", scopes: "--scopes", rate: "--rate", expiresAt: "--expires" } as const;

export const command: Command = { name: "keygen", summary: "Create an API key", help, run };

async function run(args: string[], io: CommandIo): Promise<number> {
  const { flags, positionals } = parseFlags(args, FLAGS);
  if (positionals.length > 0) throw new UsageError(`unexpected ${JSON.stringify(positionals[0])}`);
  if (flags.record && (flags.store ?? flags["keys-file"]) !== undefined) {
    throw new UsageError("--record keeps the key nowhere: leave out --store and --keys-file");
  }
  const { key, record } = minted(flags, io.now());
  if (flags.record) {
    printUnkept(key, record, flags.json === true, io);
    return 0;
  }
  return await withKeyPlace(flags, io, async (place) => {
    await place.insertKey(record);
    printKept(key, record, place.location, flags.json === true, io);
    return 0;
  });
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
      random: (length) => crypto.getRandomValues(new Uint8Array(length)),
    });
  } catch (error) {
    if (error instanceof KeyFieldError) throw new UsageError(`${FLAG_OF[error.field]} ${error.message}`);
    throw error;
  }
}

/** A span from now (`12h`, `90d`) as a time; anything else is taken for a time. */
function expiry(text: string, now: number): string {
  const span = /^(\d{1,5})([hd])$/.exec(text);
  if (span === null) return text;
  const hours = Number(span[1]) * (span[2] === "d" ? 24 : 1);
  if (hours === 0) throw new KeyFieldError("expiresAt", `must be in the future, got ${JSON.stringify(text)}`);
  return new Date(now + hours * 3_600_000).toISOString();
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
  io.stdout(JSON.stringify(record) + "\n");
  io.stderr(
    `${key}\n${described(record)} is kept nowhere. The line above is the key, shown this once.\n` +
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
