import type { Kv, KvAtomic, KvEntryMaybe, KvKey } from "../../runtime/kv.ts";
import { isLocked } from "./errors.ts";

/** Deno KV gives up at once when another process is writing to the file; those writes take milliseconds. */
const BUSY_TIMEOUT_MS = 2_000;
const BUSY_DELAY_MS = 10;

/** Deno KV reads at most this many keys at once. */
const MAX_KEYS = 10;

/** Deno KV checks at most this many keys in one commit. */
export const MAX_CHECKS = 10;
/** Deno KV writes at most this many keys in one commit. */
const MAX_WRITES = 1_000;

/** Deno KV takes keys of at most 80 KiB in one commit. */
const MAX_KEY_BYTES = 80 * 1_024;

/** A write that waits for its commit. */
export interface Write {
  key: KvKey;
  /** Writes under that key. */
  to(atomic: KvAtomic): unknown;
}

/** A write of a value. */
export function setting(key: KvKey, value: unknown): Write {
  return { key, to: (atomic) => atomic.set(key, value) };
}

/** A write that raises a counter. */
export function raising(key: KvKey, by: number): Write {
  return { key, to: (atomic) => atomic.sum(key, BigInt(by)) };
}

/** What lowers a counter by this much: Deno KV's have no sign and wrap around. */
export function minus(count: number): bigint {
  return 2n ** 64n - BigInt(count);
}

/** Whether these writes, and a few more, have room in one commit. */
export function fit(writes: Write[]): boolean {
  const bytes = writes.reduce((sum, { key }) => sum + keyBytes(key), 0);
  return writes.length < MAX_WRITES - 20 && bytes < MAX_KEY_BYTES - 2_048;
}

/** As Deno KV counts them, for texts in ASCII. */
function keyBytes(key: KvKey): number {
  return key.reduce<number>((sum, part) => sum + (typeof part === "string" ? part.length + 2 : 9), 0);
}

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
  return (await Promise.all(chunks(keys, MAX_KEYS).map((ten) => kv.getMany<T[]>(ten)))).flat();
}

/** These, in pieces of at most `size`. */
export function chunks<T>(items: T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) => items.slice(n * size, (n + 1) * size));
}

/** Everything a list answers. */
export async function collect<T>(entries: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const entry of entries) items.push(entry);
  return items;
}

/** The smallest string that sorts after this one: makes an inclusive bound exclusive and the other way round. */
export function next(text: string): string {
  return `${text}\0`;
}

/** A copy without fields that are undefined: they count as absent, but Deno KV would keep them. */
export function present<T extends object>(record: T): T {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as T;
}
