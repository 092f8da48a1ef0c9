// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PaymentEntries } from "../../../lib/escrow/payments/payment_entries.ts";
import { paymentsHoldTo, REBUILD } from "../../../lib/escrow/payments/projection.ts";
import { openStore } from "../../../lib/store/open.ts";
import { formatEventId, type NewEvent } from "../../../lib/store/event.ts";
import type { PaymentState } from "../../../lib/store/payment.ts";
import { seededRandom } from "../../faults/seeded_random.ts";
import { CONTRACT } from "../../store/samples.ts";
import { forTier } from "../../tier.ts";
import { liveWorld, type World } from "./payment_worlds.ts";
import { append, CARD, gap, leaderOf, payment, rowsOf, START, stateAt } from "./projection_stage.ts";

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

test("payments end as they do in the contract, and their events come once, through late events, gaps, kills and a rebuild", async () => {
  const counts: Partial<Record<PaymentState, number>> = {};
  let expiring = 0;
  for (let seed = 1; seed <= forTier({ test: 12, all: 400 }); seed++) {
    const random = seededRandom(seed);
    const draw = (below: number) => Math.floor(random.next() * below);
    const worlds = [1, 2].map(() => liveWorld(draw, { withoutMeta: 30, late: 0, extended: 5, read: 0, gaps: 0 }));
    const events = worlds.flatMap((world, n) => loggedEvents(world, n))
      .map((event) => ({ event, known: event.ledger + (draw(5) === 0 ? draw(8) : 0) }));
    const truth = new Map(
      worlds.flatMap((world, n) =>
        loggedEvents(world, n).map((
          { id },
          at,
        ) => [id, { world, ...world.truth.get(world.all[at]!.id), of: world.all[at]!.id }])
      ),
    );
    const last = Math.max(...events.map(({ event }) => event.ledger)) + 80;
    const hidden = Array.from({ length: draw(3) }, () => {
      const fromLedger = 1 + draw(last - 90);
      return { ...gap(fromLedger, fromLedger + draw(8)), filledAt: fromLedger + 10 + draw(20) };
    });
    const store = await openStore("memory:");
    let ledger = 1;
    const readEntries: PaymentEntries = (payments) => {
      const at = ledger - draw(2);
      const read = payments.filter(() => draw(10) > 0);
      return Promise.resolve(
        new Map(read.map(({ id }) => {
          const { world, of } = truth.get(id)!;
          return [id, { ledger: at, endLedger: world.entryAt(of, at) }];
        })),
      );
    };
    let leader = leaderOf(store, readEntries, () => ledger);
    const own: NewEvent[] = [];
    for (; ledger <= last; ledger++) {
      const open = hidden.filter(({ fromLedger, filledAt }) => fromLedger <= ledger && filledAt > ledger);
      const gaps = open.map(({ filledAt: _, ...one }) => ({ ...one, toLedger: Math.min(one.toLedger, ledger) }));
      const isHidden = (at: number) => gaps.some((one) => at >= one.fromLedger && at <= one.toLedger);
      const found = events.filter(({ event, known }) => known <= ledger && !isHidden(event.ledger));
      const state = stateAt(ledger, Math.max(0, ledger - 8), { gaps });
      await append(store, found.map(({ event }) => event), state);
      if (draw(3) > 0) continue;
      if (draw(5) === 0) leader = leaderOf(store, readEntries, () => ledger);
      await leader.follow();
      assert.equal(await paymentsHoldTo(store), ledger);
      if (draw(2) === 0) await leader.read();
      const owed = await leader.owed();
      // A kill before the events are in the log.
      if (draw(4) === 0) continue;
      await append(store, owed, state);
      own.push(...owed);
      for (const { id, state } of await rowsOf(store)) {
        if (state === "claimed") assert.ok(truth.get(id)!.takenBy !== undefined, `seed ${seed}: ${id} was not taken`);
      }
    }
    assert.equal(new Set(own.map(({ id }) => id)).size, own.length, `seed ${seed}: ids recur`);
    assert.equal(new Set(own.map(({ type, payment }) => `${type} ${payment!.of}`)).size, own.length, `seed ${seed}`);
    for (const { type, ledger, payment } of own) {
      const { world, takenBy, of } = truth.get(payment!.of!)!;
      const isAlive = world.entryAt(of, ledger) !== undefined;
      const isTrue = type === "payment.expired" ? takenBy === undefined && !isAlive : isAlive;
      assert.ok(isTrue, `seed ${seed}: ${type} of ${payment!.of}`);
      if (type === "payment.expiring") expiring += 1;
    }
    await leader.follow();
    const rows = await rowsOf(store);
    for (const { id, state } of rows) {
      const { takenBy } = truth.get(id)!;
      // All gaps are filled, and all ledgers are settled.
      const expected = takenBy === undefined ? "expired" : "claimed";
      if (state !== "unknown") assert.equal(state, expected, `seed ${seed}: ${id}`);
      counts[state] = (counts[state] ?? 0) + 1;
    }
    assert.equal(rows.length, events.filter(({ event }) => event.type === "payment.authorized").length);
    await store.sharedState.change(REBUILD, () => ({ value: true, keepMs: 60_000, answer: undefined }));
    await leader.follow();
    assert.deepEqual(await rowsOf(store), rows, `seed ${seed}`);
    assert.deepEqual(await leader.owed(), []);
    await store.close();
  }
  const { claimed = 0, expired = 0, unknown = 0 } = counts;
  assert.ok(claimed > 50 && expired > 50 && expiring > 20, `${expiring} ` + JSON.stringify(counts));
  assert.ok(unknown < (claimed + expired) / 20, JSON.stringify(counts));
});

test("a reset leaves open payments unknown and claimed ones claimed", async () => {
  const store = await openStore("memory:");
  const { follow } = leaderOf(store);
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
  await follow();
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
    expiresAtLedger: 21,
    slot: 1,
    claim: { eventId: claim.id, txHash: "u", ledger: 20, claimedAt: 100, asset: "C" },
  });
  const formerEpochs = [{ epoch: 0, fromLedger: 1, toLedger: 40 }];
  await append(store, [], stateAt(3, 0, { epoch: 1, formerEpochs, gaps: [{ ...gap(36, 40), reason: "reset" }] }));
  await follow();
  assert.deepEqual(await states(), ["claimed", "unknown"]);
  assert.equal(await paymentsHoldTo(store), 3);
});

test("a stop does not wait for a node that never answers", async () => {
  const store = await openStore("memory:");
  const asked = Promise.withResolvers<void>();
  const { projection, follow, read } = leaderOf(store, () => {
    asked.resolve();
    return new Promise(() => {});
  });
  await append(store, [payment(10, 1)], stateAt(40, 35));
  await follow();
  const reading = read();
  await asked.promise;
  projection.stop();
  await reading;
});
