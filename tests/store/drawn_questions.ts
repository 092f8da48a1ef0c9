import fc from "fast-check";
import { type BucketState, type Store, StoreError } from "../../lib/store/store.ts";
import { type Call, INTENT } from "./drawn_changes.ts";
import { filter, height, id, IDS, keyId, KEYS, origin, upTo } from "./drawn_values.ts";

/** The reads to compare. */
export const questions: fc.Arbitrary<Call[]> = fc.record({
  one: id,
  page: fc.record({ after: upTo(99), upTo: upTo(99) }, { requiredKeys: [] }),
  filter,
  order: fc.constantFrom("asc", "desc"),
  limit: fc.integer({ min: 1, max: 30 }),
  height,
  origin,
  keyId,
  before: fc.record({ before: upTo(99) }, { requiredKeys: [] }),
  after: fc.record({ after: fc.constantFrom(...IDS, ...KEYS, "", "wh_") }, { requiredKeys: [] }),
}).map(({ one, page, filter, order, limit, height, origin, keyId, before, after }) => [
  ["events", "bounds"],
  ["events", "read", { filter, order, limit, ...page }],
  ["events", "count", { filter, limit, ...page }],
  ["events", "before", height],
  ["events", "get", origin.id],
  ["events", "watcherState"],
  ["events", "undecoded", { limit: 100 }],
  ["deliveries", "consumers", { limit: 9 }],
  ["deliveries", "failed", { subscriptionId: one, state: "retrying", limit }],
  ["deliveries", "failed", { subscriptionId: one, state: "retrying", beyond: page.after, limit }],
  ["deliveries", "failed", { subscriptionId: one, state: "rejected", beyond: before.before, limit }],
  ["deliveries", "failed", { subscriptionId: one, state: "dead", beyond: before.before, limit }],
  ["deliveries", "attempts", one, { limit, ...before }],
  ["deliveries", "consumer", one],
  ["deliveries", "consumers", { limit, ...after }],
  ["subscriptions", "list", { limit, ...after }],
  ["subscriptions", "list", { keyId, limit, ...after }],
  ["subscriptions", "secretsCheck"],
  ["keys", "get", keyId],
  ["keys", "list", { limit, ...after }],
  ["buckets", "load"],
  ["sharedState", "read", keyId],
  ["network", "bound"],
  ["intents", "get", INTENT],
  ["submissions", "get", origin.txHash],
  ["submissions", "withoutOutcome", { source: "G1", after: origin.txHash, limit }],
  ["submissions", "withoutOutcome", { limit }],
  ["references", "isAny"],
  ["references", "list", { limit }],
  ["transactions", "all", { limit }],
  ["transactions", "list", { keyId: "k1", filter: {}, order, limit }],
  ["transactions", "list", { keyId: "k1", filter: { kind: "claim", source: "G1" }, order, limit }],
  ["transactions", "list", { keyId: "k1", filter: { status: "success" }, order, limit }],
]);

/** The answer, or of which kind the refusal was. */
export async function ask(store: Store, [noun, method, ...args]: Call): Promise<unknown> {
  try {
    const methods = store[noun] as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const answer = await methods[method]!(...args);
    // The order is undefined, and drivers purge deleted rows at different times.
    if (method === "load") return Map.groupBy(answer as BucketState[], ({ keyId }) => keyId);
    return method === "purgeDeleted" ? undefined : answer;
  } catch (error) {
    if (error instanceof StoreError) return { refused: error.kind };
    if (error instanceof RangeError) return { refused: error.name };
    throw error;
  }
}
