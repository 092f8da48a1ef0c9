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
    "Copies all data of a store into a new one, of the same kind or another: keys, events with their sequence, webhooks " +
    "with cursors and secrets, pending deliveries and attempts, idempotency keys, nonces and submissions. Attempts get " +
    "new numbers. The copy has the same store id, so the cursors of clients stay valid. Then the command compares both " +
    "stores by count and hash. A gateway serves only from a copy that passed.\n\n" +
    "Stop every gateway on FROM first: the command refuses a store in use. Do not change keys or webhooks meanwhile. It " +
    "never overwrites data in TO. After an interruption remove TO and copy again.\n\n" +
    "Serve from only one of the two afterwards. Both would issue the same nonces and deliver every event twice.",
  lists: {
    "FROM and TO": [
      ["sqlite:PATH", "A file"],
      ["deno-kv:PATH", "A file, on Deno"],
      ["postgres://…", "A PostgreSQL database; set its password in PGPASSWORD"],
      ["env:NAME", "The value of a variable, such as a URL with a password: env:SERVICE_API_STORE"],
    ],
  },
  flags: FLAGS,
  examples: [
    "gateway store copy sqlite:gateway.db postgres://gateway@db.example.com/gateway",
    "gateway store copy env:SERVICE_API_STORE sqlite:copy.db --json",
  ],
});

/** One name for all runs: the lease of a killed copy does not lock out the next one. */
const HOLDER = "gateway store copy";

export const command: Command = { help, actions: ACTIONS, run };

async function run(args: string[], io: CommandIo): Promise<number> {
  const { flags, positionals: [action, from, to, ...extra] } = parseFlags(args, FLAGS);
  readAction(action, ACTIONS);
  const settings = [settingOf("FROM", from, io.env), settingOf("TO", to, io.env)] as const;
  refuseExtra(extra, "TO");
  const source = await open(settings[0], io, { mustExist: true });
  try {
    const release = await holdAlone(source, { why: ", which writes to it", holder: HOLDER });
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

/** @throws {UsageError} naming the argument, without its value, which may hold a password */
function settingOf(name: string, typed: string | undefined, env: CommandIo["env"]): string {
  if (typed === undefined) throw new UsageError(`${name} is missing: pass a store such as sqlite:gateway.db`);
  const variable = /^env:(.+)$/.exec(typed)?.[1];
  // An empty variable counts as not set.
  const setting = variable === undefined ? typed : env[variable] || undefined;
  if (setting === undefined) throw new UsageError(`${name} must name a variable that is set: ${variable} is not`);
  if (!/^(sqlite:.|deno-kv:.|postgres(ql)?:)/s.test(setting)) {
    throw new UsageError(`${name} must be sqlite:PATH, deno-kv:PATH, postgres://… or env:NAME`);
  }
  if (variable === undefined) refusePassword(setting, name, "a variable and pass env:NAME");
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
    // The same file cannot be locked twice. Gateways refuse a shared target until its copy is complete.
    const isHeldHere = source.location !== target.location && !target.isShared;
    const release = isHeldHere ? await holdAlone(target, { why: "" }) : undefined;
    try {
      if (source.isShared) io.stderr(`Do not start a gateway on ${source.location} until the copy is complete\n`);
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

/** Interval of progress lines where standard error is no terminal. */
const REPORT_EVERY_MS = 10_000;

function progressPrinter(io: CommandIo): (progress: CopyProgress) => void {
  let reportedAt = io.now();
  return ({ step, kind, records, isKindDone }) => {
    const text = `${step === "copy" ? "Copying" : "Comparing"} ${kind}: ${records}`;
    if (io.isErrorTerminal) return io.stderr(`\r\x1b[K${isKindDone ? "" : text}`);
    const isDue = isKindDone ? records > 0 : io.now() - reportedAt >= REPORT_EVERY_MS;
    if (!isDue) return;
    reportedAt = io.now();
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
    `${source.location} is copied to ${target.location}, and both are equal\n` +
      `Serve only from the copy from now on: ${serveCommand(setting)}\n`,
  );
}

/** The command line that serves from this store, without its password. */
function serveCommand(setting: string): string {
  const command = "gateway serve --store ";
  if (!setting.startsWith("postgres")) return command + shellWord(setting);
  const url = new URL(setting);
  if (url.password === "") return command + shellWord(setting);
  url.password = "";
  return `${command}${shellWord(url.href)}, with its password in PGPASSWORD`;
}
