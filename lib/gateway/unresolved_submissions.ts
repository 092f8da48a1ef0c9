import type { UnresolvedSubmission } from "../escrow/operations/outcome_warnings.ts";
import type { Store } from "../store/store.ts";
import { withoutOutcome } from "./submission_log.ts";

/** One of them in the store. */
interface Unresolved {
  hash: string;
  /** Network time in Unix seconds; 0 while unknown. */
  sinceSeconds: number;
}

const WARNED_SECONDS = 86_400;
/** By the store's clock, which may be weeks off: an expired value counts as absent. */
const KEPT_MS = 90 * 86_400_000;
/** Most of one operation. Other operations have their own limit. */
const MAX_PER_OPERATION = 50;

/**
 * Submissions whose client did not get the outcome, and rejected ones that the network may still apply. A client that
 * prepares the same operation again gets a warning, until a client has read the outcome, and for a day of network time. They
 * are in the store, for all gateways on it.
 */
export function createUnresolvedSubmissions(
  { sharedState, submissions }: Pick<Store, "sharedState" | "submissions">,
  /** The newest confirmed ledger; its close time is 0 while there is none. */
  confirmed: () => { closeTime: number },
) {
  const nameOf = (source: string, operation: string) => `unresolved ${source} ${operation}`;
  const stillOpen = (all: Unresolved[] = []): Unresolved[] =>
    all.filter(({ sinceSeconds }) => sinceSeconds === 0 || confirmed().closeTime <= sinceSeconds + WARNED_SECONDS);

  /** Name in the shared state for this submission; undefined for a hash that was not submitted here. */
  async function nameOfHash(hash: string): Promise<string | undefined> {
    const { source, operation } = await submissions.get(hash) ?? {};
    return source === undefined || operation === undefined ? undefined : nameOf(source, operation);
  }

  const change = (name: string, next: (stored: Unresolved[]) => Unresolved[]) =>
    sharedState.change<Unresolved[], void>(name, (stored) => {
      return { value: next(stillOpen(stored)), keepMs: KEPT_MS, answer: undefined };
    });

  return {
    /** Those of an account for one operation (`operationDigest`), newest first, and then those without an outcome. */
    async of(source: string, operation: string): Promise<UnresolvedSubmission[]> {
      const hashes: string[] = [];
      for await (const { hash, operation: its } of withoutOutcome(submissions, source)) {
        if (its === operation) hashes.push(hash);
      }
      // Only after that: a submission that got its outcome meanwhile is in this list already.
      const unread = stillOpen(await sharedState.read(nameOf(source, operation))).map(({ hash }) => hash);
      return [...new Set([...unread, ...hashes])].map((hash) => ({ hash, operation }));
    },
    /** Ignores a hash that was not submitted here. */
    async add(hash: string): Promise<void> {
      const name = await nameOfHash(hash);
      if (name === undefined) return;
      const added = { hash, sinceSeconds: confirmed().closeTime };
      await change(name, (stored) => [added, ...stored.filter((one) => one.hash !== hash)].slice(0, MAX_PER_OPERATION));
    },
    /** A client has read the outcome. */
    async resolve(hash: string): Promise<void> {
      const name = await nameOfHash(hash);
      if (name === undefined) return;
      const stored = await sharedState.read<Unresolved[]>(name);
      if (!stored?.some((one) => one.hash === hash)) return;
      await change(name, (stored) => stored.filter((one) => one.hash !== hash));
    },
  };
}
