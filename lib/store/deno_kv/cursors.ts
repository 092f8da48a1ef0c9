import type { Kv, KvEntry, KvKey } from "../../runtime/kv.ts";
import { collect } from "./io.ts";

/**
 * Ascending or descending through the sequences of what matches, without looking at what does not: ranges of indexes,
 * joined and intersected.
 */
export interface Cursor {
  /** The first sequence from here on, this one included, in the cursor's order; undefined: none. Asked in that order. */
  at(sequence: number): Promise<number | undefined>;
}

/** `low` and `high` are the first and the last sequence of it, inclusive. */
export interface Course {
  order: "asc" | "desc";
  low: number;
  high: number;
  /** Entries read at a time. */
  batchSize: number;
}

/** The sequence that comes after this one. */
export function following({ order }: Course, sequence: number): number {
  return order === "asc" ? sequence + 1 : sequence - 1;
}

function isBefore({ order }: Course, left: number, right: number): boolean {
  return order === "asc" ? left < right : left > right;
}

/** The sequences at the end of the keys with this prefix; `entryAt` answers what stands there, too. */
export function indexCursor<T>(
  kv: Kv,
  prefix: KvKey,
  course: Course,
): Cursor & { entryAt(sequence: number): Promise<{ sequence: number; value: T } | undefined> } {
  const { order, low, high, batchSize } = course;
  let batch: KvEntry<T>[] = [];
  let next = 0;
  /** All from here on were looked for. */
  let isEnd = false;

  const sequenceAt = (index: number) => batch[index]!.key.at(-1) as number;

  async function read(from: number): Promise<void> {
    const [start, end] = order === "asc" ? [from, high] : [low, from];
    const range = { start: [...prefix, start], end: [...prefix, end + 1] };
    batch = await collect(kv.list<T>(range, { limit: batchSize, batchSize, reverse: order === "desc" }));
    next = 0;
    isEnd = batch.length < batchSize;
  }

  async function entryAt(sequence: number): Promise<{ sequence: number; value: T } | undefined> {
    for (;;) {
      while (next < batch.length && isBefore(course, sequenceAt(next), sequence)) next++;
      if (next < batch.length) return { sequence: sequenceAt(next), value: batch[next]!.value };
      if (isEnd) return undefined;
      await read(sequence);
    }
  }

  return { entryAt, at: async (sequence) => (await entryAt(sequence))?.sequence };
}

/** What any of these has. */
export function anyOf(cursors: Cursor[], course: Course): Cursor {
  const [only, ...more] = cursors;
  if (only !== undefined && more.length === 0) return only;
  return {
    async at(sequence) {
      const found = await Promise.all(cursors.map((cursor) => cursor.at(sequence)));
      return found.reduce(
        (first, one) => first === undefined || (one !== undefined && isBefore(course, one, first)) ? one : first,
        undefined,
      );
    },
  };
}

/** What all of these have. Costs steps for the one that has the least. */
export function allOf(cursors: Cursor[]): Cursor {
  return {
    async at(sequence) {
      let wanted = sequence;
      for (let agreed = 0, index = 0; agreed < cursors.length; index = (index + 1) % cursors.length) {
        const found = await cursors[index]!.at(wanted);
        if (found === undefined) return undefined;
        agreed = found === wanted ? agreed + 1 : 1;
        wanted = found;
      }
      return wanted;
    },
  };
}
