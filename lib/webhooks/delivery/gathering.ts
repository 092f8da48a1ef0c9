import type { Wait } from "../../clock.ts";

export interface GatheringParts<Item> {
  /** Writes these, which weigh `most` together at most; false: no more is to be written. Does not reject. */
  write(items: Item[]): Promise<boolean>;
  /** What one takes of a commit. It may become more, until it is written. */
  weigh(item: Item): number;
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

export function createGathering<Item>({ write, weigh, wait, gatherMs, most }: GatheringParts<Item>): Gathering<Item> {
  let waiting: Item[] = [];
  /** Of those that wait, as they came. */
  let weight = 0;
  let running: Promise<void> | undefined;
  let pause = new AbortController();
  let isDraining = false;

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      if (weight < most && !isDraining) {
        pause = new AbortController();
        await wait(gatherMs, pause.signal);
      }
      const items = firstThatFit();
      if (!await write(items)) return;
      waiting = waiting.slice(items.length);
      weight = sum(waiting);
    }
  }

  const sum = (items: Item[]) => items.reduce((total, item) => total + weigh(item), 0);

  function firstThatFit(): Item[] {
    let room = most;
    const end = waiting.findIndex((item) => (room -= weigh(item)) < 0);
    return end < 0 ? waiting.slice() : waiting.slice(0, end);
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
      weight += weigh(item);
      if (weight >= most) pause.abort();
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
