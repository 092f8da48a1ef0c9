/**
 * How long after each failed attempt the next one comes, in seconds: quick while a receiver may be restarting, slow while
 * somebody has to be woken. Fifteen attempts over about three days.
 */
export const SCHEDULE: readonly number[] = [
  5,
  30,
  2 * 60,
  10 * 60,
  30 * 60,
  1 * 3_600,
  2 * 3_600,
  4 * 3_600,
  6 * 3_600,
  10 * 3_600,
  12 * 3_600,
  12 * 3_600,
  12 * 3_600,
  12 * 3_600,
];

/** Each delay is spread by up to this much to either side, so that what failed together is not tried together again. */
export const JITTER = 0.1;

/** The longest `Retry-After` that is honoured; a longer one is taken for this. */
export const MAX_RETRY_AFTER_SECONDS: number = 24 * 3_600;

/** The longest delay that a schedule and `Retry-After` make, in milliseconds. */
export function longestDelayMs(schedule: readonly number[]): number {
  return Math.ceil(Math.max(MAX_RETRY_AFTER_SECONDS, ...schedule) * (1 + JITTER) * 1_000);
}

/** No delivery is due further ahead than this, in milliseconds. */
export const LONGEST_DELAY_MS: number = longestDelayMs(SCHEDULE);
