import type { Config } from "../../lib/config.ts";
import { fileState, openKeysFile } from "../../lib/keys/keys_file.ts";
import { KeysFileError } from "../../lib/keys/keys_file_error.ts";
import { KeyRecordsError, parseKeyRecords } from "../../lib/keys/key_record.ts";
import type { KeyRecord, Store } from "../../lib/store/store.ts";
import type { ExaminedStore } from "./store.ts";
import { fail, type Finding, ok, skip, warn } from "./findings.ts";

const PAGE = 1_000;
/** More keys than this are counted no further. */
const MOST_PAGES = 100;
const CREATE = "create one: gateway keygen --name my-app --scopes read,write";

/** API keys, in the one place the settings name: readable, and at least one that works. */
export async function examineKeys(config: Config, { store, isNew }: ExaminedStore, now: number): Promise<Finding> {
  try {
    if (config.keys !== undefined) return counted("SERVICE_API_KEYS", tally(parseKeyRecords(config.keys), now));
    if (config.keysFile !== undefined) return await fileFinding(config.keysFile, now);
  } catch (error) {
    if (!(error instanceof KeyRecordsError || error instanceof KeysFileError)) throw error;
    const where = error instanceof KeyRecordsError ? "SERVICE_API_KEYS: " : "";
    return fail("api keys", `${where}${error.message}`, "correct it, or make it anew with gateway keygen");
  }
  if (isNew) return counted("the store to be made", { keys: 0, working: 0 });
  if (store === undefined) return skip("api keys", "the store is not read");
  return counted(store.location, await tallyOf(store, now));
}

async function fileFinding(path: string, now: number): Promise<Finding> {
  const place = openKeysFile(path);
  const state = await fileState(path);
  if (state === undefined) {
    // As serve does, which waits for it.
    const found = `${place.location} is not there: every request is answered 401 until it is`;
    return warn("api keys", found, `correct the path, or ${CREATE} --keys-file ${path}`);
  }
  const finding = counted(place.location, await tallyOf(place, now));
  if ((state.mode & 0o077) === 0) return finding;
  return fail(
    "api keys",
    `${finding.found}; the file is open to other users (mode ${state.mode.toString(8)})`,
    `chmod 600 ${path}`,
  );
}

interface Tally {
  keys: number;
  working: number;
}

function tally(records: KeyRecord[], now: number): Tally {
  const works = ({ disabled, expiresAt }: KeyRecord) =>
    !disabled && (expiresAt === undefined || Date.parse(expiresAt) > now);
  return { keys: records.length, working: records.filter(works).length };
}

async function tallyOf(place: { keys: Pick<Store["keys"], "list"> }, now: number): Promise<Tally> {
  const sum: Tally = { keys: 0, working: 0 };
  let after: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const records = await place.keys.list({ after, limit: PAGE });
    const { keys, working } = tally(records, now);
    sum.keys += keys;
    sum.working += working;
    if (records.length < PAGE) break;
    after = records.at(-1)!.id;
  }
  return sum;
}

function counted(location: string, { keys, working }: Tally): Finding {
  if (keys === 0) return warn("api keys", `${location} holds no API keys: every request is answered 401`, CREATE);
  if (working === 0) {
    return warn("api keys", `none of the ${keys} keys in ${location} works`, "enable one: gateway keys enable ID");
  }
  const atLeast = keys === PAGE * MOST_PAGES ? "at least " : "";
  return ok("api keys", `${atLeast}${working} of ${keys} in ${location} ${working === 1 ? "works" : "work"}`);
}
