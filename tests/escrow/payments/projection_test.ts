// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createPaymentsProjection, paymentsHoldTo } from "../../../lib/escrow/payments/projection.ts";
import { openStore } from "../../../lib/store/open.ts";
import { formatEventId, type NewEvent } from "../../../lib/store/event.ts";
import type { PaymentState, StoredPayment } from "../../../lib/store/payment.ts";
import type { HistoryGap, Store, WatcherState } from "../../../lib/store/store.ts";
import { seededRandom } from "../../faults/seeded_random.ts";
import { CONTRACT, sampleState, watcherLease } from "../../store/samples.ts";
import { forTier } from "../../tier.ts";
import { liveWorld, type World } from "./payment_worlds.ts";

const LIFE = 12;
const START = 1_793_491_200;
const CARD = "ab".repeat(32);

function projectionOf(store: Store, holder = "this one") {
  let nowMs = 0;
  return createPaymentsProjection({
    store,
    paymentEscrow: CONTRACT,
    shortestLife: () => Promise.resolve(LIFE),
    holder,
    monotonicMs: () => nowMs += 1_000,
  });
}

const stateAt = (scannedLedger: number, settledLedger: number, more: Partial<WatcherState> = {}) =>
  sampleState(scannedLedger, {
    settledLedger,
    contracts: { [CONTRACT]: { fromLedger: 1, toLedger: null } },
    ...more,
  });

const gap = (fromLedger: number, toLedger: number): HistoryGap => {
  return {
    epoch: 0,
    fromLedger,
    toLedger,
    contractIds: [CONTRACT],
    detectedAt: "2026-11-01T00:00:00Z",
    reason: "pruned",
  };
};

async function append(store: Store, events: NewEvent[], state: WatcherState): Promise<void> {
  const lease = await watcherLease(store);
  for (let at = 0; at === 0 || at < events.length; at += 100) {
    await store.events.append({ lease, events: events.slice(at, at + 100), state });
  }
}

/** The events of a world as the watcher stores them. */
function loggedEvents({ all }: World, n: number): NewEvent[] {
  return all.map((event, at) => ({
    id: formatEventId({ epoch: 0, ledger: event.ledger, order: 4_096 * (at + 1), index: n }),
    type: event.kind === "authorised" ? "payment.authorized" : "payment.claimed",
    contractId: CONTRACT,
    ledger: event.ledger,
    // In the world, the time in an entry is its ledger's number.
    ledgerClosedAt: new Date(event.ledger * 1_000).toISOString().replace(".000", ""),
    txHash: event.txHash,
    merchant: `M${n}`,
    amount: `${event.amount}`,
    knownAt: START,
    ...(event.kind === "claimed" ? event.taken && { payment: { taken: event.taken } } : {
      deviceHash: CARD,
      ...(event.slot === undefined ? {} : { payment: { slot: event.slot, endLedger: event.endLedger } }),
    }),
  }));
}

const rowsOf = (store: Store): Promise<StoredPayment[]> =>
  store.payments.list({ filter: {}, order: "asc", limit: 1_000 });

