import type { UntoldSubmission } from "../escrow/operations/unknown_outcomes.ts";
import type { Store } from "../store/store.ts";

/**
 * Submissions that were applied and whose sender has not heard of it: he had left before the answer, or there was none.
 * Whoever prepares the same again is warned, until somebody has asked for the outcome. Kept in the store for a day, for all
 * gateways on it.
 */
export interface LostAnswers {
  /** Those of an account, newest first. */
  of(source: string): Promise<UntoldSubmission[]>;
  /** Passes over what was not submitted here. */
  add(hash: string): Promise<void>;
  /** Somebody has been told how it ended. */
  told(hash: string): Promise<void>;
}

const KEPT_MS = 86_400_000;
/** A client in trouble loses many answers; a register holds 32 KiB. */
const MOST_KEPT = 50;

export function createLostAnswers(
  { registers, submissions }: Pick<Store, "registers" | "submissions">,
): LostAnswers {
  const nameOf = (source: string) => `lost answers ${source}`;
  const of = async (source: string) => await registers.read<UntoldSubmission[]>(nameOf(source)) ?? [];

  const change = (source: string, next: (kept: UntoldSubmission[]) => UntoldSubmission[]) =>
    registers.change<UntoldSubmission[], void>(nameOf(source), (kept = []) => {
      return { value: next(kept), keepMs: KEPT_MS, answer: undefined };
    });

  return {
    of,
    async add(hash) {
      const { source, operation } = await submissions.get(hash) ?? {};
      if (source === undefined || operation === undefined) return;
      await change(
        source,
        (kept) => [{ hash, operation }, ...kept.filter((one) => one.hash !== hash)].slice(0, MOST_KEPT),
      );
    },
    async told(hash) {
      const { source } = await submissions.get(hash) ?? {};
      if (source === undefined || !(await of(source)).some((one) => one.hash === hash)) return;
      await change(source, (kept) => kept.filter((one) => one.hash !== hash));
    },
  };
}
