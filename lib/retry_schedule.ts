/**
 * The delay after each failed attempt, in seconds: short while a receiver may be restarting, long while a person has to
 * act. Fifteen attempts over about three days.
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

/**
 * Spreads each delay by up to this share either way, so that deliveries that failed together are not retried together.
 */
export const JITTER = 0.1;

/** The longest `Retry-After` that counts; a longer one is cut to this. */
export const MAX_RETRY_AFTER_SECONDS: number = 24 * 3_600;

/** The longest delay of a schedule or of `Retry-After`, in milliseconds. */
export function longestDelayMs(schedule: readonly number[]): number {
  return Math.ceil(Math.max(MAX_RETRY_AFTER_SECONDS, ...schedule) * (1 + JITTER) * 1_000);
}

/** No delivery is due later than this, in milliseconds from now. */
export const LONGEST_DELAY_MS: number = longestDelayMs(SCHEDULE);