test("payments end up the same, with late events and gaps, and with pauses of the projection", async () => {
  const counts: Partial<Record<PaymentState, number>> = {};
  for (let seed = 1; seed <= forTier({ test: 12, all: 400 }); seed++) {
    const random = seededRandom(seed);
    const draw = (below: number) => Math.floor(random.next() * below);
    const worlds = [1, 2].map(() => liveWorld(draw, { withoutMeta: 30, late: 0, extended: 5, read: 0, gaps: 0 }));
    const events = worlds.flatMap((world, n) => loggedEvents(world, n))
      .map((event) => ({ event, known: event.ledger + (draw(5) === 0 ? draw(8) : 0) }));
    const truth = new Map(
      worlds.flatMap((world, n) =>
        loggedEvents(world, n).map(({ id }, at) => [id, world.truth.get(world.all[at]!.id)])
      ),
    );
    const last = Math.max(...events.map(({ event }) => event.ledger)) + 30;
    const hidden = Array.from({ length: draw(3) }, () => {
      const fromLedger = 1 + draw(last - 10);
      return { ...gap(fromLedger, fromLedger + draw(8)), filledAt: fromLedger + 10 + draw(20) };
    });
    const store = await openStore("memory:");
    const projection = projectionOf(store);
    for (let ledger = 1; ledger <= last; ledger++) {
      const open = hidden.filter(({ fromLedger, filledAt }) => fromLedger <= ledger && filledAt > ledger);
      const gaps = open.map(({ filledAt: _, ...one }) => ({ ...one, toLedger: Math.min(one.toLedger, ledger) }));
      const isHidden = (at: number) => gaps.some((one) => at >= one.fromLedger && at <= one.toLedger);
      const found = events.filter(({ event, known }) => known <= ledger && !isHidden(event.ledger));
      await append(store, found.map(({ event }) => event), stateAt(ledger, Math.max(0, ledger - 8), { gaps }));
      if (draw(3) > 0) continue;
      await projection.look();
      assert.equal(await paymentsHoldTo(store), ledger);
      for (const { id, state } of await rowsOf(store)) {
        const { takenBy } = truth.get(id)!;
        if (state === "claimed") assert.ok(takenBy !== undefined, `seed ${seed}: ${id} was not taken`);
      }
    }
    await append(store, events.map(({ event }) => event), stateAt(last, last - 8));
    await projection.look();
    const atOnce = await openStore("memory:");
    await append(atOnce, events.map(({ event }) => event), stateAt(last, last - 8));
    const rebuilt = projectionOf(atOnce);
    await rebuilt.look();
    const rows = await rowsOf(store);
    assert.deepEqual(rows, await rowsOf(atOnce), `seed ${seed}`);
    assert.equal(rows.length, events.filter(({ event }) => event.type === "payment.authorized").length);
    for (const { state } of rows) counts[state] = (counts[state] ?? 0) + 1;
    await Promise.all([projection.stop(), rebuilt.stop()]);
    await Promise.all([store.close(), atOnce.close()]);
  }
  assert.ok(counts.claimed! > 50 && counts.pending! > 10, JSON.stringify(counts));
});

const payment = (ledger: number, slot: number): NewEvent => ({
  id: formatEventId({ epoch: 0, ledger, order: 4_096, index: 0 }),
  ...{ type: "payment.authorized", contractId: CONTRACT, ledger, txHash: "t", deviceHash: CARD, merchant: "M" },
  ...{ ledgerClosedAt: new Date(ledger * 5_000).toISOString().replace(".000", ""), amount: "5", knownAt: START },
  payment: { slot, endLedger: ledger + LIFE - 1, agent: "A" },
});

test("a reset leaves open payments unknown and claimed ones claimed", async () => {
  const store = await openStore("memory:");
  const projection = projectionOf(store);
  const [first, second] = [payment(10, 1), payment(30, 1)];
  const claim: NewEvent = {
    ...payment(20, 1),
    type: "payment.claimed",
    deviceHash: undefined,
    asset: "C",
    txHash: "u",
    payment: { taken: [{ slot: 1, at: 50 }] },
  };
  await append(store, [first, claim, second], stateAt(40, 35));
  await projection.look();
  const states = async () => (await rowsOf(store)).map(({ state }) => state);
  assert.deepEqual(await states(), ["claimed", "pending"]);
  const [row] = await rowsOf(store);
  assert.deepEqual(row, {
    id: first!.id,
    state: "claimed",
    contractId: CONTRACT,
    ledger: 10,
    authorizedAt: 50,
    txHash: "t",
    deviceHash: CARD,
    merchant: "M",
    amount: "5",
    agent: "A",
    slot: 1,
    expiresAtLedger: 21,
    claim: { eventId: claim.id, txHash: "u", ledger: 20, claimedAt: 100, asset: "C" },
  });
  const formerEpochs = [{ epoch: 0, fromLedger: 1, toLedger: 40 }];
  await append(store, [], stateAt(3, 0, { epoch: 1, formerEpochs, gaps: [{ ...gap(36, 40), reason: "reset" }] }));
  await projection.look();
  assert.deepEqual(await states(), ["claimed", "unknown"]);
  assert.equal(await paymentsHoldTo(store), 3);
});

test("another gateway derives the payments after this one has stopped, and not before", async () => {
  const store = await openStore("memory:");
  const [one, other] = [projectionOf(store), projectionOf(store, "another")];
  const told = async () => (await rowsOf(store)).length;
  await one.look();
  await append(store, [payment(10, 1)], stateAt(15, 1));
  await other.look();
  assert.equal(await told(), 0);
  await one.look();
  assert.equal(await told(), 1);
  await one.stop();
  await append(store, [payment(20, 2)], stateAt(25, 1));
  await one.look();
  assert.equal(await told(), 1);
  for (let seconds = 0; seconds < 10; seconds++) await other.look();
  assert.equal(await told(), 2);
  await other.stop();
  await store.close();
});
