/**
 * How far a test goes: `npm test` runs the short form of everything, `npm run test:all` the long form. A test of one file by
 * hand is short; `TEST_TIER=all` makes it long.
 */
export const isLong = process.env.TEST_TIER === "all";

/** The `skip` of a test that has only a long form. */
export const longOnly: string | false = isLong ? false : "only in npm run test:all";

/** The number for this tier, of rounds, seeds, kills or whatever a test repeats. */
export function forTier(numbers: { test: number; all: number }): number {
  return isLong ? numbers.all : numbers.test;
}
