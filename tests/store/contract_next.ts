import assert from "node:assert/strict";
import { test } from "node:test";
import type { NextQuery } from "../../lib/store/store.ts";
import { LONGEST_DELAY_MS } from "../../lib/retry_schedule.ts";
import { CLOCK_STEP_MS, type FailedDelivery, type Subscription } from "../../lib/store/webhook.ts";
import { append, appendMany, sampleEvent } from "./samples.ts";
import type { Subject } from "./store_contract.ts";
import { sampleFailed, sampleSubscription, settle, START_MS, subscribe } from "./webhook_samples.ts";

const NOW_MS = START_MS + 1_000_000;
const ALL = { after: 0, upTo: 1_000, limit: 200, inFlight: [], nowMs: NOW_MS };

/** The next deliveries of a subscription. */
export function nextContract({ store }: Subject): void {
  const next = async (query: Partial<NextQuery> = {}, fields: Partial<Subscription> = {}, id = "wh_1") =>
    await store().deliveries.next(sampleSubscription(id, fields), { ...ALL, ...query });
  /** Failed deliveries are negative. */
  const numbers = (found: Awaited<ReturnType<typeof next>>) =>
    found?.deliveries.map(({ event, failed }) => failed === null ? event.sequence : -event.sequence);
  const due = (sequence: number, inMs: number, fields: Partial<FailedDelivery> = {}) =>
    sampleFailed(sequence, "retrying", { dueAtMs: NOW_MS + inMs, attemptedAtMs: NOW_MS - 10, ...fields });
  const fail = async (...failed: FailedDelivery[]) => await settle(store(), { subscriptionId: "wh_1", failed });

  test("next returns due failed deliveries, by due time, and new events", async () => {
    await subscribe(store(), "wh_1", "wh_2");
    await append(store(), ...[1, 2, 3, 4, 5].map((n) => sampleEvent(n, { amount: String(n) })));
    const failed = [due(1, -5), due(2, -7, { attempts: 3 }), due(3, 1)];
    await fail(...failed);
    await settle(store(), { subscriptionId: "wh_1", cursor: 3 });
    const event = (n: number) => ({ ...sampleEvent(n, { amount: String(n) }), sequence: n });
    const found = await next({ after: 3, upTo: 5 });
    assert.deepEqual(found, {
      cursor: 3,
      deliveries: [
        { event: event(2), failed: failed[1] },
        { event: event(4), failed: null },
        { event: event(1), failed: failed[0] },
        { event: event(5), failed: null },
      ],
      scannedTo: 5,
      nextDueAtMs: NOW_MS + 1,
    });
    assert.deepEqual(numbers(await next({}, {}, "wh_2")), [1, 2, 3, 4, 5]);
    assert.equal(await next({}, {}, "wh_3"), undefined);
    assert.deepEqual(numbers(await next({ after: 5, upTo: 5 })), [-2, -1]);
  });

  test("next returns retries and new events, half of the limit each if there are enough", async () => {
    await subscribe(store(), "wh_1");
    await appendMany(store(), 1, 40);
    await fail(...Array.from({ length: 20 }, (_, n) => due(n + 1, n - 20)));
    assert.deepEqual(numbers(await next({ after: 20, limit: 6 })), [-1, 21, -2, 22, -3, 23]);
    assert.deepEqual(numbers(await next({ after: 20, limit: 2 })), [-1, 21]);
    const found = await next({ after: 20, limit: 6 });
    assert.deepEqual([found!.scannedTo, found!.nextDueAtMs], [23, NOW_MS]);
    assert.deepEqual(numbers(await next({ after: 39, limit: 6 })), [-1, 40, -2, -3, -4, -5]);
    assert.deepEqual(numbers(await next({ after: 20, limit: 6, nowMs: NOW_MS - 20 })), [-1, 21, 22, 23, 24, 25]);
    assert.deepEqual(numbers(await next({ after: 20, limit: 4, nowMs: NOW_MS - 21 })), [21, 22, 23, 24]);
  });

  test("next leaves out events in flight, events with a failed delivery, and events that do not match", async () => {
    await subscribe(store(), "wh_1");
    const types = ["escrow.funded", "escrow.swept"];
    await append(store(), ...Array.from({ length: 30 }, (_, n) => sampleEvent(n + 1, { type: types[n % 2] })));
    await fail(due(1, -9), due(3, -8), due(5, -7), sampleFailed(9, "rejected"), sampleFailed(11, "dead"), due(13, 9));
    const funded = { types: ["escrow.funded"] };
    const found = await next({ after: 5, inFlight: [1, 7, 15], limit: 4 }, funded);
    assert.deepEqual(numbers(found), [-3, 17, -5, 19]);
    assert.equal(found!.scannedTo, 19);
    const rest = await next({ after: 19, upTo: 28, inFlight: [1, 3, 5, 25] }, funded);
    assert.deepEqual([numbers(rest), rest!.scannedTo], [[21, 23, 27], 28]);
    const none = await next({ after: 27, upTo: 28, inFlight: [1, 3, 5] }, funded);
    assert.deepEqual(none, { cursor: 0, deliveries: [], scannedTo: 28, nextDueAtMs: NOW_MS + 9 });
  });

  test("next returns deliveries whose attempt time or due time is too far ahead, because the clock was set back", async () => {
    await subscribe(store(), "wh_1");
    await appendMany(store(), 1, 9);
    await fail(
      due(1, 30_000),
      due(2, 5, { attemptedAtMs: NOW_MS + CLOCK_STEP_MS }),
      due(3, 7_000, { attemptedAtMs: NOW_MS + CLOCK_STEP_MS + 1 }),
      due(4, LONGEST_DELAY_MS),
      due(5, LONGEST_DELAY_MS + 1),
      due(6, 2 * LONGEST_DELAY_MS, { attemptedAtMs: NOW_MS + LONGEST_DELAY_MS }),
      due(7, -1),
      sampleFailed(8, "dead", { attemptedAtMs: NOW_MS + LONGEST_DELAY_MS }),
    );
    assert.deepEqual(numbers(await next({ after: 9, upTo: 9 })), [-7, -3, -5, -6]);
    assert.deepEqual(numbers(await next({ after: 9, upTo: 9, inFlight: [3, 7] })), [-5, -6]);
    assert.deepEqual(numbers(await next({ after: 9, upTo: 9, limit: 2 })), [-7, -3]);
  });

  test("an ordered subscription waits at a failed delivery, and can probe with it before it is due", async () => {
    await subscribe(store(), "wh_1");
    await appendMany(store(), 1, 9);
    const ordered = { ordered: true };
    assert.deepEqual(numbers(await next({ upTo: 3 }, ordered)), [1, 2, 3]);
    await fail(due(4, 10), due(3, 20));
    const waiting = { cursor: 0, deliveries: [], scannedTo: 4, nextDueAtMs: NOW_MS + 20 };
    assert.deepEqual(await next({ after: 4 }, ordered), waiting);
    assert.deepEqual(numbers(await next({ after: 4, nowMs: NOW_MS + 20 }, ordered)), [-3]);
    assert.deepEqual(numbers(await next({ after: 4, isProbing: true }, ordered)), [-3]);
    assert.deepEqual(numbers(await next({ after: 4, isProbing: true, inFlight: [3] }, ordered)), []);
    await settle(store(), { subscriptionId: "wh_1", delivered: [3, 4] });
    assert.deepEqual(numbers(await next({ after: 4, upTo: 6 }, ordered)), [5, 6]);
  });
}
