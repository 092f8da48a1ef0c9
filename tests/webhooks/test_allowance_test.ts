import assert from "node:assert/strict";
import { test } from "node:test";
import type { GatewayError } from "../../lib/errors.ts";
import { createTestAllowance } from "../../lib/webhooks/test_allowance.ts";

test("six test events in any minute are let through, and waiting as long as was said is enough", () => {
  let nowMs = 1_000_000;
  const allowance = createTestAllowance(() => nowMs);
  const refusal = (id: string): GatewayError | undefined => {
    try {
      allowance.take(id);
    } catch (error) {
      return error as GatewayError;
    }
  };
  for (let n = 0; n < 6; n++) {
    assert.equal(refusal("wh_1"), undefined);
    nowMs += 5_000;
  }
  const refused = refusal("wh_1");
  assert.deepEqual([refused?.code, refused?.headers], ["rate_limited", { "Retry-After": "30" }]);
  assert.equal(refusal("wh_2"), undefined);
  nowMs += 29_999;
  assert.equal(refusal("wh_1")?.headers["Retry-After"], "1");
  nowMs += 1;
  assert.equal(refusal("wh_1"), undefined);
  assert.equal(refusal("wh_1")?.headers["Retry-After"], "5");
});
