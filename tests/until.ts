import assert from "node:assert/strict";

/**
 * Calls the function again and again until its result is neither undefined nor false, and returns the result. Fails when the
 * time is over; the default is long enough for any slow machine.
 */
export async function until<T>(
  look: () => T | undefined | false | Promise<T | undefined | false>,
  withinMs = 120_000,
): Promise<T> {
  for (const endsAtMs = performance.now() + withinMs;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    assert.ok(performance.now() < endsAtMs, `not within ${withinMs} ms: ${look}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
