import { StrKey } from "@stellar/stellar-sdk";
import { z } from "zod";
import { MAX_UINT32 } from "./ledger_numbers.ts";
import { LOG_LEVELS } from "./log.ts";
import { percentDecoded } from "./percent_encoding.ts";

/** Prefix of every setting in the environment. */
export const ENV_PREFIX = "SERVICE_API_";

const integer = (min: number, max: number) =>
  z.string().regex(/^\d{1,15}$/, `must be an integer from ${min} to ${max}`).transform(Number)
    .refine((n) => n >= min && n <= max, `must be an integer from ${min} to ${max}`);

const contractId = z.string().refine((id) => StrKey.isValidContract(id), "must be a contract id (C…, 56 characters)");

/** The parser takes `https:1.1.1.1` for `https://1.1.1.1`: what is meant is written out here. */
const httpUrl = z.string().refine(
  (text) => /^https?:\/\/[^/]/i.test(text) && URL.canParse(text) && new URL(text).port !== "0",
  "must be an http:// or https:// URL with a host, and a port that is not 0",
);

const nodeUrl = httpUrl.pipe(
  z.string().refine((text) => {
    const { username, password } = new URL(text);
    return percentDecoded(`${username}:${password}`) !== undefined;
  }, "must be a URL that says %25 for a % in its user and password"),
);

/** A node that is named twice is one node: its own word does not confirm what it says. */
const withoutRepetitions = (urls: string[]) => [...new Map(urls.map((url) => [new URL(url).href, url])).values()];

/** The parts of a comma-separated value. */
export const list = (text: string) => text.split(",").map((part) => part.trim()).filter((part) => part !== "");

const ORIGINS =
  "must be origins such as https://app.example.com without wildcards, comma-separated, or * alone for all";

const origin = z.string().refine(
  (text) => text === "*" || (URL.canParse(text) && new URL(text).origin === text && !text.includes("*")),
  ORIGINS,
);

const ASSET_CODE = /^[A-Za-z0-9]{1,12}$/;

const asset = z.string().refine((text) => {
  const [code = "", issuer, more] = text.split(":");
  if (issuer === undefined) return text === "native" || StrKey.isValidContract(text);
  return more === undefined && ASSET_CODE.test(code) && StrKey.isValidEd25519PublicKey(issuer);
}, "must be assets, comma-separated: contract ids (C…), native or CODE:ISSUER");

export interface Setting<T> {
  /** Name in the environment, without the prefix. */
  env: string;
  /** Name of the flag, without the dashes; absent where a process list must not show the value. */
  flag?: string;
  /** The placeholder of its value in a help text, as in `--port N`. */
  value?: string;
  /** The default; undefined for none. */
  standard: string | undefined;
  help: string;
  /** Its value must not be shown, not even in an error. */
  secret?: boolean;
  schema: z.ZodType<T, string>;
}

const setting = <T>(s: Setting<T>): Setting<T> => s;

