import type { Kv, KvAtomic, KvEntryMaybe, KvKey } from "../runtime/kv.ts";
import { isLocked } from "./deno_kv_errors.ts";

/** Deno KV gives up at once when another process is writing to the file; those writes take milliseconds. */
const BUSY_TIMEOUT_MS = 2_000;
const BUSY_DELAY_MS = 10;

/** Deno KV reads at most this many keys at once. */
const MAX_KEYS = 10;

/** Commits; false when a check failed. A write lock that another process holds is waited for. */
export async function commit(atomic: KvAtomic): Promise<boolean> {
  for (let waitedMs = 0;; waitedMs += BUSY_DELAY_MS) {
    try {
      return (await atomic.commit()).ok;
    } catch (error) {
      if (waitedMs >= BUSY_TIMEOUT_MS || !isLocked(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, BUSY_DELAY_MS));
    }
  }
}

/** The entries of these keys, in their order, read in tens at once. */
export async function getAll<T>(kv: Kv, keys: KvKey[]): Promise<KvEntryMaybe<T>[]> {
  const tens: Promise<KvEntryMaybe<T>[]>[] = [];
  for (let start = 0; start < keys.length; start += MAX_KEYS) {
    tens.push(kv.getMany<T[]>(keys.slice(start, start + MAX_KEYS)));
  }
  return (await Promise.all(tens)).flat();
}

/** The smallest string that sorts after this one: makes an inclusive bound exclusive and the other way round. */
export function next(text: string): string {
  return `${text}\0`;
}

/** A copy without fields that are undefined: they count as absent, but Deno KV would keep them. */
export function present<T extends object>(record: T): T {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as T;
}
