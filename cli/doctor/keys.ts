import { type Config, settingTitle } from "../../lib/config.ts";
import { hasExpired } from "../../lib/keys/api_key.ts";
import { fileState, openKeysFile } from "../../lib/keys/keys_file.ts";
import { KeysFileError } from "../../lib/keys/keys_file.ts";
import { KeyRecordsError, parseKeyRecords } from "../../lib/keys/key_record.ts";
import type { KeyRecord, Store } from "../../lib/store/store.ts";
import { shellWord } from "../terminal/shell_word.ts";
import type { ExaminedStore } from "./store.ts";
import { fail, type Finding, ok, skip, warn } from "./findings.ts";

const PAGE = 1_000;
/** Counting ends after so many pages. */
const MOST_PAGES = 100;
const CREATE = "create one: gateway keygen --name my-app --scopes read,write";
const RECORD = "put the output of gateway keygen --record into SERVICE_API_KEYS and restart the gateway";

/** Checks that the place of the API keys is readable, and that at least one key works. */
export async function examineKeys(config: Config, { store, isNew }: ExaminedStore, now: number): Promise<Finding> {
  try {
    if (config.keys !== undefined) return counted("SERVICE_API_KEYS", tally(parseKeyRecords(config.keys), now), config);
    if (config.keysFile !== undefined) return await fileFinding(config.keysFile, config, now);
  } catch (error) {
    if (!(error instanceof KeyRecordsError || error instanceof KeysFileError)) throw error;
    const where = error instanceof KeyRecordsError ? "SERVICE_API_KEYS: " : "";
    return fail("api keys", `${where}${error.message}`, "correct it, or create the keys again with gateway keygen");
  }
  if (isNew) return counted("the new store", tally([], now), config);
  if (store === undefined) return skip("api keys", "the store could not be read");
  return counted(store.location, await tallyOf(store, now), config);
}

async function fileFinding(path: string, config: Config, now: number): Promise<Finding> {
  const place = openKeysFile(path);
  const state = await fileState(path);
  if (state === undefined) {
    // No failure, because serve waits for the file.
    const found = `${place.location} does not exist, so the gateway answers every request with 401`;
    return warn("api keys", found, `correct the path, or ${CREATE}${inPlace(config)}`);
  }
  const finding = counted(place.location, await tallyOf(place, now), config);
  if ((state.mode & 0o077) === 0) return finding;
  return fail(
    "api keys",
    `${finding.found}; other users can read the file (mode ${state.mode.toString(8)})`,
    `chmod 600 ${shellWord(path)}`,
  );
}

interface Tally {
  keys: number;
  working: number;
  /** Disabled keys that have not expired, so enabling them helps. */
  disabled: number;
}

function tally(records: KeyRecord[], now: number): Tally {
  const current = records.filter((record) => !hasExpired(record, now));
  const working = current.filter(({ disabled }) => !disabled).length;
  return { keys: records.length, working, disabled: current.length - working };
}

async function tallyOf(place: { keys: Pick<Store["keys"], "list"> }, now: number): Promise<Tally> {
  const sum = tally([], now);
  let after: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const records = await place.keys.list({ after, limit: PAGE });
    const { keys, working, disabled } = tally(records, now);
    sum.keys += keys;
    sum.working += working;
    sum.disabled += disabled;
    if (records.length < PAGE) break;
    after = records.at(-1)!.id;
  }
  return sum;
}

function counted(location: string, { keys, working, disabled }: Tally, config: Config): Finding {
  if (working === 0) {
    const found = keys === 0
      ? `${location} holds no API keys, so the gateway answers every request with 401`
      : `none of the ${keys} keys in ${location} works`;
    const todo = disabled === 0 ? CREATE : "enable one: gateway keys enable ID";
    return warn("api keys", found, config.keys === undefined ? todo + inPlace(config) : RECORD);
  }
  const atLeast = keys === PAGE * MOST_PAGES ? "at least " : "";
  return ok("api keys", `${atLeast}${working} of ${keys} in ${location} ${working === 1 ? "works" : "work"}`);
}

/** The flags that lead a command to the keys of these settings. A URL of PostgreSQL may hold a password. */
function inPlace({ keysFile, store }: Config): string {
  if (keysFile !== undefined) return ` --keys-file ${shellWord(keysFile)}`;
  return store.startsWith("postgres") ? `, with this ${settingTitle("store")}` : ` --store ${shellWord(store)}`;
}
