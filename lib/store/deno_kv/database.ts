import { sleep } from "../../clock.ts";
import type { Kv, KvAtomic, KvEntry, KvEntryMaybe, KvKey } from "../../runtime/kv.ts";
import { StoreError } from "../store_error.ts";
import { isLocked } from "./errors.ts";

/** Deno KV gives up at once while another process writes to the file. A write takes milliseconds, on a busy machine seconds. */
const BUSY_TIMEOUT_MS = 5_000;
const BUSY_DELAY_MS = 10;

/** Deno KV reads at most this many keys at once, as of one moment. */
export const MAX_KEYS = 10;

/** Deno KV checks at most this many keys in one commit. */
export const MAX_CHECKS = 10;

/** Another handle must win each of these attempts, and a winner does not come back at once. */
const MAX_ATTEMPTS = 50;
const LONGEST_BACK_OFF_MS = 64;

/** The context of each noun of this driver. */
export interface DenoKvContext {
  kv: Kv;
  location: string;
  /** Unix ms, by this process's clock. Deno KV has no other. */
  now(): number;
  /** Whether this handle has locked the store for serving. */
  isHeld(): boolean;
  /** Repeats a read with its checked commit. `attempt` returns undefined when another handle wrote in between. */
  retry<T>(attempt: () => Promise<{ done: T } | undefined>): Promise<T>;
  /** Runs changes of consumers one after the other. So within this process none comes between two others. */
  oneAtATime<T>(work: () => Promise<T>): Promise<T>;
}

/** `DenoKvContext.retry`: after a conflict it waits for a random time, so that the handles do not meet again. */
export async function retry<T>(location: string, attempt: () => Promise<{ done: T } | undefined>): Promise<T> {
  for (let n = 0; n < MAX_ATTEMPTS; n++) {
    if (n > 0) await sleep(Math.random() * Math.min(2 ** n, LONGEST_BACK_OFF_MS));
    const result = await attempt();
    if (result) return result.done;
  }
  throw new StoreError(
    "locked",
    `${location}: other processes keep changing the same record, or a part of it is missing. Retry`,
  );
}

/** `DenoKvContext.oneAtATime`. */
export function createOneAtATime(): DenoKvContext["oneAtATime"] {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
}

/** Commits. False when a check failed. Waits for the write lock of another process. */
export async function commit(atomic: KvAtomic): Promise<boolean> {
  for (let waitedMs = 0;; waitedMs += BUSY_DELAY_MS) {
    try {
      return (await atomic.commit()).ok;
    } catch (error) {
      if (waitedMs >= BUSY_TIMEOUT_MS || !isLocked(error)) throw error;
      await sleep(BUSY_DELAY_MS * (0.5 + Math.random()));
    }
  }
}

/** The entries of these keys, in their order, read in groups of ten. */
export async function getAll<T>(kv: Kv, keys: KvKey[]): Promise<KvEntryMaybe<T>[]> {
  if (keys.length === 0) return [];
  if (keys.length <= MAX_KEYS) return await kv.getMany<T[]>(keys);
  return (await Promise.all(chunks(keys, MAX_KEYS).map((ten) => kv.getMany<T[]>(ten)))).flat();
}

/** The items in pieces of at most `size`. */
export function chunks<T>(items: T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) => items.slice(n * size, (n + 1) * size));
}

/** All entries of a list. */
export async function collect<T>(entries: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const entry of entries) items.push(entry);
  return items;
}

/** At most `limit` entries under this prefix, after the one with this rest of the key (`[]`: from the first on). */
export async function pageAfter<T>(kv: Kv, prefix: KvKey, after: KvKey, limit: number): Promise<KvEntry<T>[]> {
  const range = after.length === 0 ? { prefix } : { prefix, start: afterKey([...prefix, ...after]) };
  return await collect(kv.list<T>(range, { limit, batchSize: Math.min(limit, 500) }));
}

/** The first possible key after this one. */
export function afterKey(key: KvKey): KvKey {
  return [...key, new Uint8Array()];
}

/** The smallest string after this one in sort order. It makes an inclusive bound exclusive, and the other way round. */
export function next(text: string): string {
  return `${text}\0`;
}

/** A copy without undefined fields. They count as absent, but Deno KV would store them. */
export function present<T extends object>(record: T): T {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as T;
}

/** Whether a database has no more entries than this. */
export async function holdsAtMost(kv: Kv, entries: number): Promise<boolean> {
  let found = 0;
  for await (const _ of kv.list({ prefix: [] }, { limit: entries + 1 })) found++;
  return found <= entries;
}

/** A value that may exceed Deno KV's bound: its JSON, in pieces under one prefix. */
interface Piece {
  /** The number of pieces. Pieces of a longer former value may follow. */
  of: number;
  text: string;
}

/** At most two bytes a character, of 64 KiB. */
const PIECE_CHARACTERS = 30_000;

/** The writes for a value. */
export function toPieces(key: KvKey, value: unknown): { key: KvKey; value: Piece }[] {
  const text = JSON.stringify(value);
  const of = Math.ceil(text.length / PIECE_CHARACTERS);
  return Array.from({ length: of }, (_, n) => ({
    key: [...key, n],
    value: { of, text: text.slice(n * PIECE_CHARACTERS, (n + 1) * PIECE_CHARACTERS) },
  }));
}

/** The value in pieces under this key, undefined when there is none. */
export async function readPieces<T>(kv: Kv, key: KvKey): Promise<T | undefined> {
  const pieces = (await collect(kv.list<Piece>({ prefix: key }, { batchSize: 500 }))).map(({ value }) => value);
  const [first] = pieces;
  if (first === undefined || pieces.length < first.of) return undefined;
  return JSON.parse(pieces.slice(0, first.of).map(({ text }) => text).join(""));
}
