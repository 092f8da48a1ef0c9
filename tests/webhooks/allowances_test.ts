// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "../../lib/errors.ts";
import { openStore } from "../../lib/store/open.ts";
import { giveReplayBack, MAX_REPLAYED, takeReplay, takeTest } from "../../lib/webhooks/allowances.ts";

/** The error of a refusal; undefined when the call succeeds. */
const refusalOf = (taken: Promise<unknown>): Promise<GatewayError | undefined> =>
  taken.then(() => undefined, (error) => {
    assert.ok(error instanceof GatewayError);
    return error;
  });

test("a webhook gets six test events a minute, and a test after Retry-After succeeds", async () => {
  let nowMs = 1_793_491_200_000;
  const store = await openStore("memory:", { now: () => nowMs, isShared: true });
  const refusal = (id: string) => refusalOf(takeTest(store, id));
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
  assert.equal(await refusal("wh_3"), undefined, "a clock that was set back blocks no call");
  await store.close();
});

test("a key can start replays until they have read a million events in a day, over all gateways", async () => {
  const startMs = 1_793_491_200_000;
  let nowMs = startMs;
  const store = await openStore("memory:", { now: () => nowMs, isShared: true });
  const refusal = (keyId: string, events = 1) => refusalOf(takeReplay(store, keyId, events));
  for (let n = 0; n < 4; n++) {
    assert.equal(await refusal("key", MAX_REPLAYED / 8), undefined);
    await takeReplay(store, "key", MAX_REPLAYED / 8);
    nowMs += 3_600_000;
  }
  const refused = await refusal("key");
  assert.deepEqual([refused?.code, refused?.headers], ["rate_limited", { "Retry-After": String(20 * 3_600) }]);
  assert.match(refused!.message, /read 1000000 events in a day/);
  assert.equal(await refusal("another"), undefined);
  nowMs = startMs + 86_400_000;
  assert.equal(await refusal("key", 3 * MAX_REPLAYED), undefined, "the first hour is a day ago");
  assert.equal((await refusal("key"))?.headers["Retry-After"], String(86_400));
  await giveReplayBack(store, "key", 3 * MAX_REPLAYED, nowMs);
  assert.equal(await refusal("key"), undefined, "a replay that did not start does not count");
  await takeReplay(store, "key", 3 * MAX_REPLAYED);
  nowMs -= 2 * 86_400_000;
  assert.equal(await refusal("key"), undefined, "a clock that was set back blocks no call");
  await store.close();
});

test("a refund of replayed events in a later hour does not raise the allowance after a day", async () => {
  const startMs = 1_793_491_200_000;
  let nowMs = startMs + 3_599_999;
  const store = await openStore("memory:", { now: () => nowMs, isShared: true });
  const takenMs = await takeReplay(store, "key", MAX_REPLAYED);
  nowMs += 1;
  await giveReplayBack(store, "key", MAX_REPLAYED, takenMs);
  nowMs = startMs + 86_400_000;
  await takeReplay(store, "key", MAX_REPLAYED);
  await assert.rejects(takeReplay(store, "key", 1), GatewayError);
  await store.close();
});
