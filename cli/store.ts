import { type CopyProgress, copyStore, type Tally } from "../lib/store/copy/copy_store.ts";
import { openStore } from "../lib/store/open.ts";
import type { Store } from "../lib/store/store.ts";
import { type Command, type CommandIo, parseFlags, readAction, refuseExtra, UsageError } from "./command.ts";
import { helpText, jsonRow } from "./help.ts";
import { holdAlone } from "./store_lock.ts";
import { refusePassword } from "./store_setting.ts";
import { shellWord } from "./terminal/shell_word.ts";
import { tablePrinter } from "./terminal/table.ts";

const ACTIONS = ["copy"] as const;

const FLAGS = [jsonRow("from, to, kinds with records and hash of each")] as const;

const help = helpText({
  usage: ["store copy FROM TO [--json]"],
  about:
    "Copies all that a store holds into a new one, of the same kind or another: keys, the log with its sequence, " +
    "webhooks with their cursors and secrets, what is owed to them and what was attempted (numbered anew), idempotency keys, nonces, " +
    "submissions. The copy has the store's own id, so that clients' cursors stay good, and signing secrets stay as they " +
    "are kept. Then the two are compared by count and hash; only a copy that is alike can be served from.\n\n" +
    "Stop every gateway on FROM first: it is refused while one serves, and nothing may change in it meanwhile, keys and " +
    "what is sent included. A copy that was killed is never served from: remove what is left of it and copy again. What " +
    "TO holds is never overwritten. Serve from one of the two only: both would hand out the same nonces, and deliver everything " +
    "twice.",
  lists: {
    "FROM and TO": [
      ["sqlite:PATH", "A file"],
      ["deno-kv:PATH", "A file, on Deno"],
      ["postgres://…", "A PostgreSQL database, without the password, which PGPASSWORD has"],
      ["env:NAME", "What this variable says: a URL with a password, as env:SERVICE_API_STORE"],
    ],
  },
  flags: FLAGS,
  examples: [
    "gateway store copy sqlite:gateway.db postgres://gateway@db.example.com/gateway",
    "gateway store copy env:SERVICE_API_STORE sqlite:copy.db --json",
  ],
});

/** The hold of one that was killed keeps none that comes after it off. */
const HOLDER = "gateway store copy";

export const command: Command = { help, actions: ACTIONS, run };

async function run(args: string[], io: CommandIo): Promise<number> {
  const { flags, positionals: [action, from, to, ...extra] } = parseFlags(args, FLAGS);
  readAction(action, ACTIONS);
  const settings = [settingOf("FROM", from, io.env), settingOf("TO", to, io.env)] as const;
  refuseExtra(extra, "TO");
  const source = await open(settings[0], io, { mustExist: true });
  try {
    const release = await holdAlone(source, { why: ", and would go on writing to it", holder: HOLDER });
    try {
      await copyInto(source, settings[1], io, flags.json === true);
    } finally {
      await release();
    }
  } finally {
    await source.close();
  }
  return 0;
}

/** @throws {UsageError} naming the argument, and never showing what may hold a password */
function settingOf(name: string, typed: string | undefined, env: CommandIo["env"]): string {
  if (typed === undefined) throw new UsageError(`${name} is missing: a store such as sqlite:gateway.db`);
  const variable = /^env:(.+)$/.exec(typed)?.[1];
  // An empty variable is one that is not set, as everywhere.
  const setting = variable === undefined ? typed : env[variable] || undefined;
  if (setting === undefined) throw new UsageError(`${name} names the variable ${variable}, which is not set`);
  if (!/^(sqlite:.|deno-kv:.|postgres(ql)?:)/s.test(setting)) {
    throw new UsageError(`${name} must be sqlite:PATH, deno-kv:PATH, postgres://… or env:NAME`);
  }
  if (variable === undefined) refusePassword(setting, name, "a variable, and name that with env:NAME");
  return setting;
}

function open(
  setting: string,
  io: CommandIo,
  options: { mustExist?: boolean; isCopyTarget?: boolean },
): Promise<Store> {
  return openStore(setting, { ...options, onNotice: (notice) => io.stderr(`${notice}\n`) });
}

async function copyInto(source: Store, setting: string, io: CommandIo, isJson: boolean): Promise<void> {
  const target = await open(setting, io, { isCopyTarget: true });
  try {
    // The same file cannot be held twice; one that gateways share is not empty, or refused by them.
    const isHeldHere = source.location !== target.location && !target.isShared;
    const release = isHeldHere ? await holdAlone(target, { why: "" }) : undefined;
    try {
      if (source.isShared) io.stderr(`No gateway may use ${source.location} until this has ended\n`);
      const tallies = await copyStore({ source, target, onProgress: progressPrinter(io) });
      if (isJson) io.stdout(asJson(source, target, tallies));
      else printResult(source, target, setting, tallies, io);
    } finally {
      await release?.();
    }
  } finally {
    await target.close();
  }
}

/** How often a kind that takes long is told of where no terminal shows it. */
const TOLD_EVERY_MS = 10_000;

function progressPrinter(io: CommandIo): (progress: CopyProgress) => void {
  let toldAt = io.now();
  return ({ step, kind, records, isKindDone }) => {
    const text = `${step === "copy" ? "Copying" : "Comparing"} ${kind}: ${records}`;
    if (io.isErrorTerminal) return io.stderr(`\r\x1b[K${isKindDone ? "" : text}`);
    const isDue = isKindDone ? records > 0 : io.now() - toldAt >= TOLD_EVERY_MS;
    if (!isDue) return;
    toldAt = io.now();
    io.stderr(`${text}${isKindDone ? ", done" : " …"}\n`);
  };
}

function asJson({ location: from }: Store, { location: to }: Store, kinds: Record<string, Tally>): string {
  return JSON.stringify({ from, to, kinds }) + "\n";
}

function printResult(
  source: Store,
  target: Store,
  setting: string,
  tallies: Record<string, Tally>,
  io: CommandIo,
): void {
  const print = tablePrinter<[kind: string, tally: Tally]>(io, [
    { heading: "KIND", width: 16, text: ([kind]) => kind },
    { heading: "RECORDS", width: 10, text: ([, { records }]) => String(records) },
    { heading: "HASH", width: 64, least: 12, text: ([, { hash }]) => hash },
  ]);
  print(Object.entries(tallies));
  io.stdout(
    `${source.location} is copied to ${target.location}, and the two are alike\n` +
      `From now on serve from the copy alone: ${serveCommand(setting)}\n`,
  );
}

/** What serves from this store, for a shell: without a password, which nobody is shown. */
function serveCommand(setting: string): string {
  const command = "gateway serve --store ";
  if (!setting.startsWith("postgres")) return command + shellWord(setting);
  const url = new URL(setting);
  if (url.password === "") return command + shellWord(setting);
  url.password = "";
  return `${command}${shellWord(url.href)}, with its password in PGPASSWORD`;
}
