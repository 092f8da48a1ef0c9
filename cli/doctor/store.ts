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

/** Less than this on the disk is worth a word: the write-ahead log alone may take 16 MB. */
const LITTLE_SPACE_BYTES = 200e6;

/** What the rest of the checks may use of the store. */
export interface ExaminedStore {
  findings: Finding[];
  /** Open where it can be read as it is; the caller closes it. */
  store: Store | undefined;
  /** Nothing is there yet: all that is in it is known. */
  isNew: boolean;
  isServed: boolean;
}

/** The store: there, ours, writable, of this network. Changes nothing in it. */
export async function examineStore({ store: setting, networkPassphrase }: Config): Promise<ExaminedStore> {
  const examined: ExaminedStore = { findings: [], store: undefined, isNew: false, isServed: false };
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

/** What speaks to PostgreSQL is loaded only where the store is there. */
async function inspect(setting: string): Promise<StoreInspection | PostgresInspection> {
  if (!isPostgres(setting)) return await inspectStore(setting);
  return await (await import("../../lib/store/postgres/inspect.ts")).inspectPostgres(setting);
}

const isPostgres = (setting: string) => /^postgres(ql)?:/.test(setting);

/** Whether a setting is of a form that this runtime knows. */
function isStore(setting: string): boolean {
  return /^(sqlite:.|memory:$)/s.test(setting) || (runtimeName === "deno" && setting.startsWith("deno-kv:"));
}

function todoOf({ kind }: StoreError, setting: string): string {
  if (kind === "locked") return "another program holds it: find it with lsof or fuser, and end it";
  if (kind === "full") return "make room on the disk";
  if (kind === "newer_schema") return "run the newer version, or start on a backup made before";
  if (isPostgres(setting)) return `correct ${settingTitle("store")}, or the database: ask its server with psql`;
  if (!isStore(setting)) return NAME_A_FILE;
  const path = setting.slice(setting.indexOf(":") + 1);
  if (!existsSync(dirname(resolve(path)))) return `make the directory, or correct ${settingTitle("store")}`;
  // What is damaged, or left of a database that is gone, is no matter of settings: the finding has its own words.
  return `do as it says, or correct ${settingTitle("store")}, or owner and mode of the file and its directory`;
}

function notOpened({ location, state }: StoreInspection): Finding {
  if (state === "new") return ok("store", `${location} is not there yet; it can be made`);
  return warn(
    "store",
    `${location} is writable and has the schema of an older program`,
    `copy it with ${isPostgres(location) ? "pg_dump" : "gateway backup"}: the next start changes it`,
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
      `${location} belongs to the network ${JSON.stringify(network)}, the settings say ${JSON.stringify(passphrase)}`,
      `name another store in ${settingTitle("store")}, or correct ${settingTitle("networkPassphrase")}`,
    );
  }
  if (location === "memory:") {
    return warn("store", "memory: everything is gone when the gateway ends", NAME_A_FILE);
  }
  if ("isExposed" in inspection) return postgresFinding(inspection);
  const size = state === "unbound" ? "" : `, ${megabytes(bytes)}`;
  const found = `${location} is writable${size}${isServed ? "; a gateway serves from it" : ""}`;
  if (freeBytes >= LITTLE_SPACE_BYTES) return ok("store", found);
  return warn("store", `${found}; ${megabytes(freeBytes)} are left on its disk`, "make room on the disk");
}

function postgresFinding({ location, isServed, isExposed }: PostgresInspection): Finding {
  const found = `${location} is writable${isServed ? "; a gateway serves from it" : ""}`;
  if (!isExposed) return ok("store", found);
  return warn(
    "store",
    `${found}; the way to it is not encrypted`,
    "let the server use TLS, and add sslmode=verify-full",
  );
}

/**
 * A check that reads the store. One that could be opened may fail all the same, where a part of it is damaged or its
 * database has just gone away: that is a finding, and the rest is looked at.
 */
export async function readingStore(check: string, examine: () => Promise<Finding>): Promise<Finding> {
  try {
    return await examine();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return fail(check, error.message, "see to the store first: no gateway can work on it");
  }
}

/** The key of the webhook secrets against what the store keeps. */
export async function examineSecrets({ secretsKey }: Config, { store, isNew }: ExaminedStore): Promise<Finding> {
  try {
    const cipher = createSecretCipher(secretsKey);
    if (store === undefined && !isNew) return skip("webhook secrets", "the store is not read");
    const isSealed = store !== undefined && await comparedWith(store, cipher) === "same";
    if (!cipher.seals) return ok("webhook secrets", "kept plain in the store: SERVICE_API_SECRETS_KEY is not set");
    return ok("webhook secrets", isSealed ? "sealed with the key of the settings" : "the next start seals them");
  } catch (error) {
    if (!(error instanceof SecretsKeyError)) throw error;
    return fail(
      "webhook secrets",
      error.message,
      "no gateway starts before: without the right key webhooks cannot be signed",
    );
  }
}
