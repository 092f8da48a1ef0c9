import fc from "fast-check";
import { MAX_LEDGER, MAX_UINT32 } from "../../lib/ledger_numbers.ts";
import { formatEventId, heightOf } from "../../lib/store/event.ts";
import { CONTRACT } from "./samples.ts";
import { sampleAttempt, START_MS } from "./webhook_samples.ts";

const ACCOUNT = "GBZXN7PIRZGNMHGA7MUUUF4GWPY5AYPV6LY4UV2GL6VJGIQRXFDNMADI";
/** In the order of their bytes, which is not that of JavaScript's strings. */
export const IDS = ["wh_1", "wh_2", "wh_\uffff", "wh_😀"];
export const KEYS = ["k1", "k2", "k\u00fc", "k\uffff", "k😀"];
export const TYPES = ["escrow.funded", "escrow.claimed", "payment.expired"];
export const hash = fc.constantFrom("0", "1", "2").map((digit) => digit.repeat(64));
export const merchant = fc.constantFrom("GM0", ACCOUNT);
export const agent = fc.constantFrom("GA0", CONTRACT);
export const id = fc.constantFrom(...IDS);
const epoch = fc.constantFrom(0, 0, 0, 0, 1, 9_999);
const ledger = fc.constantFrom(...Array.from({ length: 40 }, (_, n) => n + 1), MAX_LEDGER);
const place = fc.constantFrom(0, 0, 1, 2, MAX_UINT32);
export const upTo = (most: number) => fc.nat({ max: most });
export const keyId = fc.constantFrom(...KEYS);
export const text = fc.constantFrom(
  "",
  "a",
  'it\'s "so"',
  "\\u0000",
  "ü€😀",
  "x".repeat(2_000),
  "[1]",
  "null",
  "\u2028\r\n\t",
);
export const iso = upTo(99).map((second) => new Date(START_MS + second * 1_000).toISOString());
/** Far in the past and in the future, too. */
export const time = fc.oneof(
  upTo(99).map((ms) => START_MS + ms),
  fc.constantFrom(0, -1, 1, 2 ** 31, 2 ** 32, 8.64e15, 2 ** 53 - 1),
);

/** Few ledgers and subjects, so that much meets: the same id twice, an event below those that are known already. */
export const origin = fc.record({ epoch, ledger, order: place, index: place }).chain((parts) =>
  fc.record({
    id: fc.constant(formatEventId(parts)),
    contractId: fc.constant("C".repeat(56)),
    ledger: fc.constant(parts.ledger),
    ledgerClosedAt: upTo(49).map((second) => `2026-11-01T00:00:${10 + second}Z`),
    txHash: hash,
  })
);
const payment = fc.constantFrom({ agent: "A", slot: 1, endLedger: 9 }, { taken: [{ slot: 2, at: 3 }] });
const asset = fc.constantFrom("A", CONTRACT);
const fields = fc.record({ deviceHash: hash, merchant, agent, amount: text, asset, payment }, { requiredKeys: [] });
export const event = fc.tuple(origin, fields, fc.constantFrom(...TYPES), upTo(99))
  .map(([from, more, type, knownAt]) => ({ ...from, ...more, type, knownAt }));
export const undecoded = fc.tuple(origin, upTo(50_000))
  .map(([from, size]) => ({ ...from, type: null, raw: { topics: ["A".repeat(size)], value: "B" } }));
export const height = fc.tuple(epoch, fc.oneof(upTo(44), fc.constantFrom(MAX_LEDGER - 1, MAX_LEDGER))).map((
  [of, ledger],
) => heightOf(of, ledger));
export const filter = fc.record({
  types: fc.subarray(TYPES),
  deviceHash: hash,
  merchant,
  agent,
  txHash: hash,
  fromHeight: height,
  toHeight: height,
}, { requiredKeys: [] });
export const attempt = fc.tuple(
  upTo(999),
  fc.record({
    outcome: fc.constantFrom("delivered", "retry", "rejected", "dead"),
    replayId: fc.constantFrom(null, "rp_1"),
    number: fc.constantFrom(0, 1, 2 ** 31),
    atMs: time,
    durationMs: fc.constantFrom(0, 0.1, 1e9),
    statusCode: fc.constantFrom(null, 100, 999),
    error: fc.option(text),
    responseBody: fc.option(text),
    nextAttemptAtMs: fc.option(time),
  }, { requiredKeys: ["outcome"] }),
).map(([n, fields]) => sampleAttempt(n, fields));

/** Of events that there are; how many is known only then. */
export function settlement(last: number) {
  const failed = fc.record({
    sequence: fc.integer({ min: 1, max: Math.max(1, last) }),
    state: fc.constantFrom("retrying", "rejected", "dead"),
    attempts: upTo(5),
    dueAtMs: time,
    failedAtMs: time,
    attemptedAtMs: time,
  }).map((one) => one.state === "retrying" ? one : { ...one, dueAtMs: null });
  return fc.record({
    subscriptionId: id,
    cursor: upTo(last),
    failed: last === 0
      ? fc.constant([])
      : fc.uniqueArray(failed, { maxLength: 4, selector: ({ sequence }) => sequence }),
    delivered: fc.array(fc.integer({ min: 1, max: last + 1 }), { maxLength: 2 }),
    failingSinceMs: fc.option(time),
    replay: fc.record({ id: id.map((one) => `rp_${one}`), cursor: upTo(last), done: fc.boolean() }),
    attempts: fc.array(attempt, { maxLength: 3 }),
  }, { requiredKeys: ["subscriptionId", "attempts"] });
}
