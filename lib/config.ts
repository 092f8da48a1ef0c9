import { StrKey } from "@stellar/stellar-sdk";
import { z } from "zod";
import { LOG_LEVELS } from "./log.ts";
import { percentDecoded } from "./percent_encoding.ts";
import { defaultStoreSetting } from "./runtime/default_store.ts";

/** Prefix of every setting in the environment. */
export const ENV_PREFIX = "SERVICE_API_";

const integer = (min: number, max: number) =>
  z.string().regex(/^\d{1,15}$/, `must be an integer from ${min} to ${max}`).transform(Number)
    .refine((n) => n >= min && n <= max, `must be an integer from ${min} to ${max}`);

const contractId = z.string().refine((id) => StrKey.isValidContract(id), "must be a contract id (C…, 56 characters)");

/** The URL parser accepts `https:1.1.1.1` as `https://1.1.1.1`; this schema does not. */
const httpUrl = z.string().refine(
  (text) => /^https?:\/\/[^/]/i.test(text) && URL.canParse(text) && new URL(text).port !== "0",
  "must be an http:// or https:// URL with a host, and a port that is not 0",
);

const nodeUrl = httpUrl.pipe(
  z.string().refine((text) => {
    const { username, password } = new URL(text);
    return percentDecoded(`${username}:${password}`) !== undefined;
  }, "must be a URL with %25 for each % in its user and password"),
);

/** Two equal URLs are one node, and a node must not confirm its own answers. */
const withoutRepetitions = (urls: string[]) => [...new Map(urls.map((url) => [new URL(url).href, url])).values()];

/** The parts of a comma-separated value. */
export const list = (text: string) => text.split(",").map((part) => part.trim()).filter((part) => part !== "");

const ORIGINS = "must be origins such as https://app.example.com without wildcards, comma-separated, or * alone for all";

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
  /** Name of the flag, without the dashes. Absent for a value that must not appear in a process list. */
  flag?: string;
  /** Placeholder of the value in a help text, as in `--port N`. */
  value?: string;
  /** Default value; undefined for none. */
  standard: string | undefined;
  help: string;
  /** No output may show the value, not even an error. */
  secret?: boolean;
  schema: z.ZodType<T, string>;
}

const setting = <T>(s: Setting<T>): Setting<T> => s;

/** Every setting of the gateway, in the order of the table in docs/run-it.md. */
export const SETTINGS = {
  host: setting({
    env: "HOST",
    flag: "host",
    value: "ADDRESS",
    standard: "127.0.0.1",
    help: "Address to listen on; 0.0.0.0 for all",
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
    help: "Origins of browser pages that may call the gateway, comma-separated; none by default",
    // Other origins beside * would have no effect.
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
    standard: defaultStoreSetting(),
    help:
      "Store of keys, limits and history: sqlite:PATH, deno-kv:PATH (Deno only), postgres://USER@HOST/DATABASE (several " +
      "gateways can share it) or memory:",
    schema: z.string().min(1, "must be sqlite:PATH, deno-kv:PATH, postgres://… or memory:"),
  }),
  keysFile: setting({
    env: "KEYS_FILE",
    flag: "keys-file",
    value: "PATH",
    standard: undefined,
    help: "JSON file with the API keys, instead of the keys in the store",
    schema: z.string().min(1, "must be a path"),
  }),
  keys: setting({
    env: "KEYS",
    standard: undefined,
    help: "API key records from `keygen --record`, instead of the keys in the store",
    secret: true,
    schema: z.string().min(1, "must be key records"),
  }),
  secretsKey: setting({
    env: "SECRETS_KEY",
    standard: undefined,
    help: "Key that encrypts the webhooks' signing secrets in the store; change it with `gateway secrets rekey`",
    secret: true,
    schema: z.string().min(1, "must be a key"),
  }),
  rpcUrls: setting({
    env: "RPC_URL",
    flag: "rpc-url",
    value: "LIST",
    standard: "https://soroban-testnet.stellar.org",
    help: "Stellar RPC nodes, comma-separated; the gateway calls the first healthy one",
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
    help: "RPC URL that /v1/network shows, for a real URL with a token",
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
    help: "Accepted assets, comma-separated: contract ids, native or CODE:ISSUER. The default is all",
    // An empty list must not mean all assets: the operator wants few.
    schema: z.string().transform(list).pipe(
      z.array(asset).min(1, "must name at least one asset, or be absent to accept all"),
    ),
  }),
  pollMs: setting({
    env: "POLL_MS",
    flag: "poll-ms",
    value: "N",
    standard: "1000",
    help: "Interval between polls of the node for new events, in milliseconds",
    schema: integer(50, 60_000),
  }),
  submitTimeoutMs: setting({
    env: "SUBMIT_TIMEOUT_MS",
    flag: "submit-timeout-ms",
    value: "N",
    standard: "60000",
    help: "Most time that a submit waits for its confirmation, in milliseconds",
    schema: integer(1_000, 240_000),
  }),
  trustProxy: setting({
    env: "TRUST_PROXY",
    flag: "trust-proxy",
    value: "N",
    standard: "0",
    help: "Number of trusted proxies in front of the gateway, for X-Forwarded-For",
    schema: integer(0, 10),
  }),
  retentionDays: setting({
    env: "RETENTION_DAYS",
    flag: "retention-days",
    value: "N",
    standard: "0",
    help: "Days for which the gateway stores events and dead deliveries; 0 for ever",
    schema: integer(0, 36_500),
  }),
  attemptRetentionDays: setting({
    env: "ATTEMPT_RETENTION_DAYS",
    flag: "attempt-retention-days",
    value: "N",
    standard: "30",
    help: "Days for which the gateway stores delivery attempts; 0 for ever",
    schema: integer(0, 36_500),
  }),
  metricsToken: setting({
    env: "METRICS_TOKEN",
    standard: undefined,
    help: "Bearer token for Prometheus metrics at /metrics; without it there is no such page",
    secret: true,
    schema: z.string().regex(/^\S{16,256}$/, "must be 16 to 256 characters without spaces"),
  }),
  pages: setting({
    env: "PAGES",
    flag: "pages",
    value: "STATE",
    standard: "on",
    help: "Pages for browsers and /openapi.json: on or off",
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
    help: "Lowest log level: debug, info, warn or error",
    schema: z.enum(LOG_LEVELS, "must be debug, info, warn or error"),
  }),
} as const;

export type SettingName = keyof typeof SETTINGS;

/** Name of a setting for messages, with its environment variable and flag: `SERVICE_API_STORE (--store)`. */
export function settingTitle(name: SettingName): string {
  const { env, flag }: { env: string; flag?: string } = SETTINGS[name];
  return flag === undefined ? ENV_PREFIX + env : `${ENV_PREFIX}${env} (--${flag})`;
}

/** The settings of a gateway. */
export type Config = {
  [N in SettingName]: (typeof SETTINGS)[N] extends Setting<infer T> ? (N extends OptionalSetting ? T | undefined : T)
    : never;
};
type OptionalSetting = "assets" | "keysFile" | "keys" | "secretsKey" | "publicRpcUrl" | "metricsToken";

/** A setting or flag is wrong. The message is one line with its name, its value and the allowed values. */
export class ConfigError extends Error {
  override name = "ConfigError";
  readonly kind = "setting";
}
