import type { Kv, KvEntry, KvKey } from "../../runtime/kv.ts";
import { collect } from "./database.ts";

/** `unread`: the cursor must read more first (`Cursor.read`). */
export type Found = number | "none" | "unread";

/**
 * Runs ascending or descending through the sequences of matching events. Joins and intersects ranges of indexes, so it skips
 * everything else. It does not wait between entries that it has read.
 */
export interface Cursor {
  /** The first sequence from this one on, inclusive, in the cursor's order. Calls come in that order. */
  at(sequence: number): Found;
  /** Reads on after `at` returned `unread`. */
  read(): Promise<void>;
}

/** `low` and `high` are its first and last sequence, inclusive. */
export interface Course {
  order: "asc" | "desc";
  low: number;
  high: number;
  /** The number of entries in one read. */
  batchSize: number;
}

/** The sequence after this one. */
export function following({ order }: Course, sequence: number): number {
  return order === "asc" ? sequence + 1 : sequence - 1;
}

/** Whether the first of two sequences comes before the other. */
export function isBefore({ order }: Course, left: number, right: number): boolean {
  return order === "asc" ? left < right : left > right;
}

/** An index that also has a value for each entry. */
export interface IndexCursor<T> extends Cursor {
  /** The value of the last sequence from `at`. */
  value(): T;
}

/** The sequences at the end of the keys with this prefix. */
export function indexCursor<T>(kv: Kv, prefix: KvKey, course: Course): IndexCursor<T> {
  const { order, low, high, batchSize } = course;
  let batch: KvEntry<T>[] = [];
  let next = 0;
  /** There is nothing after the batch. */
  let isEnd = false;
  let unreadFrom: number | undefined;

  const sequenceAt = (index: number) => batch[index]!.key.at(-1) as number;

  return {
    at(sequence) {
      while (next < batch.length && isBefore(course, sequenceAt(next), sequence)) next++;
      if (next < batch.length) return sequenceAt(next);
      if (isEnd) return "none";
      unreadFrom = sequence;
      return "unread";
    },
    value: () => batch[next]!.value,
    async read() {
      if (unreadFrom === undefined) return;
      const [start, end] = order === "asc" ? [unreadFrom, high] : [low, unreadFrom];
      const range = { start: [...prefix, start], end: [...prefix, end + 1] };
      batch = await collect(kv.list<T>(range, { limit: batchSize, batchSize, reverse: order === "desc" }));
      next = 0;
      isEnd = batch.length < batchSize;
      unreadFrom = undefined;
    },
  };
}

/** The sequences that any of these cursors has. */
export function anyOf(cursors: Cursor[], course: Course): Cursor {
  const [only, ...more] = cursors;
  if (only !== undefined && more.length === 0) return only;
  return {
    at(sequence) {
      let first: Found = "none";
      for (const cursor of cursors) {
        const found = cursor.at(sequence);
        // Also calls the other cursors, so that one read serves all of them.
        if (found === "unread" || first === "unread") first = "unread";
        else if (found !== "none" && (first === "none" || isBefore(course, found, first))) first = found;
      }
      return first;
    },
    read: () => readAll(cursors),
  };
}

/** The sequences that all of these cursors have. The cost depends on the cursor with the fewest. */
export function allOf(cursors: Cursor[]): Cursor {
  return {
    at(sequence) {
      let wanted = sequence;
      for (let agreed = 0, index = 0; agreed < cursors.length; index = (index + 1) % cursors.length) {
        const found = cursors[index]!.at(wanted);
        if (found === "none" || found === "unread") return found;
        agreed = found === wanted ? agreed + 1 : 1;
        wanted = found;
      }
      return wanted;
    },
    read: () => readAll(cursors),
  };
}

async function readAll(cursors: Cursor[]): Promise<void> {
  await Promise.all(cursors.map((cursor) => cursor.read()));
}
