// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Lease } from "../../../lib/store/store.ts";
import { PARTITIONS } from "../../../lib/store/webhook.ts";
import { createPartitions } from "../../../lib/webhooks/delivery/partitions.ts";
import { createTestClock } from "../../test_clock.ts";
import { memoryStore } from "../parts.ts";

test("a late answer about leases lost in a suspension does not drop the leases acquired since", async () => {
  const store = await memoryStore();
  const clock = createTestClock();
  const late = Promise.withResolvers<void>();
  let isLate = false;
  const leases = {
    ...store.leases,
    async renew(held: Lease[], durationMs: number) {
      const heard = isLate ? late.promise : undefined;
      const answer = await store.leases.renew(held, durationMs);
      await heard;
      return answer;
    },
  };
  const partitions = createPartitions({ ...store, leases }, clock, "worker");
  const heldNow = () => Array.from({ length: PARTITIONS }, (_, at) => at).filter(partitions.holds);
  await partitions.keep(() => false);
  assert.equal(heldNow().length, PARTITIONS);

  clock.advance(20_000);
  for (let at = 0; at < PARTITIONS; at++) {
    const { name } = partitions.lease(at)!;
    const taken = await store.leases.acquire({ name, holder: "worker", durationMs: 10_000 });
    await store.leases.release([taken!]);
  }
  isLate = true;
  const rechecked = partitions.recheck();
  isLate = false;
  await partitions.keep(() => false);
  assert.equal(heldNow().length, PARTITIONS);
  late.resolve();
  await rechecked;
  assert.equal(heldNow().length, PARTITIONS);
  await store.close();
});
