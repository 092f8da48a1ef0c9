import { openKeysFile } from "../../lib/keys/keys_file.ts";
import { keySourceFromText } from "../../lib/keys/key_source.ts";
import type { KeyRecord, Store } from "../../lib/store/store.ts";

/** Finds the names of API keys, where the gateway has them. Null for a key that is gone. */
export function createKeyNames(
  { keys }: Pick<Store, "keys">,
  env: Record<string, string | undefined>,
): (id: string) => Promise<string | null> {
  const { SERVICE_API_KEYS: text, SERVICE_API_KEYS_FILE: path } = env;
  const places: { get(id: string): Promise<KeyRecord | undefined> }[] = [keys];
  // An empty variable counts as not set.
  if (text) places.push(keySourceFromText(text));
  else if (path) places.push(openKeysFile(path).keys);
  return async function nameOf(id) {
    for (const place of places) {
      const record = await place.get(id).catch(() => undefined);
      if (record !== undefined) return record.name;
    }
    return null;
  };
}
