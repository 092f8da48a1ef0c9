import { GatewayError } from "../../errors.ts";
import { UnexpectedEntry } from "../decode.ts";
import { type AsOf, TRIES } from "./read_source.ts";

/** The kinds of reads, each with its own storage layout. */
export const READ_KINDS = ["device", "policy", "walletDevices", "pending"] as const;
export type ReadKind = (typeof READ_KINDS)[number];

/** One read by entries and by calls. */
export interface BothWays<T> {
  byEntries(): Promise<AsOf<T>>;
  byCalls(): Promise<AsOf<T>>;
}

export interface SourceChoice {
  /** The way of this kind of read; `not_compared` reads by entries. */
  way(kind: ReadKind): "entries" | "calls" | "not_compared";
  /**
   * Compares both ways at the first read of a kind with this code of the contracts. Resolves when the way is chosen, or
   * cannot be chosen now. Never rejects.
   */
  choose<T>(kind: ReadKind, codes: string, read: BothWays<T>): Promise<void>;
}

interface Choice {
  codes: string;
  way: "entries" | "calls" | "not_compared";
  comparing: Promise<void> | undefined;
  notBeforeMs: number;
  emptyComparisons: number;
}

/** The pause after a comparison that failed. Reads go on meanwhile. */
const PAUSE_MS = 1_000;
/** This many equal comparisons without a value count as one with a value. */
const ENOUGH_EMPTY = 10;
const DIFFERENT = "storage and functions of the contracts differ; reads now call the functions";

/**
 * Chooses for each kind between ledger entries and calls: entries, unless a comparison found a difference. Each gateway
 * compares after its start.
 */
export function createSourceChoice({ now, onProblem, onNewCodes }: {
  now: () => number;
  /** Called when the two ways differ, and when a comparison fails. */
  onProblem?: (message: string) => void;
  /** Called when the contracts run other code than at the last read of a kind. */
  onNewCodes?: () => void;
}): SourceChoice {
  const choices = new Map<ReadKind, Choice>();

  function choiceOf(kind: ReadKind, codes: string): Choice {
    const known = choices.get(kind);
    if (known?.codes === codes) return known;
    const fresh: Choice = {
      codes,
      way: "not_compared",
      comparing: undefined,
      notBeforeMs: 0,
      emptyComparisons: 0,
    };
    choices.set(kind, fresh);
    if (known !== undefined) onNewCodes?.();
    return fresh;
  }

  async function compare<T>(kind: ReadKind, choice: Choice, read: BothWays<T>): Promise<void> {
    try {
      const verdict = await comparison(read);
      if (verdict === "different") onProblem?.(`${kind}: ${DIFFERENT}`);
      const isEnough = verdict !== "empty" || (choice.emptyComparisons += 1) >= ENOUGH_EMPTY;
      if (isEnough) choice.way = verdict === "different" ? "calls" : "entries";
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      onProblem?.(`${kind}: storage and functions of the contracts could not be compared (${why})`);
      choice.notBeforeMs = now() + PAUSE_MS;
    }
    choice.comparing = undefined;
  }

  return {
    way: (kind) => choices.get(kind)?.way ?? "not_compared",
    async choose(kind, codes, read) {
      const choice = choiceOf(kind, codes);
      if (choice.way !== "not_compared") return;
      if (choice.comparing === undefined && now() >= choice.notBeforeMs) choice.comparing = compare(kind, choice, read);
      await choice.comparing;
    },
  };
}

/** Counts a difference only the second time: one answer may be wrong, or older than the ledger that it names. */
async function comparison<T>(read: BothWays<T>): Promise<"same" | "different" | "empty"> {
  let differed = false;
  for (let tried = 0; tried < TRIES; tried += 1) {
    const [stored, called] = await Promise.all([read.byEntries().catch(unreadable), read.byCalls()]);
    if (stored !== undefined) {
      if (stored.ledger !== called.ledger || stored.isEdge) continue;
      if (same(stored.value, called.value)) return isEmpty(stored.value) ? "empty" : "same";
    }
    if (differed) return "different";
    differed = true;
  }
  throw new GatewayError("upstream_error", `no two answers were of the same ledger in ${TRIES} tries`);
}

/** Whether the read found nothing. Then both ways agree in any layout, so this proves little. */
function isEmpty(value: unknown): boolean {
  return Object.values(value ?? {}).every((part) => !part || (Array.isArray(part) && part.length === 0));
}

/** Unreadable storage is a difference; a failed node is none. */
function unreadable(error: unknown): undefined {
  if (error instanceof UnexpectedEntry) return undefined;
  throw error;
}

function same(a: unknown, b: unknown): boolean {
  const text = (value: unknown) => JSON.stringify(value, (_, part) => typeof part === "bigint" ? `${part}n` : part);
  return text(a) === text(b);
}
