import type { Config } from "../lib/config.ts";
import { openKeysFileSource } from "../lib/keys/keys_file_source.ts";
import { type KeySource, keySourceFromStore, keySourceFromText } from "../lib/keys/key_source.ts";
import type { Log } from "../lib/log.ts";
import type { Store } from "../lib/store/store.ts";

export interface OpenedKeys {
  source: KeySource;
  /** For people: where the keys live. */
  location: string;
  /** Whether this place is known to hold not a single key. */
  areNone: boolean;
}

/** The one place that the settings name for API keys: the environment, a keys file, or the store. */
export async function openKeySource(config: Config, store: Store, log: Log, now: () => number): Promise<OpenedKeys> {
  if (config.keys !== undefined) {
    return { source: keySourceFromText(config.keys), location: "SERVICE_API_KEYS", areNone: false };
  }
  if (config.keysFile !== undefined) {
    const onProblem = (message: string) => log.warn(message);
    const source = await openKeysFileSource({ path: config.keysFile, now, onProblem });
    return { source, location: config.keysFile, areNone: false };
  }
  const areNone = (await store.listKeys({ limit: 1 })).length === 0;
  return { source: keySourceFromStore(store), location: store.location, areNone };
}
