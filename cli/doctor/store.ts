import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type Config, settingTitle } from "../../lib/config.ts";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { inspectStore, type StoreInspection } from "../../lib/store/file/inspect.ts";
import { openStore } from "../../lib/store/open.ts";
import type { PostgresInspection } from "../../lib/store/postgres/inspect.ts";
import { type Store, StoreError } from "../../lib/store/store.ts";
import { comparedWith } from "../../lib/webhooks/secrets/reseal.ts";
import { createSecretCipher, SecretsKeyError } from "../../lib/webhooks/secrets/secrets.ts";
import { fail, type Finding, megabytes, ok, skip, warn } from "./findings.ts";

/** Below this the doctor warns. The write-ahead log alone may take 16 MB. */
const LITTLE_SPACE_BYTES = 200e6;

/** The store, for the other checks. */
export interface ExaminedStore {
  findings: Finding[];
  /** Open when its schema is current. The caller closes it. */
  store: Store | undefined;
  /** Whether the store does not exist yet, so that it is known to be empty. */
  isNew: boolean;
  /** Undefined when it could not be read. */
  isServed: boolean | undefined;
}

/** Checks that the store exists, is writable, and belongs to this network. Changes nothing in it. */
export async function examineStore({ store: setting, networkPassphrase }: Config): Promise<ExaminedStore> {
  const examined: ExaminedStore = { findings: [], store: undefined, isNew: false, isServed: undefined };
  try {
    const inspection = await inspect(setting);
    const { isServed, state } = inspection;
    if (state === "new" || state === "older") {
      return { ...examined, findings: [notOpened(inspection)], isNew: state === "new", isServed };
    }
    const store = await openStore(setting);
    const network = await store.network.bound().catch(async (error) => {
      await store.close();
      throw error;
    });
    return { ...examined, findings: [storeFinding(inspection, networkPassphrase, network)], store, isServed };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return { ...examined, findings: [fail("store", error.message, todoOf(error, setting))] };
  }
}

const NAME_A_FILE = `name a file in ${settingTitle("store")}, such as sqlite:gateway.db`;

/** Loads the PostgreSQL driver only for a store in PostgreSQL. */
async function inspect(setting: string): Promise<StoreInspection | PostgresInspection> {
  if (!isPostgres(setting)) return await inspectStore(setting);
  return await (await import("../../lib/store/postgres/inspect.ts")).inspectPostgres(setting);
}

const isPostgres = (setting: string) => /^postgres(ql)?:/.test(setting);

/** Whether this runtime has a driver for the setting. */
function isStore(setting: string): boolean {
  return /^(sqlite:.|memory:$)/s.test(setting) || (runtimeName === "deno" && setting.startsWith("deno-kv:"));
}

function todoOf({ kind }: StoreError, setting: string): string {
  if (kind === "locked") return "another program has locked it: find the program with lsof or fuser, and end it";
  if (kind === "full") return "make room on the disk";
  if (kind === "newer_schema") return "run the newer version, or start with a backup from before the upgrade";
  if (isPostgres(setting)) return `correct ${settingTitle("store")}, or check the database with psql`;
  if (!isStore(setting)) return NAME_A_FILE;
  const path = setting.slice(setting.indexOf(":") + 1);
  if (!existsSync(dirname(resolve(path)))) return `create the directory, or correct ${settingTitle("store")}`;
  // The message of a damaged store has its own advice.
  return `follow the message, or correct ${settingTitle("store")}, or owner and mode of the file and its directory`;
}

function notOpened({ location, state }: StoreInspection): Finding {
  if (state === "new") return ok("store", `${location} does not exist yet; the gateway can create it`);
  return warn(
    "store",
    `${location} is writable and has the schema of an older version`,
    `back it up with ${isPostgres(location) ? "pg_dump" : "gateway backup"}, because the next start upgrades it`,
  );
}

function storeFinding(
  inspection: StoreInspection | PostgresInspection,
  passphrase: string,
  network: string | undefined,
): Finding {
  const { location, state, bytes, freeBytes, isServed } = inspection;
  if (network !== undefined && network !== passphrase) {
    return fail(
      "store",
      `${location} belongs to the network ${JSON.stringify(network)}, the settings name ${JSON.stringify(passphrase)}`,
      `name another store in ${settingTitle("store")}, or correct ${settingTitle("networkPassphrase")}`,
    );
  }
  if (location === "memory:") {
    return warn("store", "memory: loses all data when the gateway ends", NAME_A_FILE);
  }
  if ("isExposed" in inspection) return postgresFinding(inspection);
  const size = state === "unbound" ? "" : `, ${megabytes(bytes)}`;
  const found = `${location} is writable${size}${isServed ? "; a gateway serves from it" : ""}`;
  if (freeBytes >= LITTLE_SPACE_BYTES) return ok("store", found);
  return warn("store", `${found}; its disk has ${megabytes(freeBytes)} left`, "make room on the disk");
}

function postgresFinding({ location, isServed, isExposed }: PostgresInspection): Finding {
  const found = `${location} is writable${isServed ? "; a gateway serves from it" : ""}`;
  if (!isExposed) return ok("store", found);
  return warn(
    "store",
    `${found}; the connection is not encrypted`,
    "enable TLS at the server, and add sslmode=verify-full to the URL",
  );
}

/**
 * Runs a check that reads the store. A damaged store, or a lost connection, becomes a finding, and the other checks follow.
 */
export async function readingStore(check: string, examine: () => Promise<Finding>): Promise<Finding> {
  try {
    return await examine();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return fail(check, error.message, "repair the store first: no gateway can work with it");
  }
}

/** Compares the key of webhook secrets with the secrets in the store. */
export async function examineSecrets({ secretsKey }: Config, { store, isNew }: ExaminedStore): Promise<Finding> {
  try {
    const cipher = createSecretCipher(secretsKey);
    if (store === undefined && !isNew) return skip("webhook secrets", "the store could not be read");
    const isSealed = store !== undefined && await comparedWith(store, cipher) === "same";
    if (!cipher.seals) return ok("webhook secrets", "stored unencrypted: SERVICE_API_SECRETS_KEY is not set");
    return ok("webhook secrets", isSealed ? "encrypted with the key of the settings" : "the next start encrypts them");
  } catch (error) {
    if (!(error instanceof SecretsKeyError)) throw error;
    return fail(
      "webhook secrets",
      error.message,
      "set the right key: without it no gateway starts",
    );
  }
}
