/** Unix milliseconds as ISO 8601 UTC with seconds (`2026-01-01T00:00:00Z`). Throws a RangeError for what is no time. */
export function isoSeconds(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19)}Z`;
}
