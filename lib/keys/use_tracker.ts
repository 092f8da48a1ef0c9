import type { KeySource } from "./key_source.ts";

/** Collects the last use of keys in memory, and writes it in batches. */
export interface UseTracker {
  /** Records a use of the key at this time, Unix ms. */
  note(id: string, atMs: number): void;
  /**
   * Writes the recorded uses in batches, when the last flush is 5 s ago or this is the last one. When a write fails, it
   * rejects, and the uses stay for the next flush.
   */
  flush(isLast: boolean): Promise<void>;
}

/** Most uses in one `touch`: see the store's bounds. */
const BATCH_SIZE = 500;
/** Uses are written at most this often. */
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

  async function flush(isLast: boolean): Promise<void> {
    const askedAtMs = monotonicMs();
    if (!isLast && askedAtMs - flushedAtMs < FLUSH_MS) return;
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

  return { note, flush };
}
