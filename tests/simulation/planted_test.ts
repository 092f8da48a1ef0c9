import assert from "node:assert/strict";
import { test } from "node:test";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openNursery } from "./planted.ts";
import { PLANTED } from "./planted_bugs.ts";

const KNOWN = PLANTED.filter(({ seed }) => seed !== undefined);
/** A change of the product may change the known worlds: others are gone through then, which takes its time. */
const WORLDS = 400;
const TIMEOUT_MS = 20 * 60_000;

// One runtime is enough: the worlds are the same on the other.
test("each planted bug is found in the world that is known to break of it, or in another", {
  skip: runtimeName !== "bun",
  timeout: TIMEOUT_MS,
}, async () => {
  assert.ok(KNOWN.length >= 20);
  const nursery = openNursery();
  try {
    for (const bug of KNOWN) {
      const atOnce = await nursery.plant(bug, bug.seed!, 1);
      if (atOnce.found !== undefined) continue;
      const { found, said } = await nursery.plant(bug, 1, WORLDS);
      assert.ok(found !== undefined, `"${bug.name}" is not found: ${said}`);
      console.log(`"${bug.name}" is found in world ${found.seed} now: to be written into planted_bugs.ts`);
    }
  } finally {
    nursery.close();
  }
});
