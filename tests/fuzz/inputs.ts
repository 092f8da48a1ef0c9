import process from "node:process";
import { type SeededRandom, seededRandom } from "../faults/seeded_random.ts";
import { forTier } from "../tier.ts";

/** FUZZ_INPUTS: how many inputs each fuzz test tries in its long form, such as 1000000; without it the short form runs. */
const wanted = Number(process.env.FUZZ_INPUTS ?? 0);

/** Whether the long form was asked for. */
export const isLong = wanted > 0;

/** How many inputs a test tries: `FUZZ_INPUTS`, or as many as its short form does in a second; ten times that in test:all. */
export function inputCount(short: number): number {
  return isLong ? wanted : forTier({ test: short, all: 10 * short });
}

/** FUZZ_SEED: the seed of a run to repeat. Without it each long run has a new seed, and the short form always the same. */
export const seed = Number(process.env.FUZZ_SEED ?? (isLong ? Date.now() % 2 ** 31 : 14));

/** Random choices of this run. A failing test shows the seed, so that the run can be repeated. */
export function fuzzRandom(): SeededRandom {
  return seededRandom(seed);
}

/** How long a fuzz test may take: the long form hours. */
export const timeoutMs = isLong ? 12 * 3_600_000 : forTier({ test: 60_000, all: 900_000 });

/** Reports at the end of a long test how many inputs it tried, with which outcomes. */
export function report(what: string, count: number, outcomes: Map<string, number>): void {
  if (!isLong) return;
  const sorted = [...outcomes].sort(([, a], [, b]) => b - a).map(([outcome, n]) => `${outcome}: ${n}`);
  process.stderr.write(`${what}: ${count} inputs with seed ${seed}; ${sorted.join(", ")}\n`);
}

/** Counts one outcome. */
export function count(outcomes: Map<string, number>, outcome: string): void {
  outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
}
