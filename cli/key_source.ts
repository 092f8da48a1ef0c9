import type { Config } from "../lib/config.ts";
import { type KeySource, keySourceFromStore, keySourceFromText } from "../lib/keys/key_source.ts";
import { openKeysFileSource } from "../lib/keys/keys_file_source.ts";
import type { Log } from "../lib/log.ts";
import type { Store } from "../lib/store/store.ts";

/** The one place that the settings name for API keys: the environment, a keys file, or the store. */
export async function openKeySource(config: Config, store: Store, log: Log, now: () => number): Promise<KeySource> {
  if (config.keys !== undefined) return keySourceFromText(config.keys);
  if (config.keysFile === undefined) return keySourceFromStore(store);
  return await openKeysFileSource({ path: config.keysFile, now, onProblem: (message) => log.warn(message) });
}
