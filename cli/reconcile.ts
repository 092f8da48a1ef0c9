import { type Clock, systemClock } from "../lib/clock.ts";
import type { Config, SettingName } from "../lib/config.ts";
import { createAssetList } from "../lib/escrow/assets/asset_list.ts";
import type { Difference } from "../lib/escrow/books/differences.ts";
import { storeReconciliation } from "../lib/escrow/books/last_reconciliation.ts";
import { createBooksReaders } from "../lib/escrow/books/readers.ts";
import { reconcile, type Reconciliation } from "../lib/escrow/books/reconcile.ts";
import { askNewest } from "../lib/stellar/fresh_read.ts";
import { createHead } from "../lib/stellar/head.ts";
import { createRpcClient } from "../lib/stellar/rpc/client.ts";
import type { Store } from "../lib/store/store.ts";
import { BOOKS_ROWS, printCsv, refuseTwoForms, withBooks } from "./books.ts";
import type { Command, CommandIo } from "./command.ts";
import { helpText, jsonRow } from "./help.ts";
import { parseSettingFlags, settingFlagRows } from "./setting_flags.ts";
import { type Column, tablePrinter } from "./terminal/table.ts";

const NAMES: SettingName[] = ["store", "rpcUrls", "networkPassphrase", "paymentEscrow", "assets"];

const FLAGS = [
  jsonRow("ok, fromLedger, toLedger, checkedAt, differences (kind, deviceHash, merchant, asset, log, chain, cause)"),
  ...BOOKS_ROWS,
] as const;

export const command: Command = {
  help: helpText({
    usage: ["reconcile [--json | --csv] [FLAGS]"],
    about:
      "Compares the log with the contracts: the balance of each card, the pending payments of each merchant, and what the " +
      "escrow contract holds of each asset with what it owes. It prints each difference with its cause. More held than owed is " +
      "no difference.\n\n" +
      "It reads 200 cards in one call to the node. A gateway has to serve from the store meanwhile, because the log has to " +
      "follow the node. The gateways show the result in GET /v1/reconciliation.",
    lists: {
      Causes: [
        ["bypass", "A movement past the gateway was in another asset than was put in or authorised"],
        ["clawback", "The issuer of the asset can take back what the contract holds"],
        ["gap", "The history has a gap, or begins after the contract"],
        ["unknown", "None of these"],
      ],
    },
    flags: [...FLAGS, ...settingFlagRows(NAMES)],
    notes:
      "A difference of the newest ledgers may come from an event that a node shows late. The command then waits up to three " +
      "minutes, and compares again.",
    exitCodes: [
      ["0", "The log and the contracts agree"],
      ["1", "They differ, or the command failed; then the last line on standard error names the cause"],
      ["2", "Wrong command line or setting"],
    ],
    examples: [
      "gateway reconcile",
      "gateway reconcile --store sqlite:/var/lib/gateway/gateway.db --json | jq '.differences[]'",
      "gateway reconcile --csv > differences.csv",
    ],
  }),
  async run(args, io) {
    const { settings, flags } = parseSettingFlags(args, NAMES, FLAGS);
    refuseTwoForms(flags);
    return await withBooks({ settings, sandbox: flags.sandbox }, io, async (store, config) => {
      const found = await reconciled(store, config, io);
      await storeReconciliation(store.sharedState, config.paymentEscrow, found);
      const { differences, fromLedger, toLedger, checkedAt } = found;
      const ok = differences.length === 0;
      if (flags.json) io.stdout(`${JSON.stringify({ ok, fromLedger, toLedger, checkedAt, differences })}\n`);
      else if (flags.csv) printCsv(io, COLUMNS, differences.map((one) => ({ ...one })));
      else printTable(found, io);
      return ok ? 0 : 1;
    });
  },
};

/** Reads the network like a gateway that has just started. */
async function reconciled(store: Store, config: Config, io: CommandIo): Promise<Reconciliation> {
  const clock: Clock = { ...systemClock, now: io.now };
  const { rpcUrls, networkPassphrase, deviceRegistry, agentRegistry, paymentEscrow } = config;
  const seen = await store.events.watcherState();
  const head = createHead({
    clock,
    stored: seen && { sequence: seen.latestLedger, closeTime: seen.latestLedgerCloseTime },
    ask: (node) => askNewest(rpc, { node }),
  });
  const rpc = createRpcClient({ urls: rpcUrls, fetch: globalThis.fetch, clock, head, networkPassphrase });
  const contracts = { deviceRegistry, agentRegistry, paymentEscrow };
  return await reconcile({
    store,
    paymentEscrow,
    assets: createAssetList(config.assets, networkPassphrase).ids,
    ...createBooksReaders({ rpc, head, clock, nodes: rpcUrls.length, contracts, networkPassphrase }),
    clock,
    onWait: (count) => io.stderr(`${differencesText(count)}: waiting up to three minutes for late events\n`),
  });
}

const COLUMNS = [
  "kind",
  "deviceHash",
  "merchant",
  "asset",
  "log",
  "chain",
  "cause",
] as const satisfies (keyof Difference)[];

function printTable({ differences, fromLedger, toLedger }: Reconciliation, io: CommandIo): void {
  const found = differences.length === 0 ? "the log and the contracts agree" : differencesText(differences.length);
  tablePrinter(io, TABLE)(differences);
  io.stderr(`ledgers ${fromLedger} to ${toLedger}: ${found}\n`);
}

/** A card or a merchant in one column. */
const TABLE: Column<Difference>[] = [
  { heading: "KIND", width: 8, text: ({ kind }) => kind },
  { heading: "OF", width: 64, least: 12, text: ({ deviceHash, merchant }) => deviceHash ?? merchant ?? "" },
  { heading: "ASSET", width: 56, least: 12, text: ({ asset }) => asset ?? "unknown" },
  { heading: "LOG", width: 20, least: 12, text: ({ log }) => log },
  { heading: "CHAIN", width: 20, least: 12, text: ({ chain }) => chain },
  { heading: "CAUSE", width: 8, text: ({ cause }) => cause },
];

function differencesText(count: number): string {
  return count === 1 ? "1 difference" : `${count} differences`;
}
