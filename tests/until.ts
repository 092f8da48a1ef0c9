import assert from "node:assert/strict";

/**
 * Looks again and again, until what it looks for is there (neither undefined nor false), and answers that. Fails when it
 * has not come by then: where nothing is said, after so long that no machine is too slow.
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
