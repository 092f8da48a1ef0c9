import { parseEventId } from "../../lib/store/event.ts";
import type { GivenReference } from "../../lib/store/reference.ts";
import type { Store } from "../../lib/store/store.ts";

/** Transactions of a reference in one answer. */
export const MOST_LISTED = 20;

/** The form of a text that names something. */
export type Form = "hash" | "payment" | "reference";

export function formOf(text: string): Form {
  if (/^[0-9a-f]{64}$/i.test(text)) return "hash";
  return parseEventId(text) === undefined ? "reference" : "payment";
}

/** The transaction of a payment, or of any event. */
export async function hashOfEvent({ events }: Pick<Store, "events">, id: string): Promise<string | undefined> {
  return (await events.get(id))?.txHash;
}

/** Keys that may have given a reference. */
const MOST_KEYS = 1_000;

/** The newest transactions that API keys prepared with this reference, and whether there are more. */
export async function transactionsOf(
  store: Pick<Store, "references" | "sharedState">,
  reference: string,
): Promise<{ newest: GivenReference[]; isMore: boolean }> {
  // A fee bump may hide every second one.
  const limit = 2 * (MOST_LISTED + 1);
  const found: GivenReference[] = [];
  for (const keyId of await store.references.keysOf({ reference, limit: MOST_KEYS })) {
    found.push(...await store.references.ofReference({ keyId, reference, order: "desc", limit }));
    found.sort((one, other) => other.preparedAtMs - one.preparedAtMs).splice(limit);
  }
  const outer = await withoutBumped(store, found);
  return { newest: outer.slice(0, MOST_LISTED), isMore: outer.length > MOST_LISTED };
}

/** A fee bump and the transaction in it have the same reference. The bump tells the story. */
async function withoutBumped(
  { sharedState }: Pick<Store, "sharedState">,
  given: GivenReference[],
): Promise<GivenReference[]> {
  const inner = new Set(await Promise.all(given.map(({ hash }) => sharedState.read<string>(`fee bump ${hash}`))));
  const seen = new Set<string>();
  return given.filter(({ hash }) => !inner.has(hash) && !seen.has(hash) && seen.add(hash));
}
