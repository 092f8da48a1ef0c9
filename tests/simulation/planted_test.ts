import assert from "node:assert/strict";
import { test } from "node:test";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openNursery } from "./planted.ts";
import { PLANTED } from "./planted_bugs.ts";

/** For each planted bug, far more than a world takes on a machine that is busy. */
const TIMEOUT_MS = 30_000;

// One runtime is enough: the worlds are the same on the other.
test("each planted bug is found in the world that is known to break of it", {
  skip: runtimeName !== "bun",
  timeout: PLANTED.length * TIMEOUT_MS,
}, async () => {
  const nursery = openNursery();
  try {
    for (const bug of PLANTED) {
      const { found, said } = await nursery.plant(bug, bug.seed, 1);
      assert.ok(found !== undefined, `"${bug.name}" is not found in world ${bug.seed}: ${said}`);
    }
  } finally {
    nursery.close();
  }
});