/** Every setting of the gateway, in the order of the table in docs/settings.md. */
export const SETTINGS = {
  host: setting({
    env: "HOST",
    flag: "host",
    value: "ADDRESS",
    standard: "127.0.0.1",
    help: "Address to listen on; 0.0.0.0 for all addresses",
    schema: z.string().min(1, "must be an address or a host name"),
  }),
  port: setting({
    env: "PORT",
    flag: "port",
    value: "N",
    standard: "8787",
    help: "Port to listen on; 0 picks a free one",
    schema: integer(0, 65_535),
  }),
  corsOrigins: setting({
    env: "CORS_ORIGINS",
    flag: "cors-origins",
    value: "LIST",
    standard: "",
    help: "Origins whose pages may call the gateway from a browser, comma-separated (default none)",
    // Beside a * the others would say nothing.
    schema: z.string().transform(list).pipe(
      z.array(origin).refine((all) => !all.includes("*") || all.length === 1, ORIGINS),
    ),
  }),
  defaultRate: setting({
    env: "DEFAULT_RATE",
    flag: "default-rate",
    value: "N",
    standard: "120",
    help: "Requests per minute of a key without its own rate",
    schema: integer(1, 1_000_000),
  }),
  store: setting({
    env: "STORE",
    flag: "store",
    value: "SETTING",
    // It differs by runtime, see `readConfig`.
    standard: undefined,
    help:
      "The store of keys, limits and history: sqlite:PATH, deno-kv:PATH (Deno only), postgres://USER@HOST/DATABASE for " +
      "several gateways, or memory: for tests",
    schema: z.string().min(1, "must be sqlite:PATH, deno-kv:PATH, postgres://… or memory:"),
  }),
  keysFile: setting({
    env: "KEYS_FILE",
    flag: "keys-file",
    value: "PATH",
    standard: undefined,
    help: "A JSON file with the API keys, instead of the store",
    schema: z.string().min(1, "must be a path"),
  }),
  keys: setting({
    env: "KEYS",
    standard: undefined,
    help: "API keys as `keygen --record` prints them, one record per line, instead of the store",
    secret: true,
    schema: z.string().min(1, "must be key records"),
  }),
  secretsKey: setting({
    env: "SECRETS_KEY",
    standard: undefined,
    help: "The key that encrypts webhook secrets in the store; change it with `gateway secrets rekey`",
    secret: true,
    schema: z.string().min(1, "must be a key"),
  }),
  rpcUrls: setting({
    env: "RPC_URL",
    flag: "rpc-url",
    value: "LIST",
    standard: "https://soroban-testnet.stellar.org",
    help: "Stellar RPC nodes, comma-separated; the gateway uses the first that works",
    secret: true,
    schema: z.string().transform(list).pipe(
      z.array(nodeUrl).min(1, "must be an http:// or https:// URL with a host, and a port that is not 0"),
    ).transform(withoutRepetitions),
  }),
  publicRpcUrl: setting({
    env: "PUBLIC_RPC_URL",
    flag: "public-rpc-url",
    value: "URL",
    standard: undefined,
    help: "The RPC URL that /v1/network shows, if the real one holds a token",
    schema: httpUrl,
  }),
  networkPassphrase: setting({
    env: "NETWORK_PASSPHRASE",
    flag: "network-passphrase",
    value: "TEXT",
    standard: "Test SDF Network ; September 2015",
    help: "Passphrase of the Stellar network",
    schema: z.string().min(1, "must not be empty"),
  }),
  deviceRegistry: setting({
    env: "DEVICE_REGISTRY",
    flag: "device-registry",
    value: "ID",
    standard: "CB4DPMGOA374JIB2ZVD4AHW5GJKQUYNOFGRYNOJ75EFH2KCJSMHOWIRA",
    help: "Contract id of the device registry",
    schema: contractId,
  }),
  agentRegistry: setting({
    env: "AGENT_REGISTRY",
    flag: "agent-registry",
    value: "ID",
    standard: "CBTDMJVCFQDIVWZBKAKZ2FQ3UEJNAAUFYCTJ3E4ON2MYXPLPSIXQ25JZ",
    help: "Contract id of the agent registry",
    schema: contractId,
  }),
  paymentEscrow: setting({
    env: "PAYMENT_ESCROW",
    flag: "payment-escrow",
    value: "ID",
    standard: "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX",
    help: "Contract id of the payment escrow",
    schema: contractId,
  }),
  assets: setting({
    env: "ASSETS",
    flag: "assets",
    value: "LIST",
    standard: undefined,
    help:
      "Accepted assets, a comma-separated list of contract ids, native or CODE:ISSUER; others are refused (default all)",
    // A list that came out empty must not accept every asset.
    schema: z.string().transform(list).pipe(
      z.array(asset).min(1, "must name an asset at least, or be left out where all are dealt in"),
    ),
  }),
  pollMs: setting({
    env: "POLL_MS",
    flag: "poll-ms",
    value: "N",
    standard: "1000",
    help: "Time between polls for new events, in milliseconds",
    schema: integer(50, 60_000),
  }),
  submitTimeoutMs: setting({
    env: "SUBMIT_TIMEOUT_MS",
    flag: "submit-timeout-ms",
    value: "N",
    standard: "60000",
    help: "Longest wait of a submit for its confirmation, in milliseconds",
    schema: integer(1_000, 240_000),
  }),
  firstLedger: setting({
    env: "FIRST_LEDGER",
    flag: "first-ledger",
    value: "N",
    standard: "1",
    help: "The event history of a new store begins no earlier than this ledger; 1 for all that a node holds",
    schema: integer(1, MAX_UINT32),
  }),
  maxFee: setting({
    env: "MAX_FEE",
    flag: "max-fee",
    value: "STROOPS",
    standard: "10000000",
    help: "The most that a prepared transaction may cost, in stroops, whatever the node estimates",
    schema: integer(100, 1_000_000_000_000),
  }),
  trustProxy: setting({
    env: "TRUST_PROXY",
    flag: "trust-proxy",
    value: "N",
    standard: "0",
    help: "How many proxies in front of the gateway may add to X-Forwarded-For",
    schema: integer(0, 10),
  }),
  retentionDays: setting({
    env: "RETENTION_DAYS",
    flag: "retention-days",
    value: "N",
    standard: "0",
    help: "Days to keep events and dead deliveries; 0 keeps them for ever",
    schema: integer(0, 36_500),
  }),
  attemptRetentionDays: setting({
    env: "ATTEMPT_RETENTION_DAYS",
    flag: "attempt-retention-days",
    value: "N",
    standard: "30",
    help: "Days to keep the attempts of webhook deliveries; 0 keeps them for ever",
    schema: integer(0, 36_500),
  }),
  reconcileHours: setting({
    env: "RECONCILE_HOURS",
    flag: "reconcile-hours",
    value: "N",
    standard: "24",
    help: "Hours between two reconciliations of the log with the contracts; 0 for none",
    schema: integer(0, 8_760),
  }),
  metricsToken: setting({
    env: "METRICS_TOKEN",
    standard: undefined,
    help: "The bearer token for Prometheus metrics at /metrics; without it there is no such page",
    secret: true,
    schema: z.string().regex(/^\S{16,256}$/, "must be 16 to 256 characters without spaces"),
  }),
  pages: setting({
    env: "PAGES",
    flag: "pages",
    value: "STATE",
    standard: "on",
    help: "Serve the pages for browsers and /openapi.json: on or off",
    schema: z.enum(["on", "off"], "must be on or off"),
  }),
  log: setting({
    env: "LOG",
    flag: "log",
    value: "FORM",
    standard: "auto",
    help: "Form of the log lines: json, pretty, or auto, which is pretty on a terminal and json elsewhere",
    schema: z.enum(["auto", "json", "pretty"], "must be auto, json or pretty"),
  }),
  logLevel: setting({
    env: "LOG_LEVEL",
    flag: "log-level",
    value: "LEVEL",
    standard: "info",
    help: "Lowest level to log: debug, info, warn or error",
    schema: z.enum(LOG_LEVELS, "must be debug, info, warn or error"),
  }),
} as const;

export type SettingName = keyof typeof SETTINGS;

/** A setting as people may have given it, right for environment and flag alike: `SERVICE_API_STORE (--store)`. */
export function settingTitle(name: SettingName): string {
  const { env, flag }: { env: string; flag?: string } = SETTINGS[name];
  return flag === undefined ? ENV_PREFIX + env : `${ENV_PREFIX}${env} (--${flag})`;
}

/** The gateway's settings. */
export type Config = {
  [N in SettingName]: (typeof SETTINGS)[N] extends Setting<infer T> ? (N extends OptionalSetting ? T | undefined : T)
    : never;
};
type OptionalSetting = "assets" | "keysFile" | "keys" | "secretsKey" | "publicRpcUrl" | "metricsToken";

/** A setting or flag is wrong: the message is one line that names it, what it was and what is allowed. */
export class ConfigError extends Error {
  override name = "ConfigError";
  readonly kind = "setting";
}
