import { type SettingName, SETTINGS } from "../../lib/config.ts";
import { hasHost, PROTOCOLS } from "../../lib/sandbox/ledger/protocol.ts";
import { integerFlag, UsageError } from "../command.ts";
import { parseSettingFlags } from "../setting_flags.ts";
import { storeSetting } from "../store_setting.ts";

export interface SandboxFlags {
  /** Settings of the gateway among the flags. */
  settings: Partial<Record<SettingName, string>>;
  rpcPort: number;
  ledgerMs: number;
  /** The folder of store and ledger. Undefined: temporary. */
  stateFolder: string | undefined;
  /** Lifetime of new entries in ledgers. Undefined: that of the public network. */
  entryTtl: number | undefined;
  /** File of network settings, as `stellar network settings` prints them. */
  settingsFile: string | undefined;
  /** The protocol of the network. Undefined: that of a forked network. */
  protocol: number | undefined;
  /** Code of the asset to issue. Undefined: the native asset. */
  assetCode: string | undefined;
  /** RPC node of the network to fork. Undefined: a new network. */
  fork: string | undefined;
  json: boolean;
}

const HOSTS = PROTOCOLS.join(" or ");

/** The ids of contracts on a forked network. */
const CONTRACT_SETTINGS = ["deviceRegistry", "agentRegistry", "paymentEscrow"] as const satisfies SettingName[];

/**
 * The setting that the sandbox reads from the environment, to open a store with encrypted secrets. The others belong to a
 * gateway on another network.
 */
export const SANDBOX_ENVIRONMENT: SettingName[] = ["secretsKey"];

export const SANDBOX_FLAG_ROWS = [
  ["--port N", "Port of the gateway; 0 picks a free one (default 8787)"],
  ["--rpc-port N", "Port of the Stellar RPC server and friendbot; 0 picks a free one (default 8000)"],
  [
    "--ledger-ms N",
    "Time between ledgers in milliseconds; 0 closes one per transaction at once (default 1000). Close times are whole seconds, " +
    "so below 1000 several ledgers share one",
  ],
  ["--store SETTING", "The store, as for serve (default: a temporary file, deleted at the end)"],
  ["--state FOLDER", "Keep store and ledger in this folder; the next start continues there"],
  [
    "--network-passphrase TEXT",
    'Passphrase of the network (default: its own). "Standalone Network ; February 2017" is the one of "--network local" in the ' +
    "Stellar CLI and SDKs",
  ],
  ["--asset CODE", "Issue an asset with this code, such as USDC, and use it instead of the native one"],
  ["--entry-ttl N", "Lifetime of new entries in ledgers; a small number lets you see them archived (default 2073600)"],
  [
    "--settings FILE",
    'Limits and fees of the network, as "stellar network settings" prints them in JSON or XDR (default: those of the public ' +
    "network)",
  ],
  [
    "--fork URL",
    "Continue another network, read through this Stellar RPC node as needed; nothing is sent there",
  ],
  [
    "--device-registry ID",
    "With --fork and the next two flags: the device registry of that network, instead of new contracts",
  ],
  ["--agent-registry ID", "The agent registry of that network"],
  ["--payment-escrow ID", "The payment escrow of that network"],
  [
    "--protocol N",
    `Protocol of the network, ${HOSTS} (default: the newest, with --fork that of the other network). A fork with another ` +
    "one goes on as after an upgrade",
  ],
  [
    "--cors-origins LIST",
    "Origins whose pages may call gateway, RPC and friendbot, comma-separated, or * (default: gateway none, the others *)",
  ],
  [
    "--json",
    "Print one line of JSON instead of the welcome: gateway, rpc, friendbot, store, networkPassphrase, contracts, " +
    "asset, assetCode, accounts, apiKey",
  ],
  ["--log FORM", "Form of the log lines on standard error: auto, json or pretty (default pretty)"],
  ["--log-level LEVEL", "Lowest level to log: debug, info, warn or error (default warn)"],
] as const;

/** The setup takes fewer ledgers. */
const MIN_ENTRY_TTL = 20;
/** Maximum of the public network's settings. */
const MAX_ENTRY_TTL = 3_110_400;

/** @throws {UsageError} for the first wrong flag */
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
    settingsFile: flags.settings,
    protocol: protocol(flags.protocol),
    assetCode: assetCode(flags.asset),
    fork: flags.fork,
    json: flags.json === true,
  };
}

/** A fork has the passphrase of its network, is not stored, and uses all three contracts of that network or none. */
function checkFork(
  fork: string | undefined,
  { state, settings }: { state: string | undefined; settings: SandboxFlags["settings"] },
): void {
  const given = CONTRACT_SETTINGS.filter((name) => settings[name] !== undefined);
  if (fork === undefined) {
    if (given.length > 0) throw new UsageError(`--${SETTINGS[given[0]!].flag} needs --fork`);
    return;
  }
  if (!URL.canParse(fork) || !/^https?:$/.test(new URL(fork).protocol)) {
    // Without the value, because an RPC URL may hold a token.
    throw new UsageError("--fork must be the https:// or http:// URL of a Stellar RPC node");
  }
  if (state !== undefined) throw new UsageError("--fork and --state exclude each other: a fork is not stored");
  if (settings.networkPassphrase !== undefined) {
    throw new UsageError(
      "--fork and --network-passphrase exclude each other: a fork has the passphrase of its network",
    );
  }
  if (given.length === 0 || given.length === CONTRACT_SETTINGS.length) return;
  const missing = CONTRACT_SETTINGS.filter((name) => !given.includes(name)).map((name) => `--${SETTINGS[name].flag}`);
  throw new UsageError(`--${SETTINGS[given[0]!].flag} needs ${missing.join(" and ")}`);
}

function protocol(flag: string | undefined): number | undefined {
  if (flag === undefined) return undefined;
  if (/^\d+$/.test(flag) && hasHost(Number(flag))) return Number(flag);
  throw new UsageError(
    `--protocol must be ${HOSTS}, whose Soroban hosts this version has; got ${JSON.stringify(flag)}`,
  );
}

/** The code of the asset to issue, undefined for the native one. */
function assetCode(flag: string | undefined): string | undefined {
  if (flag === undefined || flag === "native") return undefined;
  if (/^[a-zA-Z0-9]{1,12}$/.test(flag)) return flag;
  throw new UsageError(
    `--asset must be 1 to 12 letters and digits such as USDC, or native; got ${JSON.stringify(flag)}`,
  );
}
