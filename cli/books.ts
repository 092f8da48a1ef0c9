import { type Config, type SettingName, SETTINGS } from "../lib/config.ts";
import { fileForm, type Row as FileRow } from "../lib/http/file_formats.ts";
import type { Store } from "../lib/store/store.ts";
import { type CommandIo, type Row, UsageError } from "./command.ts";
import { readConfig } from "./read_config.ts";
import { findSandbox, sandboxUrl } from "./sandbox/running_sandbox.ts";
import { refusePassword, withStore } from "./store_setting.ts";

/** The flags of a command that prints books, beside `--json` and its settings. */
export const BOOKS_ROWS = [
  ["--csv", "Print CSV with a line of headings"],
  ["--sandbox URL", "Read the sandbox with this gateway or Stellar RPC, instead of all settings below"],
] as const satisfies readonly Row[];

type Settings = Partial<Record<SettingName, string>>;

/** @throws {UsageError} when both are given */
export function refuseTwoForms({ json, csv }: { json?: true; csv?: true }): void {
  if (json && csv) throw new UsageError("--json and --csv exclude each other");
}

/**
 * Runs `use` on the store of these settings, which must exist and belong to their network, or on that of a sandbox.
 * @param sandbox the value of `--sandbox`
 * @throws {UsageError | ConfigError} for a wrong flag or setting
 * @throws {CommandError | StoreError} when there is no such sandbox, or the store cannot be used or belongs to another network
 */
export async function withBooks(
  given: { settings: Settings; sandbox?: string },
  io: CommandIo,
  use: (store: Store, config: Config) => Promise<number>,
): Promise<number> {
  const settings = given.sandbox === undefined ? given.settings : await settingsOf(given.sandbox, given.settings);
  if (settings.store !== undefined) refusePassword(settings.store, "--store", "SERVICE_API_STORE");
  const config = readConfig(io.env, settings);
  return await withStore(settings.store, io, async (store) => {
    // Does not bind a store that no gateway has served.
    if (await store.network.bound() !== undefined) await store.network.bind(config.networkPassphrase);
    return await use(store, config);
  });
}

async function settingsOf(sandbox: string, others: Settings): Promise<Settings> {
  const [other] = Object.keys(others) as SettingName[];
  if (other !== undefined) {
    throw new UsageError(`--sandbox and --${(SETTINGS[other] as { flag: string }).flag} exclude each other`);
  }
  const { store, rpc, networkPassphrase, contracts } = await findSandbox(sandboxUrl(sandbox));
  return { store, rpcUrls: rpc, networkPassphrase, ...contracts };
}

/** Prints rows as CSV. */
export function printCsv(io: CommandIo, columns: readonly string[], rows: FileRow[]): void {
  const { head, textOf } = fileForm("csv", columns);
  io.stdout(head + textOf(rows));
}
