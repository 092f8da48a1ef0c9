import type { Config, SettingName } from "../lib/config.ts";
import { fileForm, type Row as FileRow } from "../lib/http/file_formats.ts";
import type { Store } from "../lib/store/store.ts";
import { type CommandIo, type Row, UsageError } from "./command.ts";
import { readConfig } from "./read_config.ts";
import { refusePassword, withStore } from "./store_setting.ts";

/** Rows of the help for a command that prints books. */
export const CSV_ROW = ["--csv", "Print CSV with a line of headings"] as const satisfies Row;

/** @throws {UsageError} when both are given */
export function refuseTwoForms({ json, csv }: { json?: true; csv?: true }): void {
  if (json && csv) throw new UsageError("--json and --csv exclude each other");
}

/**
 * Runs `use` on the store of these settings, which must exist and belong to their network.
 * @throws {ConfigError} for a wrong setting
 * @throws {StoreError} when the store cannot be used, or belongs to another network
 */
export async function withBooks(
  settings: Partial<Record<SettingName, string>>,
  io: CommandIo,
  use: (store: Store, config: Config) => Promise<number>,
): Promise<number> {
  if (settings.store !== undefined) refusePassword(settings.store, "--store", "SERVICE_API_STORE");
  const config = readConfig(io.env, settings);
  return await withStore(settings.store, io, async (store) => {
    // Does not bind a store that no gateway has served.
    if (await store.network.bound() !== undefined) await store.network.bind(config.networkPassphrase);
    return await use(store, config);
  });
}

/** Prints rows as CSV. */
export function printCsv(io: CommandIo, columns: readonly string[], rows: FileRow[]): void {
  const { head, textOf } = fileForm("csv", columns);
  io.stdout(head + textOf(rows));
}
