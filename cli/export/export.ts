import type { Decimals } from "../../lib/http/exported_list.ts";
import type { FileFormat } from "../../lib/http/file_formats.ts";
import type { LedgerTimes } from "../../lib/stellar/ledger_clock.ts";
import {
  type Command,
  type CommandIo,
  type Flags,
  parseFlags,
  readAction,
  refuseExtra,
  UsageError,
} from "../command.ts";
import { helpText } from "../help.ts";
import { STORE_AND_NODE_ROWS, type StoreAndNode, withStoreAndNode } from "../store_and_node.ts";
import { storedLedgers } from "../stored_ledgers.ts";
import { openResumableFile, type ResumableFile } from "./resumable_file.ts";

const NAMES = ["payments", "transactions", "events"] as const;
type Name = (typeof NAMES)[number];

const FLAGS = [
  ["--from TIME", "Only from this time on: 2026-01-31T00:00:00Z, 2026-01-31, or Unix seconds"],
  ["--to TIME", "Only before this time"],
  ["--output FILE", "The file to write, or - for standard output"],
  ["--format FORMAT", "csv or jsonl (default jsonl for a FILE that ends so, else csv)"],
  ["--force", "Replace FILE when it exists"],
  ...STORE_AND_NODE_ROWS,
] as const;

export const command: Command = {
  help: helpText({
    usage: ["export payments|transactions|events --output FILE [FLAGS]"],
    about:
      "Writes a list of the store into a file, the oldest first, also while gateways use the store. The columns are " +
      "those of GET /v1/payments, /v1/transactions and /v1/events with format=csv. The lists are of all API keys: they have " +
      "every key's references, and each transaction has its keyId.\n\n" +
      "An export that was interrupted continues where it stopped: run the same command again. Until the file is whole it " +
      "is FILE.part, beside FILE.part.json.\n\n" +
      "The time of a payment is its authorisation, that of a transaction its first submit. The node is asked only for the decimals of assets, once for each.",
    lists: {
      Lists: [
        ["payments", "Each payment with its state, and its claim or its end"],
        ["transactions", "What each API key submitted, with its status"],
        ["events", "The history, in the order of the log"],
      ],
    },
    flags: FLAGS,
    examples: [
      "gateway export payments --from 2026-01-01 --to 2026-02-01 --output january.csv",
      "gateway export payments --format jsonl --output - | jq 'select(.state == \"expired\")'",
      "gateway export events --output events.jsonl --store sqlite:/var/lib/gateway/gateway.db",
    ],
  }),
  actions: NAMES,
  run,
};

/** The place of an export between two pages. */
interface State {
  /** Of the page that is next. Undefined: the first. */
  cursor?: string;
  isWhole: boolean;
  rows: number;
  decimals: [string, number | null][];
  ledgers: (LedgerTimes & { ledger: number }) | undefined;
}

interface Asked {
  name: Name;
  output: string;
  format: FileFormat;
  times: { from?: number; to?: number };
  flags: Flags<typeof FLAGS>;
}

async function run(args: string[], io: CommandIo): Promise<number> {
  const { flags, positionals: [first, ...extra] } = parseFlags(args, FLAGS);
  const name = readAction(first, NAMES);
  refuseExtra(extra, `export ${name}`);
  const { output } = flags;
  if (output === undefined) throw new UsageError("--output is missing: pass a file, or - for standard output");
  const format = formatOf(flags.format, output);
  const times = await timesOf(flags);
  const asked = { name, output, format, times, flags };
  return await withStoreAndNode(flags, io, async (parts) => {
    const rows = output === "-" ? await toOutput(asked, parts, io) : await toFile(asked, parts, io);
    const told = `${rows} ${rows === 1 ? name.slice(0, -1) : name}`;
    if (output === "-") io.stderr(`${told}\n`);
    else io.stdout(`${told} in ${output}\n`);
    return 0;
  });
}

