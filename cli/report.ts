import { isoSeconds } from "../lib/clock.ts";
import type { SettingName } from "../lib/config.ts";
import { type AssetReport, type Report, report, type ReportRange } from "../lib/escrow/books/report.ts";
import { timeText } from "../lib/http/validation/query.ts";
import type { StoredPayment } from "../lib/store/payment.ts";
import { BOOKS_ROWS, printCsv, refuseTwoForms, withBooks } from "./books.ts";
import { type Command, type CommandIo, UsageError } from "./command.ts";
import { helpText, jsonRow } from "./help.ts";
import { parseSettingFlags, settingFlagRows } from "./setting_flags.ts";
import { type Column, tablePrinter } from "./terminal/table.ts";

const NAMES: SettingName[] = ["store", "networkPassphrase", "paymentEscrow"];

const FLAGS = [
  ["--from TIME", "The beginning, inclusive: 2026-01-31, 2026-01-31T00:00:00Z, or Unix seconds"],
  ["--to TIME", "The end, exclusive, in the same forms"],
  jsonRow(
    "from, to, complete, assets (asset, opening, funded, defunded, swept, claimed, expired, closing, bypass), unknownCount, unknown",
  ),
  ...BOOKS_ROWS,
] as const;

export const command: Command = {
  help: helpText({
    usage: ["report --from TIME --to TIME [--json | --csv] [FLAGS]"],
    about:
      "Sums up what the escrow took in and paid out, by asset and in its smallest unit: opening + funded - defunded - swept - " +
      "claimed - expired = closing. Times are close times of ledgers.\n\n" +
      "Each payment counts once, by its state of now: a claimed one at its claim, an expired one at its end. A payment whose state " +
      "is unknown stays in closing, and the report lists it. claimed counts in the asset that was authorised. bypass has what " +
      "claims paid out in another asset than that; it is no part of the sum.\n\n" +
      "The range must not reach over a network reset, nor before the first movement of the log.",
    flags: [...FLAGS, ...settingFlagRows(NAMES)],
    examples: [
      "gateway report --from 2026-01-01 --to 2026-02-01",
      "gateway report --from 2026-01-01 --to 2026-02-01 --csv > january.csv",
      "gateway report --from 2026-01-01 --to 2026-02-01 --json | jq '.assets[] | .closing'",
    ],
  }),
  async run(args, io) {
    const { settings, flags } = parseSettingFlags(args, NAMES, FLAGS);
    refuseTwoForms(flags);
    const range = { from: timeFlag("--from", flags.from), to: timeFlag("--to", flags.to) };
    if (range.from >= range.to) {
      throw new UsageError("--from must be before --to: --from is inclusive, --to is exclusive");
    }
    return await withBooks({ settings, sandbox: flags.sandbox }, io, async (store, { paymentEscrow }) => {
      const found = await report({ store, paymentEscrow }, range);
      if (flags.json) io.stdout(`${JSON.stringify(asJson(found, range))}\n`);
      else if (flags.csv) printCsv(io, COLUMNS, found.assets.map(assetJson));
      else tablePrinter(io, TABLE)(found.assets);
      if (!flags.json) printNotes(found, io);
      return 0;
    });
  },
};

/** @throws {UsageError} */
function timeFlag(flag: string, text: string | undefined): number {
  if (text === undefined) throw new UsageError(`${flag} is missing: pass a time such as 2026-01-31`);
  const read = timeText.safeParse(text);
  if (read.success) return read.data;
  throw new UsageError(`${flag} ${read.error.issues[0]!.message}; got ${JSON.stringify(text)}`);
}

const COLUMNS = [
  "asset",
  "opening",
  "funded",
  "defunded",
  "swept",
  "claimed",
  "expired",
  "closing",
  "bypass",
] as const satisfies (keyof AssetReport)[];

/** An unknown asset is null. */
function assetJson(one: AssetReport): Record<(typeof COLUMNS)[number], string | null> {
  const { asset, ...amounts } = one;
  const texts = Object.entries(amounts).map(([name, amount]) => [name, `${amount}`]);
  return { asset: asset || null, ...Object.fromEntries(texts) };
}

function asJson({ assets, unknown, unknownCount, isComplete }: Report, { from, to }: ReportRange) {
  return {
    from: isoSeconds(from * 1_000),
    to: isoSeconds(to * 1_000),
    complete: isComplete,
    assets: assets.map(assetJson),
    unknownCount,
    unknown: unknown.map(({ id, deviceHash, merchant, asset = null, amount, authorizedAt }) => {
      return { id, deviceHash, merchant, asset, amount, authorizedAt: isoSeconds(authorizedAt * 1_000) };
    }),
  };
}

const TABLE: Column<AssetReport>[] = COLUMNS.map((name) => ({
  heading: name.toUpperCase(),
  width: name === "asset" ? 56 : 14,
  least: name === "asset" ? 12 : 8,
  text: (row) => (name === "asset" ? row.asset || "unknown" : `${row[name]}`),
}));

function printNotes({ unknown, unknownCount, isComplete }: Report, io: CommandIo): void {
  if (!isComplete) {
    io.stderr("the history has a gap or begins after the contract: opening and closing lack that part\n");
  }
  if (unknownCount === 0) return;
  const listed = unknownCount > unknown.length ? `, the first ${unknown.length} of them` : "";
  io.stderr(`${unknownCount} of the payments in closing may have been claimed or not${listed}:\n`);
  for (const payment of unknown) io.stderr(`${paymentText(payment)}\n`);
}

function paymentText({ id, amount, asset = "an unknown asset", merchant }: StoredPayment): string {
  return `${id}: ${amount} of ${asset} for ${merchant}`;
}
