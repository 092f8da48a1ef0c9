import { isoTime } from "../clock.ts";

/** More than notes of gateways come late. */
const AHEAD_MS = 3_600_000;

/** What was noted of a key as used later than this is of a clock that was ahead, by one of its uses, both ISO 8601 UTC. */
export function aheadOf(lastUsedAt: string): string {
  return isoTime(Date.parse(lastUsedAt) + AHEAD_MS);
}
