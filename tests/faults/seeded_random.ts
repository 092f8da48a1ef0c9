/** Random choices that a seed repeats. */
export interface SeededRandom {
  /** From 0 (inclusive) to 1 (exclusive). */
  next(): number;
  /** From `from` (inclusive) to `to` (exclusive). */
  between(from: number, to: number): number;
  pick<T>(choices: readonly T[]): T;
}

/** Mulberry32: 32 bits of state are plenty for a test. */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  return {
    next,
    between: (from, to) => from + (to - from) * next(),
    pick: (choices) => choices[Math.floor(next() * choices.length)]!,
  };
}
