import type { UnresolvedSubmission } from "../escrow/operations/outcome_warnings.ts";
import type { Store } from "../store/store.ts";

/**
 * Submissions that were applied and whose sender has not heard of it: he had left before the answer, or there was none; and
 * those that may be applied though he was told that they were turned down.
 * Whoever prepares the same again is warned, until somebody has asked for the outcome, for a day by the network's time: no clock
 * ends that. Kept in the store, for all gateways on it.
 */
export interface UnresolvedSubmissions {
  /** Those of an account for one operation (`operationDigest`), newest first. */
  of(source: string, operation: string): Promise<UnresolvedSubmission[]>;
  /** Passes over what was not submitted here. */
  add(hash: string): Promise<void>;
  /** Somebody has been told how it ended. */
  told(hash: string): Promise<void>;
}

/** One of them, as it stands in the store. */
interface Kept {
  hash: string;
  /** Unix seconds by the network; 0 where that was not known. */
  sinceSeconds: number;
}

const WARNED_SECONDS = 86_400;
/** By the store's clock, which may be weeks off: what is over by it counts as absent. */
const KEPT_MS = 90 * 86_400_000;
/** Of one operation; a batch of others whose answers are lost, too, takes no room from it. */
const MOST_KEPT = 50;

export function createUnresolvedSubmissions(
  { sharedState, submissions }: Pick<Store, "sharedState" | "submissions">,
  /** The newest ledger that is confirmed; the close time is 0 while there is none. */
  confirmed: () => { closeTime: number },
): UnresolvedSubmissions {
  const nameOf = (source: string, operation: string) => `lost answers ${source} ${operation}`;
  const hashesOf = async (name: string) => stillKept(await sharedState.read(name)).map(({ hash }) => hash);

  const stillKept = (all: Kept[] = []): Kept[] =>
    all.filter(({ sinceSeconds }) => sinceSeconds === 0 || confirmed().closeTime <= sinceSeconds + WARNED_SECONDS);

  /** Where this submission stands when its answer is lost; undefined for what was not submitted here. */
  async function placeOf(hash: string): Promise<string | undefined> {
    const { source, operation } = await submissions.get(hash) ?? {};
    return source === undefined || operation === undefined ? undefined : nameOf(source, operation);
  }

  const change = (name: string, next: (kept: Kept[]) => Kept[]) =>
    sharedState.change<Kept[], void>(name, (kept) => {
      return { value: next(stillKept(kept)), keepMs: KEPT_MS, answer: undefined };
    });

  return {
    async of(source, operation) {
      return (await hashesOf(nameOf(source, operation))).map((hash) => ({ hash, operation }));
    },
    async add(hash) {
      const name = await placeOf(hash);
      if (name === undefined) return;
      const added = { hash, sinceSeconds: confirmed().closeTime };
      await change(name, (kept) => [added, ...kept.filter((one) => one.hash !== hash)].slice(0, MOST_KEPT));
    },
    async told(hash) {
      const name = await placeOf(hash);
      if (name === undefined || !(await hashesOf(name)).includes(hash)) return;
      await change(name, (kept) => kept.filter((one) => one.hash !== hash));
    },
  };
}

const PAGE = 500;

/** What an account has submitted for one operation and nobody was told of: it has no outcome yet, or its answer was lost. */
export function createUnresolvedLookup(
  { submissions }: { submissions: Pick<Store["submissions"], "withoutOutcome"> },
  unresolvedSubmissions: Pick<UnresolvedSubmissions, "of">,
): (source: string, operation: string) => Promise<UnresolvedSubmission[]> {
  return async function untold(source, operation) {
    const open: UnresolvedSubmission[] = [];
    for (let after: string | undefined, isLast = false; !isLast;) {
      const page = await submissions.withoutOutcome({ source, after, limit: PAGE });
      for (const { hash, operation: its } of page) if (its === operation) open.push({ hash, operation });
      isLast = page.length < PAGE;
      after = page.at(-1)?.hash;
    }
    // Only then: what has an outcome meanwhile was noted as lost before.
    return [...await unresolvedSubmissions.of(source, operation), ...open];
  };
}
