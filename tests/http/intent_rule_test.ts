// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type AccountAsOf,
  judge,
  type Known,
  type LookedUp,
  type NewEnvelope,
  withBrought,
  withOutcome,
  withPrepared,
} from "../../lib/http/intents/intent.ts";
import type { IntentEnvelope, TransactionIntent } from "../../lib/store/transaction_intent.ts";

const REQUEST = "ab".repeat(32);
const bytesOf = (hash: string) => new TextEncoder().encode(hash);

/** Envelopes by hash and bound, newest first; `sinceLedger` is 10 unless it is said to be unknown. */
function intentOf(
  bounds: [hash: string, validUntil: number][],
  { sequence = 5, isRejected = false, unknownSince = [] as string[] } = {},
): TransactionIntent {
  const envelopes = bounds.map(([hash, validUntil]): IntentEnvelope =>
    unknownSince.includes(hash) ? { hash, validUntil } : { hash, validUntil, sinceLedger: 10 }
  );
  const envelope = bytesOf(bounds[0]?.[0] ?? "");
  return { request: REQUEST, sequence: String(sequence), envelope, isRejected, envelopes };
}

/** An account that has used this number, as of ledger 20; a ledger that is not above it closed then. */
const at = (sequence: number | undefined, closedAt = 0): AccountAsOf => {
  return { ledger: 20, sequence: sequence === undefined ? undefined : BigInt(sequence), closedAt };
};
const missing = (...unknown: string[]): LookedUp => ({ status: "missing", unknown });

const many = (count: number, validUntil = 900) =>
  Array.from({ length: count }, (_, n): [string, number] => [`#${count - n}`, validUntil]);

describe("the rule by which one intent is one payment", () => {
  const live = intentOf([["#2", 500], ["#1", 400]]);
  const refused = { ...live, isRejected: true };
  const applied: LookedUp = { status: "applied", hash: "#1", ledger: 18 };
  const TABLE: [what: string, intent: TransactionIntent | undefined, known: Known, verdict: string][] = [
    ["there is no intent", undefined, {}, "fresh"],
    ["its outcome is kept", { ...live, outcome: { hash: "#1", ledger: 18 } }, {}, "outcome #1"],
    ["none is left", intentOf([]), {}, "fresh"],
    ["the account is not read", live, {}, "read account"],
    ["unused, the newest may be applied", live, { account: at(4, 500) }, "again"],
    ["unused, and not the next", live, { account: at(2, 500) }, "again"],
    ["unused, the newest was turned down", refused, { account: at(4, 100) }, "replace #2 #1"],
    ["unused, turned down, one is past its bound", refused, { account: at(4, 401) }, "replace #2"],
    ["unused, turned down, all past their bounds", refused, { account: at(4, 501) }, "fresh"],
    ["unused, all past their bounds, no time known", live, { account: at(4, 0) }, "again"],
    ["unused, turned down, not the next (I8)", refused, { account: at(2, 100) }, "again"],
    ["unused, sixteen are live", intentOf(many(16), { isRejected: true }), { account: at(4, 100) }, "again"],
    [
      "unused, fifteen of sixteen are live",
      intentOf([["#17", 900], ...many(14), ["#0", 50]], { isRejected: true }),
      { account: at(4, 100) },
      `replace #17 ${many(14).map(([hash]) => hash).join(" ")}`,
    ],
    ["unused, the newest past its bound, an older one not (I9)", intentOf([["#2", 300], ["#1", 400]]), {
      account: at(4, 301),
    }, "replace #1"],
    ["the same, and not the next", intentOf([["#2", 300], ["#1", 400]]), { account: at(2, 301) }, "wait"],
    ["unused after long sleep, whatever nodes hold (I7)", live, { account: at(4, 9_000_000) }, "fresh"],
    ["used, not looked up", live, { account: at(5) }, "look up"],
    ["used, one was applied", live, { account: at(5), lookedUp: applied }, "outcome #1"],
    ["used, one failed", live, { account: at(5), lookedUp: { status: "failed" } }, "fresh"],
    ["used, none is found", live, { account: at(5), lookedUp: missing() }, "fresh"],
    ["used, one may be forgotten (I1)", live, { account: at(5), lookedUp: missing("#1") }, "unknown #1 for good"],
    ["no account, not looked up (I10)", live, { account: at(undefined) }, "look up"],
    ["no account, one was applied", live, { account: at(undefined, 900), lookedUp: applied }, "outcome #1"],
    [
      "no account, none found, within a bound",
      live,
      { account: at(undefined, 450), lookedUp: missing() },
      "unknown #2",
    ],
    ["no account, none found, past all bounds", live, { account: at(undefined, 501), lookedUp: missing() }, "fresh"],
  ];

  for (const [what, intent, known, expected] of TABLE) {
    test(`${what}: ${expected}`, () => {
      const verdict = judge(intent, known);
      const more = verdict.kind === "outcome"
        ? [verdict.outcome.hash]
        : verdict.kind === "unknown"
        ? [verdict.hash, ...verdict.isPermanent ? ["for good"] : []]
        : verdict.kind === "replace"
        ? verdict.live.map(({ hash }) => hash)
        : [];
      assert.equal([verdict.kind, ...more].join(" "), expected);
    });
  }

  test("a replacement forgets what is past its bound, and keeps the number and the others", () => {
    const verdict = judge(refused, { account: at(4, 401) });
    assert.ok(verdict.kind === "replace");
    const made: NewEnvelope = { hash: "#3", sequence: "5", validUntil: 700, bytes: bytesOf("#3") };
    const next = withPrepared(REQUEST, verdict, made, 20);
    assert.deepEqual(next.envelopes, [
      { hash: "#3", validUntil: 700, sinceLedger: 20 },
      { hash: "#2", validUntil: 500, sinceLedger: 10 },
    ]);
    assert.deepEqual([next.sequence, next.isRejected], ["5", false]);
  });

  test("an outcome by an older envelope keeps that one's bytes, where a node has them (I13)", () => {
    const outcome = { hash: "#1", ledger: 18 };
    assert.deepEqual(withOutcome(live, { outcome, envelope: bytesOf("#1") }).envelope, bytesOf("#1"));
    assert.deepEqual(withOutcome(live, { outcome }), { ...live, outcome });
  });
});

