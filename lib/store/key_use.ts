import { isoTime } from "../clock.ts";

/** Longer than any delay of a gateway's record. */
const AHEAD_MS = 3_600_000;

/**
 * The latest plausible record of a key's use, given another use. A later record came from a clock that was ahead. Both are
 * ISO 8601 UTC.
 */
export function aheadOf(lastUsedAt: string): string {
  return isoTime(Date.parse(lastUsedAt) + AHEAD_MS);
}
