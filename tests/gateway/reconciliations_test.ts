// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { createLog } from "../../lib/log.ts";
import { lastReconciliation, MOST_STORED, storeReconciliation } from "../../lib/escrow/books/last_reconciliation.ts";
import { createReconciliations } from "../../lib/gateway/reconciliations.ts";
import { ASSETS, BooksWorld, cardOf } from "../escrow/books/books_world.ts";
import { CONTRACT } from "../store/samples.ts";
import { memoryStore } from "../webhooks/parts.ts";

const HOUR_MS = 3_600_000;
const never = new AbortController().signal;

let world: BooksWorld;
let parts: Parameters<typeof createReconciliations>[0];
let nowMs: number;
let isHeld: boolean;
let isDown: boolean;
beforeEach(async () => {
  world = new BooksWorld();
  world.fund(cardOf(1), ASSETS[0]!, 100n);
  world.close();
  [nowMs, isHeld, isDown] = [Date.now(), false, false];
  const { sharedState } = await memoryStore();
  const of = world.parts();
  parts = {
    ...of,
    store: {
      ...of.store,
      sharedState,
      leases: {
        acquire: ({ name }) => Promise.resolve(isHeld ? undefined : { name, term: 1 }),
        renew: (leases) => Promise.resolve(leases),
        release: () => Promise.resolve(),
      },
    },
    held: (ids) => (isDown ? Promise.reject(new Error("the node is down")) : of.held(ids)),
    clock: { now: () => nowMs, monotonicMs: () => nowMs, wait: (ms) => Promise.resolve(void (nowMs += ms)) },
    holder: "this gateway",
    everyHours: 24,
    log: createLog({ format: "json", level: "error", write() {}, now: Date.now }),
  };
});

/** The number of reconciliations of the looks at these times, in hours after the first. */
async function runs(...hours: number[]): Promise<number[]> {
  const { look, summary } = createReconciliations(parts);
  const begunMs = nowMs;
  const ran: number[] = [];
  for (const hour of hours) {
    nowMs = begunMs + hour * HOUR_MS;
    const before = (await summary())?.atMs;
    await look(never);
    if ((await summary())?.atMs !== before) ran.push(hour);
    // The store's clock is the real one. The next look is so many hours after it.
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return ran;
}

describe("a scheduled reconciliation", () => {
  test("runs at once, and then a day after the last one, whichever gateway made it", async () => {
    assert.deepEqual(await runs(0, 1, 23), [0]);
    nowMs = Date.now() + 20 * HOUR_MS;
    assert.deepEqual(await runs(0, 5), [5]);
  });

  test("waits while another gateway makes one, while the first history is read, and for ever with 0 hours", async () => {
    isHeld = true;
    assert.deepEqual(await runs(0, 30), []);
    isHeld = false;
    world.state.gaps = [{
      epoch: 0,
      fromLedger: 1,
      toLedger: 9,
      contractIds: [CONTRACT],
      detectedAt: "",
      reason: "start",
    }];
    assert.deepEqual(await runs(0), []);
    world.state.gaps = [];
    parts.everyHours = 0;
    assert.deepEqual(await runs(0), []);
    parts.everyHours = 24;
    assert.deepEqual(await runs(0), [0]);
  });

  test("is retried ten minutes after a failure, and runs again after a network reset", async () => {
    isDown = true;
    const { look, summary } = createReconciliations(parts);
    await look(never);
    isDown = false;
    nowMs += 599_000;
    await look(never);
    assert.equal(await summary(), undefined);
    nowMs += 1_000;
    await look(never);
    assert.equal((await summary())?.epoch, 0);
    world.state.epoch = 1;
    await look(never);
    assert.equal((await summary())?.epoch, 1);
  });
});

test("a store keeps the first 1 000 differences, with the number of all, and those of the last reconciliation only", async () => {
  const { sharedState } = parts.store;
  const found = { epoch: 0, fromLedger: 1, toLedger: 2, checkedAt: "2026-11-01T00:00:00Z" };
  const differences = Array.from({ length: 1_200 }, (_, n) => ({
    ...{ kind: "card" as const, deviceHash: cardOf(n), merchant: null, asset: ASSETS[0]!, cause: "unknown" as const },
    ...{ log: `${2n ** 127n - 1n}`, chain: `-${2n ** 127n}` },
  }));
  await storeReconciliation(sharedState, CONTRACT, { ...found, differences });
  const last = (await lastReconciliation(sharedState, CONTRACT))!;
  assert.deepEqual([last.count, last.differences], [1_200, differences.slice(0, MOST_STORED)]);
  await storeReconciliation(sharedState, CONTRACT, { ...found, differences: differences.slice(0, 1) });
  assert.equal((await lastReconciliation(sharedState, CONTRACT))!.differences.length, 1);
  const kept = await sharedState.list({ limit: 500 });
  assert.equal(kept.filter(({ name, value }) => name.startsWith("reconciliation/") && value !== null).length, 2);
});
