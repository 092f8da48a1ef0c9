import { type Config, settingTitle } from "../../lib/config.ts";
import { hasExpired } from "../../lib/keys/api_key.ts";
import { fileState, openKeysFile } from "../../lib/keys/keys_file.ts";
import { KeysFileError } from "../../lib/keys/keys_file_error.ts";
import { KeyRecordsError, parseKeyRecords } from "../../lib/keys/key_record.ts";
import type { KeyRecord, Store } from "../../lib/store/store.ts";
import { shellWord } from "../terminal/shell_word.ts";
import type { ExaminedStore } from "./store.ts";
import { fail, type Finding, ok, skip, warn } from "./findings.ts";

const PAGE = 1_000;
/** More keys than this are counted no further. */
const MOST_PAGES = 100;
const CREATE = "create one: gateway keygen --name my-app --scopes read,write";
const RECORD = "put one into SERVICE_API_KEYS that gateway keygen --record prints, and restart the gateway";

/** API keys, in the one place the settings name: readable, and at least one that works. */
export async function examineKeys(config: Config, { store, isNew }: ExaminedStore, now: number): Promise<Finding> {
  try {
    if (config.keys !== undefined) return counted("SERVICE_API_KEYS", tally(parseKeyRecords(config.keys), now), config);
    if (config.keysFile !== undefined) return await fileFinding(config.keysFile, config, now);
  } catch (error) {
    if (!(error instanceof KeyRecordsError || error instanceof KeysFileError)) throw error;
    const where = error instanceof KeyRecordsError ? "SERVICE_API_KEYS: " : "";
    return fail("api keys", `${where}${error.message}`, "correct it, or make it anew with gateway keygen");
  }
  if (isNew) return counted("the store to be made", tally([], now), config);
  if (store === undefined) return skip("api keys", "the store is not read");
  return counted(store.location, await tallyOf(store, now), config);
}

async function fileFinding(path: string, config: Config, now: number): Promise<Finding> {
  const place = openKeysFile(path);
  const state = await fileState(path);
  if (state === undefined) {
    // As serve does, which waits for it.
    const found = `${place.location} is not there: every request is answered 401 until it is`;
    return warn("api keys", found, `correct the path, or ${CREATE}${inPlace(config)}`);
  }
  const finding = counted(place.location, await tallyOf(place, now), config);
  if ((state.mode & 0o077) === 0) return finding;
  return fail(
    "api keys",
    `${finding.found}; the file is open to other users (mode ${state.mode.toString(8)})`,
    `chmod 600 ${shellWord(path)}`,
  );
}

interface Tally {
  keys: number;
  working: number;
  /** Would work if they were enabled: who has expired stays out. */
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
      ? `${location} holds no API keys: every request is answered 401`
      : `none of the ${keys} keys in ${location} works`;
    const todo = disabled === 0 ? CREATE : "enable one: gateway keys enable ID";
    return warn("api keys", found, config.keys === undefined ? todo + inPlace(config) : RECORD);
  }
  const atLeast = keys === PAGE * MOST_PAGES ? "at least " : "";
  return ok("api keys", `${atLeast}${working} of ${keys} in ${location} ${working === 1 ? "works" : "work"}`);
}

/** What a command needs to find the keys where the settings have them. A URL of PostgreSQL may hold a password. */
function inPlace({ keysFile, store }: Config): string {
  if (keysFile !== undefined) return ` --keys-file ${shellWord(keysFile)}`;
  return store.startsWith("postgres") ? `, with this ${settingTitle("store")}` : ` --store ${shellWord(store)}`;
}
