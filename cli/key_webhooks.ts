import { existsSync } from "node:fs";
import type { KeyPlace } from "../lib/keys/key_place.ts";
import { type Store, StoreError } from "../lib/store/store.ts";
import type { CommandIo } from "./command.ts";
import { storeSetting } from "./store_setting.ts";

/** The webhooks of one API key. */
export interface KeyWebhooks {
  count: number;
  /** They are not in the place of the key: to delete it leaves them there. */
  areApart: boolean;
  /** Deletes those that there are by now, with what is still owed to them. */
  remove(): Promise<void>;
  close(): Promise<void>;
}

type WebhookPlace = Pick<Store, "subscriptions" | "close">;

/** A store in memory has no webhooks that are of interest here: it is no mistake either. */
const ANY = { isMemoryAllowed: true };

/** More than a key can have. */
const LIMIT = 1_000;

/**
 * Finds the webhooks of a key. They are in the store, also where keys are in a file.
 * @throws {UsageError} when the environment names what is no store
 */
export async function webhooksOfKey(place: KeyPlace, io: CommandIo, keyId: string): Promise<KeyWebhooks> {
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

function isStore(place: KeyPlace): place is KeyPlace & WebhookPlace {
  return "subscriptions" in place;
}

/** To look into a store must not make one. */
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