/** Writes the list, and returns the number of its rows. `state`: of an interrupted run. */
async function exportList(
  { name, format, times, output }: Asked,
  { store, node, config, networkPassphrase }: StoreAndNode,
  io: CommandIo,
  { state, write }: Pick<ResumableFile<State>, "state" | "write">,
): Promise<number> {
  const { LISTS } = await import("./lists.ts");
  const { exportedPages } = await import("../../lib/http/exported_list.ts");
  const { fileForm } = await import("../../lib/http/file_formats.ts");
  const ledgers = state === undefined ? await storedLedgers(store) : state.ledgers;
  const decimals: Decimals = new Map(state?.decimals ?? await classicDecimals(config.assets, networkPassphrase));
  const { file, read } = LISTS[name]({ store, node, times, ledgers });
  const { head, textOf } = fileForm(format, file.columns);
  let rows = state?.rows ?? 0;
  const stateAt = (cursor: string | null | undefined): State => {
    return { cursor: cursor ?? undefined, isWhole: cursor === null, rows, decimals: [...decimals], ledgers };
  };
  const isShown = io.isErrorTerminal && !(output === "-" && io.isTerminal);
  if (state === undefined) await write(head, stateAt(undefined));
  else io.stderr(`continuing after ${rows} ${name}\n`);
  const { cursor, isWhole = false } = state ?? {};
  const pages = exportedPages(file, read, { assets: node.assets, cursor, decimals, limit: isWhole ? 0 : undefined });
  for await (const page of pages) {
    rows += page.rows.length;
    await write(textOf(page.rows), stateAt(page.cursor));
    if (isShown) io.stderr(`\r\x1b[KExporting ${name}: ${rows}`);
  }
  if (isShown) io.stderr("\r\x1b[K");
  const unknown = [...decimals.values()].filter((places) => places === null).length;
  if (unknown > 0) {
    const why = await node.problem() ?? "the node does not know them";
    io.stderr(`amountUnits is empty for ${unknown === 1 ? "one asset" : `${unknown} assets`}: ${why}\n`);
  }
  return rows;
}

async function toOutput(asked: Asked, parts: StoreAndNode, io: CommandIo): Promise<number> {
  const write = (text: string) => Promise.resolve(io.stdout(text));
  return await exportList(asked, parts, io, { state: undefined, write });
}

async function toFile(asked: Asked, parts: StoreAndNode, io: CommandIo): Promise<number> {
  const { name, output, format, times: { from, to }, flags } = asked;
  const content = `${name} as ${format} from ${from ?? "the first"} to ${to ?? "the last"} of store ${parts.store.id}`;
  const file = await openResumableFile<State>({ path: output, content, force: flags.force === true, now: io.now });
  try {
    const rows = await exportList(asked, parts, io, file);
    await file.finish();
    return rows;
  } catch (error) {
    await file.close().catch(() => {});
    throw error;
  }
}

function formatOf(text: string | undefined, output: string): FileFormat {
  if (text === undefined) return output.endsWith(".jsonl") ? "jsonl" : "csv";
  if (text === "csv" || text === "jsonl") return text;
  throw new UsageError(`--format must be csv or jsonl; got ${JSON.stringify(text)}`);
}

async function timesOf(flags: Flags<typeof FLAGS>): Promise<Asked["times"]> {
  const { isTimeOrder, timeText } = await import("../../lib/http/validation/query.ts");
  const read = (name: "from" | "to") => {
    const text = flags[name];
    const time = text === undefined ? undefined : timeText.safeParse(text);
    if (time?.success === false) throw new UsageError(`--${name} ${time.error.issues[0]!.message}`);
    return time?.data;
  };
  const times = { from: read("from"), to: read("to") };
  if (!isTimeOrder(times)) throw new UsageError("--from must be before --to: --from is inclusive, --to is exclusive");
  return times;
}

/** Lumens and classic assets have seven decimals. */
async function classicDecimals(assets: string[] | undefined, networkPassphrase: string): Promise<[string, number][]> {
  const { assetId } = await import("../../lib/escrow/assets/asset_list.ts");
  const classic = ["native", ...(assets ?? []).filter((name) => name.includes(":"))];
  return classic.map((name) => [assetId(name, networkPassphrase)!, 7]);
}
