// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Authorisation, type Claim, paymentStates } from "../../../lib/escrow/payments/payment_states.ts";
import { seededRandom } from "../../faults/seeded_random.ts";
import { forTier } from "../../tier.ts";
import { liveWorld, type World, type WorldKind } from "./payment_worlds.ts";

const NONE: WorldKind = { withoutMeta: 0, late: 0, extended: 0, read: 0, gaps: 0 };
const KINDS: Record<string, WorldKind> = {
  plain: NONE,
  "without metadata": { ...NONE, withoutMeta: 40 },
  "no metadata": { ...NONE, withoutMeta: 100, read: 10 },
  "late events": { ...NONE, late: 40, read: 10 },
  gaps: { ...NONE, gaps: 100, read: 10 },
  extended: { ...NONE, extended: 10, read: 10, withoutMeta: 20 },
  everything: { withoutMeta: 30, late: 30, extended: 10, read: 15, gaps: 60 },
};

/** Compares the told states with the truth, and counts them. */
function check({ history, truth, missing }: World, counts: Record<string, number>): void {
  const { events, gaps, settledLedger } = history;
  const claims = events.filter((event): event is Claim => event.kind === "claimed");
  for (const [id, told] of paymentStates(history)) {
    const { takenBy, endedAt } = truth.get(id)!;
    counts[told.state] = (counts[told.state] ?? 0) + 1;
    const at = events.findIndex((event) => event.id === id);
    const payment = events[at] as Authorisation;
    const claim = events.slice(at).find((event): event is Claim => event.kind === "claimed");
    if (told.state === "claimed") {
      assert.ok(takenBy !== undefined, `${id} was not taken`);
      if (missing === 0) assert.equal(told.claimId, takenBy);
    }
    if (told.state === "ended") {
      assert.equal(takenBy, undefined, `${id} was taken`);
      assert.ok(endedAt !== undefined && endedAt <= told.ledger, `${id} had not ended at ${told.ledger}`);
    }
    if (told.state === "pending" && missing === 0) {
      assert.ok(takenBy === undefined, `${id} was taken by ${takenBy}`);
      assert.ok(claim === undefined || claim.ledger > settledLedger, `${id} is decided`);
    }
    if (told.state === "unknown") {
      const since = Math.max(payment.ledger, (payment.aliveAt ?? 0) + 1);
      const isGap = gaps.some(({ toLedger }) => toLedger >= since);
      const isUnshown = claim !== undefined && (claim.taken === undefined || payment.slot === undefined);
      const isMissing = missing > 0 && payment.absentAt !== undefined;
      assert.ok(isGap || isUnshown || isMissing, `${id} has a known state`);
    }
  }
  assert.ok(claims.every(({ id }) => !paymentStates(history).has(id)));
}

for (const [name, kind] of Object.entries(KINDS)) {
  test(`no payment has a wrong state: ${name}`, () => {
    const counts: Record<string, number> = {};
    const first = Number(process.env.PAYMENTS_SEED ?? 1);
    const worlds = forTier({ test: 150, all: 20_000 });
    for (let seed = first; seed < first + worlds; seed++) {
      try {
        const random = seededRandom(seed);
        check(liveWorld((below) => Math.floor(random.next() * below), kind), counts);
      } catch (error) {
        throw new Error(`PAYMENTS_SEED=${seed}: ${(error as Error).message}`, { cause: error });
      }
    }
    const { unknown = 0, claimed = 0, ended = 0, pending = 0 } = counts;
    assert.ok(claimed > 0 && ended > 0 && pending > 0, JSON.stringify(counts));
    if (name === "plain") assert.equal(unknown, 0);
    if (name === "without metadata") assert.ok(unknown < (claimed + ended) / 20, JSON.stringify(counts));
  });
}
