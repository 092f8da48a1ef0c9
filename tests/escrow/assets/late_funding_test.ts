import assert from "node:assert/strict";
import { test } from "node:test";
import { createForeignMovements, type MovementEvent } from "../../../lib/escrow/assets/foreign_movements.ts";

const CARD = "ab".repeat(32);
const ESCROW = "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX";

/** Their places in the log: the first look after a start begins 5,000 events back. */
async function alarmsOf(found: [sequence: number, type: string, asset: string, ledger: number][]) {
  const events = found.map(([sequence, type, asset, ledger]): MovementEvent => ({
    sequence,
    id: String(ledger).padStart(30, "0"),
    ledger,
    knownAt: 0,
    contractId: ESCROW,
    type,
    asset,
    amount: "5",
    deviceHash: CARD,
  }));
  const alarms: number[] = [];
  await createForeignMovements({
    log: {
      read({ filter, after = 0, upTo = Infinity, order, limit }) {
        const all = events.filter(({ type, sequence }) =>
          filter.types.includes(type) && sequence > after && sequence <= upTo
        );
        return Promise.resolve((order === "desc" ? all.reverse() : all).slice(0, limit));
      },
      bounds: () => Promise.resolve({ last: events.at(-1)!.sequence }),
    },
    contractIds: [ESCROW],
    assets: { has: () => true },
    onForeign: ({ event }) => alarms.push(event.ledger),
  }).look();
  return alarms;
}

test("a funding that came late into the log does not hide a later one in another asset than the policy's", async () => {
  assert.deepEqual(
    await alarmsOf([[1, "agent.registered", "X", 100], [6_001, "escrow.funded", "Y", 200]]),
    [200],
  );
  assert.deepEqual(
    await alarmsOf([
      [1, "agent.registered", "X", 100],
      // Of before the policy: a node had left it out.
      [6_000, "escrow.funded", "Y", 50],
      [6_001, "escrow.swept", "Y", 150],
      [6_002, "escrow.funded", "Y", 200],
    ]),
    [200],
  );
});

test("nor does a sweep hide what was funded after it", async () => {
  assert.deepEqual(
    await alarmsOf([
      [1, "escrow.funded", "X", 100],
      [6_000, "escrow.swept", "X", 50],
      [6_001, "escrow.funded", "Y", 200],
    ]),
    [200],
  );
});
