import type { KeyPlace } from "../lib/keys/key_place.ts";
import { defaultStoreSetting } from "../lib/store/default_store.ts";
import { type CommandIo, UsageError } from "./command.ts";

/** The flags that name a place for keys. */
export const PLACE_FLAGS = { store: "text", "keys-file": "text" } as const;

export interface PlaceFlags {
  store?: string;
  "keys-file"?: string;
}

/**
 * Runs `use` on the place where this environment keeps its keys: what a flag names, else the keys file of the settings,
 * else their store, else the runtime's own store in the working directory. Answers the exit code of
 * `use`.
 * @throws {UsageError} when no place is named, or two.
 * @throws {StoreError | KeysFileError} when the place cannot be used.
 */
export async function withKeyPlace(
  flags: PlaceFlags,
  io: CommandIo,
  use: (place: KeyPlace) => Promise<number>,
): Promise<number> {
  const place = await openKeyPlace(chosenPlace(flags, io.env), io);
  try {
    return await use(place);
  } finally {
    await place.close();
  }
}

/** Each kind is loaded only when it is used, so that the other does not cost its start. */
async function openKeyPlace({ path, setting }: Place, io: CommandIo): Promise<KeyPlace> {
  if (path !== undefined) return (await import("../lib/keys/keys_file.ts")).openKeysFile(path);
  if (setting === "memory:") {
    throw new UsageError("the store memory: is gone when the command ends: name another with --store or --keys-file");
  }
  return await (await import("../lib/store/open_store.ts")).openStore(setting, (notice) => io.stderr(`${notice}\n`));
}

type Place = { path: string; setting?: undefined } | { path?: undefined; setting: string };

function chosenPlace(flags: PlaceFlags, env: Record<string, string | undefined>): Place {
  const path = flags["keys-file"];
  if (path !== undefined && flags.store !== undefined) {
    throw new UsageError("--store and --keys-file are both given: keys live in exactly one place");
  }
  if (path !== undefined) return { path };
  if (flags.store !== undefined) return { setting: flags.store };
  // An empty variable is one that is not set, as everywhere.
  if (env.SERVICE_API_KEYS) {
    throw new UsageError(
      "the keys of this environment are in SERVICE_API_KEYS, which no command can change: make a record for it with " +
        "keygen --record, or name another place with --store or --keys-file",
    );
  }
  if (env.SERVICE_API_KEYS_FILE) return { path: env.SERVICE_API_KEYS_FILE };
  return { setting: env.SERVICE_API_STORE || defaultStoreSetting() };
}