describe("an envelope that a client brings", () => {
  const live = intentOf([["#1", 500]]);
  const brought = (sequence: number, validUntil = 700): NewEnvelope => {
    return { hash: "#2", sequence: String(sequence), validUntil, bytes: bytesOf("#2") };
  };

  /** Brings it, with the account as it is then, and answers its hashes with their `sinceLedger`. */
  function bring(
    intent: TransactionIntent | undefined,
    envelope: NewEnvelope,
    account: AccountAsOf,
    lookedUp?: LookedUp,
  ) {
    const verdict = judge(intent, { account, lookedUp });
    const { kind } = verdict;
    assert.ok(kind === "again" || kind === "replace" || kind === "wait" || kind === "fresh", kind);
    const next = withBrought(REQUEST, intent, verdict, envelope, account);
    return typeof next === "string" ? next : next.envelopes.map(({ hash, sinceLedger }) => [hash, sinceLedger]);
  }

  test("begins an intent, since the ledger at which its number was unused", () => {
    assert.deepEqual(bring(undefined, brought(5), at(4)), [["#2", 20]]);
    assert.deepEqual(bring(undefined, brought(9), at(4)), [["#2", 20]]);
  });

  test("whose number is used already is never dead by not being found (I1)", () => {
    assert.deepEqual(bring(undefined, brought(5), at(5)), [["#2", undefined]]);
    assert.deepEqual(bring(undefined, brought(5), at(undefined)), [["#2", undefined]]);
  });

  test("joins with the number of the live ones, and with no other (I3)", () => {
    assert.deepEqual(bring(live, brought(5), at(4)), [["#2", 20], ["#1", 10]]);
    assert.equal(bring(live, brought(9), at(4)), "refused");
    assert.equal(bring(live, brought(4), at(3)), "refused");
  });

  test("joins with any number once all are dead (I2)", () => {
    assert.deepEqual(bring(live, brought(6), at(5), missing()), [["#2", 20]]);
    assert.deepEqual(bring(live, brought(6), at(5), { status: "failed" }), [["#2", 20]]);
    assert.deepEqual(bring(intentOf([]), brought(6), at(5)), [["#2", 20]]);
  });

  test("is not kept when it is past its own bound", () => {
    assert.equal(bring(live, brought(5, 300), at(4, 301)), "dead");
  });

  test("waits while sixteen are live", () => {
    assert.equal(bring(intentOf(many(16)), brought(5), at(4, 100)), "full");
    assert.equal(bring(intentOf(many(16)), brought(5), at(4, 100)), "full");
  });
});
