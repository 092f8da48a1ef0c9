import { readFileSync } from "node:fs";
import { percentDecoded } from "../../percent_encoding.ts";
import { StoreError } from "../store_error.ts";

/** The location of a PostgreSQL store, and the way to it. */
export interface PostgresSetting {
  /** For people: without user and password. */
  location: string;
  /** A host name, an address, or the absolute path of a directory with a Unix socket. */
  host: string;
  port: number;
  database: string;
  user: string | undefined;
  password: string | undefined;
  schema: string;
  /** `prefer`: encrypted if the server can. `require`: always encrypted. `verify-full`: the certificate must also match the host. */
  sslmode: "disable" | "prefer" | "require" | "verify-full";
  /** Certificates of authorities that replace the runtime's, PEM. */
  certificateAuthorities: string | undefined;
  /** Whether statements have names. A transaction pooler does not support them. */
  prepare: boolean;
  /** The most connections this process has open at once. */
  poolSize: number;
}

const DEFAULT_SCHEMA = "gateway";
const DEFAULT_PORT = 5_432;
const SSL_MODES = ["disable", "prefer", "require", "verify-full"] as const;
/** Libpq's own that change nothing here: services hand out URLs with them. */
const PASSED_OVER = ["channel_binding", "application_name", "connect_timeout", "target_session_attrs", "gssencmode"];
const PARAMETERS = ["sslmode", "sslrootcert", "prepare", "pool", "schema", "host"];

/**
 * Parses a setting: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?…`. Without a password, PGPASSWORD counts.
 * Parameters: `sslmode`, `sslrootcert` (a PEM file), `prepare`, `pool`, `schema`, and `host`, the directory of a socket.
 * @throws StoreError `setting`, which names the wrong part, and `unavailable` for a file that cannot be read. Without
 * credentials
 */
export function parsePostgresSetting(setting: string, env = process.env): PostgresSetting {
  const url = URL.canParse(setting) ? new URL(setting) : undefined;
  if (url === undefined || !/^postgres(ql)?:$/.test(url.protocol)) {
    const advice = /[#?/@:].*@/s.test(setting.replace(/^[a-z]+:\/\/[^:@]*:?/, "")) ? PERCENT_ADVICE : "";
    throw wrong(
      `the store must be a URL such as postgres://USER:PASSWORD@HOST:5432/DATABASE: this one cannot be read${advice}`,
    );
  }
  if (url.hash !== "") throw wrong(`the store's URL must have no fragment (#…)${PERCENT_ADVICE}`);
  const parameters = url.searchParams;
  for (const name of parameters.keys()) {
    if (PARAMETERS.includes(name) || PASSED_OVER.includes(name)) continue;
    throw wrong(`the store's URL has an unknown parameter ${JSON.stringify(name)}: known are ${PARAMETERS.join(", ")}`);
  }
  const database = decoded(url.pathname.slice(1));
  if (database === "") throw wrong("the store's URL must name a database: postgres://USER@HOST:5432/DATABASE");
  const schema = parameters.get("schema") ?? DEFAULT_SCHEMA;
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema) || schema.startsWith("pg_")) {
    throw wrong(
      `schema must be up to 63 lower-case letters, digits and underscores, not pg_…, got ${JSON.stringify(schema)}`,
    );
  }
  const host = hostOf(url);
  const port = Number(url.port || DEFAULT_PORT);
  return {
    location: locationOf(host, port, database, schema),
    host,
    port,
    database,
    user: decoded(url.username) || undefined,
    password: decoded(url.password) || env.PGPASSWORD || undefined,
    schema,
    ...securityOf(parameters),
    prepare: oneOf(parameters, "prepare", ["true", "false"], "true") === "true",
    poolSize: poolSizeOf(parameters.get("pool") ?? "10"),
  };
}

const PERCENT_ADVICE = ". In a user or a password write # as %23, / as %2F, ? as %3F, @ as %40 and : as %3A";

function decoded(part: string): string {
  const text = percentDecoded(part);
  if (text === undefined) throw wrong("the store's URL must say %25 for a %, in a user and a password as well");
  return text;
}

function hostOf(url: URL): string {
  const directory = url.searchParams.get("host");
  if (directory !== null && !directory.startsWith("/")) {
    throw wrong("host, as a parameter, must be the directory of a Unix socket, which stands instead of the URL's host");
  }
  const host = directory ?? decoded(url.hostname.replace(/^\[(.*)\]$/, "$1"));
  if (host === "") throw wrong("the store's URL must name a host: postgres://USER@HOST:5432/DATABASE");
  return host;
}

function locationOf(host: string, port: number, database: string, schema: string): string {
  const isSocket = host.startsWith("/");
  const address = isSocket ? "" : host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  const parameters = [
    ...(isSocket ? [`host=${host}`] : []),
    ...(schema === DEFAULT_SCHEMA ? [] : [`schema=${schema}`]),
  ];
  const query = parameters.length === 0 ? "" : `?${parameters.join("&")}`;
  return `postgres://${address}/${encodeURIComponent(database)}${query}`;
}

function securityOf(parameters: URLSearchParams): Pick<PostgresSetting, "sslmode" | "certificateAuthorities"> {
  const path = parameters.get("sslrootcert");
  const sslmode = oneOf(parameters, "sslmode", SSL_MODES, path === null ? "prefer" : "verify-full");
  if (path === null) return { sslmode, certificateAuthorities: undefined };
  if (sslmode !== "verify-full") throw wrong(`sslrootcert is of use with sslmode=verify-full, not with ${sslmode}`);
  try {
    return { sslmode, certificateAuthorities: readFileSync(path, "utf8") };
  } catch (error) {
    throw new StoreError("unavailable", `sslrootcert cannot be read: ${(error as Error).message}`);
  }
}

function oneOf<T extends string>(parameters: URLSearchParams, name: string, allowed: readonly T[], standard: T): T {
  const value = parameters.get(name) ?? standard;
  if (allowed.includes(value as T)) return value as T;
  throw wrong(`${name} must be ${allowed.join(", ")}, got ${JSON.stringify(value)}`);
}

function poolSizeOf(text: string): number {
  const size = Number(text);
  if (/^\d{1,3}$/.test(text) && size >= 1 && size <= 100) return size;
  throw wrong(`pool must be an integer from 1 to 100, got ${JSON.stringify(text)}`);
}

function wrong(message: string): StoreError {
  return new StoreError("setting", message);
}
