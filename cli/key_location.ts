import { existsSync } from "node:fs";
import type { KeyLocation } from "../lib/keys/keys_file.ts";
import { type Store, StoreError } from "../lib/store/store.ts";
import { type CommandIo, type Flags, UsageError } from "./command.ts";
import type { KEY_PLACE_ROWS } from "./help.ts";
import { storeSetting } from "./store_setting.ts";

type PlaceFlags = Flags<typeof KEY_PLACE_ROWS>;

export interface PlaceOptions {
  /** Refuses a place that does not exist instead of creating it. */
  mustExist: boolean;
}

/**
 * Runs `use` on the place of the API keys and returns its exit code. A flag names the place, else `SERVICE_API_KEYS_FILE`,
 * else `SERVICE_API_STORE`. The default is the runtime's store in the working directory.
 * @throws {UsageError} for two places, an unknown place, and a store in memory
 * @throws {StoreError | KeysFileError} when the place cannot be used
 */
export async function withKeyLocation(
  flags: PlaceFlags,
  io: CommandIo,
  options: PlaceOptions,
  use: (place: KeyLocation) => Promise<number>,
): Promise<number> {
  const place = await openKeyPlace(chosenPlace(flags, io.env), io, options);
  try {
    return await use(place);
  } finally {
    await place.close();
  }
}

/** Loads only the kind that is used, which saves start-up time. */
async function openKeyPlace({ path, setting }: Place, io: CommandIo, options: PlaceOptions): Promise<KeyLocation> {
  if (path !== undefined) {
    const { openKeysFile, requireKeysFile } = await import("../lib/keys/keys_file.ts");
    if (options.mustExist) await requireKeysFile(path);
    return openKeysFile(path);
  }
  const onNotice = (notice: string) => io.stderr(`${notice}\n`);
  return await (await import("../lib/store/open.ts")).openStore(setting, { ...options, onNotice });
}

type Place = { path: string; setting?: undefined } | { path?: undefined; setting: string };

function chosenPlace(flags: PlaceFlags, env: Record<string, string | undefined>): Place {
  const path = flags["keys-file"];
  if (path !== undefined && flags.store !== undefined) {
    throw new UsageError("--store and --keys-file exclude each other: keys are in exactly one place");
  }
  if (path !== undefined) return { path };
  if (flags.store !== undefined) return { setting: storeSetting(flags.store, env) };
  // An empty variable counts as not set.
  if (env.SERVICE_API_KEYS) {
    throw new UsageError(
      "SERVICE_API_KEYS holds the keys, and no command can change it: create a record for it with keygen --record, or " +
        "name another place with --store or --keys-file",
    );
  }
  if (env.SERVICE_API_KEYS_FILE) return { path: env.SERVICE_API_KEYS_FILE };
  return { setting: storeSetting(undefined, env) };
}

/** The webhooks of one API key. */
export interface KeyWebhooks {
  count: number;
  /** Whether the webhooks are in another place than the key, so that deleting the key leaves them there. */
  areApart: boolean;
  /** Deletes the key's webhooks and their pending deliveries. */
  remove(): Promise<void>;
  close(): Promise<void>;
}

type WebhookPlace = Pick<Store, "subscriptions" | "close">;

/** A store in memory is no mistake here. It has no webhooks. */
const ANY = { isMemoryAllowed: true };

/** More webhooks than a key can have. */
const LIMIT = 1_000;

/**
 * Finds the webhooks of a key. They are in the store even when the keys are in a file.
 * @throws {UsageError} when the environment names no valid store
 */
export async function webhooksOfKey(place: KeyLocation, io: CommandIo, keyId: string): Promise<KeyWebhooks> {
  const opened = isStore(place) ? undefined : await openIfThere(storeSetting(undefined, io.env, ANY));
  const store = isStore(place) ? place : opened;
  const list = async () => await store?.subscriptions.list({ keyId, limit: LIMIT }) ?? [];
  return {
    count: (await list()).length,
    areApart: opened !== undefined,
    async remove() {
      for (const { id } of await list()) await store!.subscriptions.delete(id);
    },
    async close() {
      await opened?.close();
    },
  };
}

function isStore(place: KeyLocation): place is KeyLocation & WebhookPlace {
  return "subscriptions" in place;
}

/** Opens a store, or returns undefined when there is none. It never creates one. */
async function openIfThere(setting: string): Promise<WebhookPlace | undefined> {
  const path = /^(?:sqlite|deno-kv):(.+)$/s.exec(setting)?.[1];
  if (path !== undefined && !existsSync(path)) return undefined;
  if (setting === "memory:") return undefined;
  try {
    return await (await import("../lib/store/open.ts")).openStore(setting, { mustExist: path === undefined });
  } catch (error) {
    if (error instanceof StoreError && error.kind === "missing") return undefined;
    throw error;
  }
}
