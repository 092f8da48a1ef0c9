import type { KeySource } from "./key_source.ts";

/** Remembers in memory when keys were used and writes it down now and then. */
export interface UseTracker {
  /** The key was used at this time, Unix ms. */
  note(id: string, atMs: number): void;
  /** Writes what was noted, in batches; what cannot be written is kept for the next time. Rejects then. */
  flush(): Promise<void>;
  /** As `flush`, when it was last done so long ago that it is time. */
  flushIfDue(): Promise<void>;
}

/** The most one `touch` takes: see the store's bounds. */
const BATCH_SIZE = 500;
/** Uses of all keys are written together at most this often. */
const FLUSH_MS = 5_000;

export function createUseTracker({ source, monotonicMs }: {
  source: Pick<KeySource, "touch">;
  monotonicMs(): number;
}): UseTracker {
  let noted = new Map<string, number>();
  let flushedAtMs = monotonicMs();

  function note(id: string, atMs: number): void {
    noted.set(id, Math.max(atMs, noted.get(id) ?? 0));
  }

  async function flush(): Promise<void> {
    const askedAtMs = monotonicMs();
    const uses = [...noted];
    noted = new Map();
    for (let start = 0; start < uses.length; start += BATCH_SIZE) {
      try {
        await source.touch(
          uses.slice(start, start + BATCH_SIZE)
            .map(([id, atMs]) => ({ id, lastUsedAt: new Date(atMs).toISOString() })),
        );
      } catch (error) {
        for (const [id, atMs] of uses.slice(start)) note(id, atMs);
        throw error;
      }
    }
    flushedAtMs = askedAtMs;
  }

  return {
    note,
    flush,
    async flushIfDue() {
      if (monotonicMs() - flushedAtMs >= FLUSH_MS) await flush();
    },
  };
}
