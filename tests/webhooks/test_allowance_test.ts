import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "../../lib/errors.ts";
import { openStore } from "../../lib/store/open.ts";
import { takeTest } from "../../lib/webhooks/test_allowance.ts";

test("six test events in any minute are let through, and waiting as long as was said is enough", async () => {
  let nowMs = 1_793_491_200_000;
  const store = await openStore("memory:", { now: () => nowMs, isShared: true });
  const refusal = (id: string): Promise<GatewayError | undefined> =>
    takeTest(store, id).then(() => undefined, (error) => {
      assert.ok(error instanceof GatewayError);
      return error;
    });
  for (let n = 0; n < 6; n++) {
    assert.equal(await refusal("wh_1"), undefined);
    nowMs += 5_000;
  }
  const refused = await refusal("wh_1");
  assert.deepEqual([refused?.code, refused?.headers], ["rate_limited", { "Retry-After": "30" }]);
  assert.equal(await refusal("wh_2"), undefined);
  nowMs += 29_999;
  assert.equal((await refusal("wh_1"))?.headers["Retry-After"], "1");
  nowMs += 1;
  assert.equal(await refusal("wh_1"), undefined);
  assert.equal((await refusal("wh_1"))?.headers["Retry-After"], "5");
  const atOnce = await Promise.all(Array.from({ length: 9 }, () => refusal("wh_3")));
  assert.equal(atOnce.filter((one) => one === undefined).length, 6, "of as many gateways as there are");
  nowMs -= 86_400_000;
  assert.equal(await refusal("wh_3"), undefined, "a clock that was set back holds nobody up");
  await store.close();
});
