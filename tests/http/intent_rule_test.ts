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

/** Envelopes by hash and bound, newest first. `sinceLedger` is 10, or absent for the hashes of `unknownSince`. */
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

/** An account that has used this number, as of ledger 20. `closedAt` is the known close time of a ledger up to 20. */
const at = (sequence: number | undefined, closedAt = 0): AccountAsOf => {
  return { ledger: 20, sequence: sequence === undefined ? undefined : BigInt(sequence), closedAt };
};
const missing = (...unknown: string[]): LookedUp => ({ status: "missing", unknown });

const many = (count: number, validUntil = 900) =>
  Array.from({ length: count }, (_, n): [string, number] => [`#${count - n}`, validUntil]);

describe("the intent rule", () => {
  const live = intentOf([["#2", 500], ["#1", 400]]);
  const refused = { ...live, isRejected: true };
  const applied: LookedUp = { status: "applied", hash: "#1", ledger: 18 };
  const TABLE: [what: string, intent: TransactionIntent | undefined, known: Known, verdict: string][] = [
    ["no intent", undefined, {}, "fresh"],
    ["a stored outcome", { ...live, outcome: { hash: "#1", ledger: 18 } }, {}, "outcome #1"],
    ["an intent without envelopes", intentOf([]), {}, "fresh"],
    ["an account that is not read yet", live, {}, "read account"],
    ["an unused number and a newest envelope that may be applied", live, { account: at(4, 500) }, "again"],
    ["an unused number that is not the next", live, { account: at(2, 500) }, "again"],
    ["an unused number and a rejected newest envelope", refused, { account: at(4, 100) }, "replace #2 #1"],
    [
      "an unused number, a rejected newest envelope and one past its bound",
      refused,
      { account: at(4, 401) },
      "replace #2",
    ],
    [
      "an unused number, a rejected newest envelope and all past their bounds",
      refused,
      { account: at(4, 501) },
      "fresh",
    ],
    ["an unused number and no known ledger time", live, { account: at(4, 0) }, "again"],
    [
      "an unused number that is not the next, and a rejected newest envelope (I8)",
      refused,
      { account: at(2, 100) },
      "again",
    ],
    [
      "an unused number and sixteen live envelopes",
      intentOf(many(16), { isRejected: true }),
      { account: at(4, 100) },
      "again",
    ],
    [
      "an unused number and sixteen envelopes of which fifteen are live",
      intentOf([["#17", 900], ...many(14), ["#0", 50]], { isRejected: true }),
      { account: at(4, 100) },
      `replace #17 ${many(14).map(([hash]) => hash).join(" ")}`,
    ],
    [
      "an unused number, the newest envelope past its bound and an older one live (I9)",
      intentOf([["#2", 300], ["#1", 400]]),
      {
        account: at(4, 301),
      },
      "replace #1",
    ],
    ["an unused number that is not the next, and an older envelope live", intentOf([["#2", 300], ["#1", 400]]), {
      account: at(2, 301),
    }, "wait"],
    ["an unused number after a long sleep (I7)", live, { account: at(4, 9_000_000) }, "fresh"],
    ["a used number before the lookup", live, { account: at(5) }, "look up"],
    ["a used number and an applied envelope", live, { account: at(5), lookedUp: applied }, "outcome #1"],
    ["a used number and a failed envelope", live, { account: at(5), lookedUp: { status: "failed" } }, "fresh"],
    ["a used number and no envelope found", live, { account: at(5), lookedUp: missing() }, "fresh"],
    ["a used number and an envelope that the nodes may have forgotten (I1)", live, {
      account: at(5),
      lookedUp: missing("#1"),
    }, "unknown #1 for good"],
    ["no account before the lookup (I10)", live, { account: at(undefined) }, "look up"],
    ["no account and an applied envelope", live, { account: at(undefined, 900), lookedUp: applied }, "outcome #1"],
    [
      "no account, no envelope found, and one within its bound",
      live,
      { account: at(undefined, 450), lookedUp: missing() },
      "unknown #2",
    ],
    ["no account, no envelope found, and all past their bounds", live, {
      account: at(undefined, 501),
      lookedUp: missing(),
    }, "fresh"],
  ];

  for (const [what, intent, known, expected] of TABLE) {
    test(`given ${what} answers "${expected}"`, () => {
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

  test("drops envelopes past their bound at a replacement, and keeps the number and the others", () => {
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

  test("stores with an outcome the applied older envelope's bytes if a node has them (I13)", () => {
    const outcome = { hash: "#1", ledger: 18 };
    assert.deepEqual(withOutcome(live, { outcome, envelope: bytesOf("#1") }).envelope, bytesOf("#1"));
    assert.deepEqual(withOutcome(live, { outcome }), { ...live, outcome });
  });
});

describe("a client's own envelope", () => {
  const live = intentOf([["#1", 500]]);
  const brought = (sequence: number, validUntil = 700): NewEnvelope => {
    return { hash: "#2", sequence: String(sequence), validUntil, bytes: bytesOf("#2") };
  };

  /** Submits the envelope under the intent; returns the intent's hashes with their `sinceLedger`, or why not. */
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

  test("starts an intent from the ledger at which its number was unused", () => {
    assert.deepEqual(bring(undefined, brought(5), at(4)), [["#2", 20]]);
    assert.deepEqual(bring(undefined, brought(9), at(4)), [["#2", 20]]);
  });

  test("with a used number is never dead because the nodes do not find it (I1)", () => {
    assert.deepEqual(bring(undefined, brought(5), at(5)), [["#2", undefined]]);
    assert.deepEqual(bring(undefined, brought(5), at(undefined)), [["#2", undefined]]);
  });

  test("joins an intent only with the number of its live envelopes (I3)", () => {
    assert.deepEqual(bring(live, brought(5), at(4)), [["#2", 20], ["#1", 10]]);
    assert.equal(bring(live, brought(9), at(4)), "refused");
    assert.equal(bring(live, brought(4), at(3)), "refused");
  });

  test("joins an intent with any number when all its envelopes are dead (I2)", () => {
    assert.deepEqual(bring(live, brought(6), at(5), missing()), [["#2", 20]]);
    assert.deepEqual(bring(live, brought(6), at(5), { status: "failed" }), [["#2", 20]]);
    assert.deepEqual(bring(intentOf([]), brought(6), at(5)), [["#2", 20]]);
  });

  test("is dead when it is past its own bound", () => {
    assert.equal(bring(live, brought(5, 300), at(4, 301)), "dead");
  });

  test("is refused as full while sixteen envelopes are live", () => {
    assert.equal(bring(intentOf(many(16)), brought(5), at(4, 100)), "full");
    assert.equal(bring(intentOf(many(16)), brought(5), at(4, 100)), "full");
  });
});
