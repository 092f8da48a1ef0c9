import type { Wait } from "../../clock.ts";

export interface GatheringParts<Item> {
  /** Writes these, at most `most`; false: no more is to be written. Does not reject. */
  write(items: Item[]): Promise<boolean>;
  wait: Wait;
  /** How long one item waits for others, in milliseconds. */
  gatherMs: number;
  most: number;
}

/** Gathers what is to be written, so that many share a commit. One commit at a time, in the order they came. */
export interface Gathering<Item> {
  add(item: Item): void;
  /** How many are not written yet. */
  readonly size: number;
  /** Resolves when all are written, without waiting for more, or when no more is to be. */
  drain(): Promise<void>;
}

export function createGathering<Item>({ write, wait, gatherMs, most }: GatheringParts<Item>): Gathering<Item> {
  let waiting: Item[] = [];
  let running: Promise<void> | undefined;
  let pause = new AbortController();
  let isDraining = false;

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      if (waiting.length < most && !isDraining) {
        pause = new AbortController();
        await wait(gatherMs, pause.signal);
      }
      const items = waiting.slice(0, most);
      if (!await write(items)) return;
      waiting = waiting.slice(items.length);
    }
  }

  function ensureRunning(): void {
    running ??= run().finally(() => {
      running = undefined;
      if (waiting.length > 0 && !isDraining) ensureRunning();
    });
  }

  return {
    add(item) {
      waiting.push(item);
      if (waiting.length >= most) pause.abort();
      ensureRunning();
    },
    get size() {
      return waiting.length;
    },
    async drain() {
      isDraining = true;
      pause.abort();
      ensureRunning();
      await running;
    },
  };
}
