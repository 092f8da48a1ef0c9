import { type SettingName, SETTINGS } from "../../lib/config.ts";
import { integerFlag, UsageError } from "../command.ts";
import { parseSettingFlags } from "../setting_flags.ts";
import { storeSetting } from "../store_setting.ts";

export interface SandboxFlags {
  /** Settings of the gateway that were given as flags. */
  settings: Partial<Record<SettingName, string>>;
  rpcPort: number;
  ledgerMs: number;
  /** Keeps store and ledger; undefined: nothing is kept. */
  stateFolder: string | undefined;
  /** How many ledgers new entries live for; undefined: as long as on the public network. */
  entryTtl: number | undefined;
  /** Code of the asset that is issued; undefined: the native one is used. */
  assetCode: string | undefined;
  /** RPC node of the network to go on from; undefined: a network of its own. */
  fork: string | undefined;
  json: boolean;
}

/** The contracts' ids: on a fork those of the other network can be used. */
const CONTRACT_SETTINGS = ["deviceRegistry", "agentRegistry", "paymentEscrow"] as const satisfies SettingName[];

/**
 * What is read of the environment, as by `serve`: what opens a store whose webhook secrets are sealed. The rest is about
 * another gateway, on another network.
 */
export const SANDBOX_ENVIRONMENT: SettingName[] = ["secretsKey"];

/** As they stand in the help. */
export const SANDBOX_FLAG_ROWS = [
  ["--port N", "Port of the gateway; 0 picks a free one (8787)"],
  ["--rpc-port N", "Port of the Stellar RPC server and friendbot; 0 picks a free one (8000)"],
  [
    "--ledger-ms N",
    "How often a ledger closes, in milliseconds; 0: at once (1000). Below 1000 ledgers share their close time's second",
  ],
  ["--store SETTING", "Where keys and history are kept, as for serve (a temporary file, removed on exit)"],
  ["--state FOLDER", "A folder that keeps store and ledger: a restart goes on where it was"],
  [
    "--network-passphrase TEXT",
    'Passphrase of the network (its own); "Standalone Network ; February 2017" is what "--network local" of the Stellar ' +
    "CLI and the SDKs stand for",
  ],
  ["--asset CODE", "Issue an asset of this code, held by the accounts, instead of using the native one: USDC"],
  ["--entry-ttl N", "How many ledgers new entries live for: a small number lets you see them archived (2073600)"],
  [
    "--fork URL",
    "Go on from another network, read through this Stellar RPC node as needed; nothing is sent there",
  ],
  [
    "--device-registry ID",
    "With --fork, and together with the next two: contracts of that network instead of new ones",
  ],
  ["--agent-registry ID", "The agent registry there"],
  ["--payment-escrow ID", "The payment escrow there"],
  [
    "--cors-origins LIST",
    "Origins whose pages may call gateway, RPC and friendbot, comma-separated, or * (RPC and friendbot *, gateway none)",
  ],
  [
    "--json",
    "Print one line of JSON when ready, instead of the welcome: gateway, rpc, friendbot, store, networkPassphrase, " +
    "contracts, asset, apiKey, accounts",
  ],
  ["--log FORM", "Form of the log lines on standard error: auto, json or pretty (pretty)"],
  ["--log-level LEVEL", "Lowest log level: debug, info, warn or error (warn)"],
] as const;

/** Less would not last for the setup. */
const MIN_ENTRY_TTL = 20;
/** The most the public network's settings allow. */
const MAX_ENTRY_TTL = 3_110_400;

/** @throws {UsageError} for the first flag that is wrong */
export function sandboxFlags(args: string[]): SandboxFlags {
  const names: SettingName[] = ["port", "store", "log", "logLevel", "networkPassphrase", "corsOrigins"];
  const { settings, flags } = parseSettingFlags(args, [...names, ...CONTRACT_SETTINGS], SANDBOX_FLAG_ROWS);
  if (flags.state !== undefined && settings.store !== undefined) {
    throw new UsageError("--state and --store exclude each other: --state keeps the store in its folder");
  }
  if (settings.store !== undefined) storeSetting(settings.store, {}, { isMemoryAllowed: true });
  checkFork(flags.fork, { state: flags.state, settings });
  const ttl = flags["entry-ttl"];
  return {
    settings: { log: "pretty", logLevel: "warn", ...settings },
    rpcPort: integerFlag("--rpc-port", flags["rpc-port"] ?? "8000", { min: 0, max: 65_535 }),
    ledgerMs: integerFlag("--ledger-ms", flags["ledger-ms"] ?? "1000", { min: 0, max: 60_000 }),
    stateFolder: flags.state,
    entryTtl: ttl === undefined
      ? undefined
      : integerFlag("--entry-ttl", ttl, { min: MIN_ENTRY_TTL, max: MAX_ENTRY_TTL }),
    assetCode: assetCode(flags.asset),
    fork: flags.fork,
    json: flags.json === true,
  };
}

/** A fork has the other network's passphrase, is not kept, and deals with all three of its contracts or with its own. */
function checkFork(
  fork: string | undefined,
  { state, settings }: { state: string | undefined; settings: SandboxFlags["settings"] },
): void {
  const given = CONTRACT_SETTINGS.filter((name) => settings[name] !== undefined);
  if (fork === undefined) {
    if (given.length > 0) throw new UsageError(`--${SETTINGS[given[0]!].flag} is for a sandbox with --fork`);
    return;
  }
  if (!URL.canParse(fork) || !/^https?:$/.test(new URL(fork).protocol)) {
    // Not what it was: an RPC URL may hold a token.
    throw new UsageError("--fork must be the https:// or http:// URL of a Stellar RPC node");
  }
  if (state !== undefined) throw new UsageError("--fork and --state exclude each other: a fork is not kept");
  if (settings.networkPassphrase !== undefined) {
    throw new UsageError("--fork and --network-passphrase exclude each other: a fork has the other network's");
  }
  if (given.length === 0 || given.length === CONTRACT_SETTINGS.length) return;
  const missing = CONTRACT_SETTINGS.filter((name) => !given.includes(name)).map((name) => `--${SETTINGS[name].flag}`);
  throw new UsageError(`--${SETTINGS[given[0]!].flag} needs ${missing.join(" and ")} beside it`);
}

/** The code of an asset to be issued; undefined for the native one. */
function assetCode(flag: string | undefined): string | undefined {
  if (flag === undefined || flag === "native") return undefined;
  if (/^[a-zA-Z0-9]{1,12}$/.test(flag)) return flag;
  throw new UsageError(
    `--asset must be 1 to 12 letters and digits such as USDC, or native, got ${JSON.stringify(flag)}`,
  );
}
