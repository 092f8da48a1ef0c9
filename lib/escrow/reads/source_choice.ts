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
  /** Whether the read found nothing. Then both ways agree in any layout, so this proves little. */
  isEmpty(value: T): boolean;
  /** Whether the two may differ, because an entry ends with this ledger. */
  isEdge?(value: T): boolean;
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

/** The verdicts of all gateways on one store. */
export interface KeptVerdicts {
  get(kind: ReadKind, codes: string): Promise<"entries" | "calls" | undefined>;
  /** `calls` is final: a later `entries` does not replace it. */
  put(kind: ReadKind, codes: string, way: "entries" | "calls"): Promise<void>;
}

interface Choice {
  codes: string;
  way: "entries" | "calls" | "not_compared";
  /** When to load the other gateways' verdict again. */
  nextLoadMs: number;
  comparing: Promise<void> | undefined;
  notBeforeMs: number;
  emptyComparisons: number;
  /** Whether the verdict of this gateway is not in the store yet. */
  isUnsaved: boolean;
}

/** The pause after a comparison that failed. Reads go on meanwhile. */
const PAUSE_MS = 1_000;
/** This many equal comparisons without a value count as one with a value. */
const ENOUGH_EMPTY = 10;
const LOAD_EVERY_MS = 60_000;
const DIFFERENT = "storage and functions of the contracts differ; reads now call the functions";

/** Chooses for each kind between ledger entries and calls: entries, unless a comparison found a difference. */
export function createSourceChoice({ now, verdicts, onProblem, onNewCodes }: {
  now: () => number;
  /** Absent when this gateway has the store for itself; then it compares after each start. */
  verdicts?: KeptVerdicts;
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
      nextLoadMs: 0,
      comparing: undefined,
      notBeforeMs: 0,
      emptyComparisons: 0,
      isUnsaved: false,
    };
    choices.set(kind, fresh);
    if (known !== undefined) onNewCodes?.();
    return fresh;
  }

  function decide(kind: ReadKind, choice: Choice, way: "entries" | "calls"): void {
    if (way === "calls" && choice.way !== "calls") onProblem?.(`${kind}: ${DIFFERENT}`);
    choice.way = way;
  }

  /** Applies the verdict of another gateway. Where the store fails, this gateway compares by itself. */
  async function load(kind: ReadKind, choice: Choice): Promise<void> {
    choice.nextLoadMs = now() + LOAD_EVERY_MS;
    if (choice.isUnsaved && choice.way !== "not_compared") await save(kind, choice, choice.way);
    const way = await verdicts?.get(kind, choice.codes).catch(() => undefined);
    if (way === "calls" || (way === "entries" && choice.way === "not_compared")) decide(kind, choice, way);
  }

  /** Stores the verdict for the other gateways. Where the store fails, the next `load` repeats it. */
  async function save(kind: ReadKind, choice: Choice, way: "entries" | "calls"): Promise<void> {
    choice.isUnsaved = true;
    await verdicts?.put(kind, choice.codes, way).then(() => choice.isUnsaved = false, () => {});
  }

  async function compare<T>(kind: ReadKind, choice: Choice, read: BothWays<T>): Promise<void> {
    try {
      if (now() >= choice.nextLoadMs) await load(kind, choice);
      if (choice.way === "not_compared") {
        const verdict = await comparison(read);
        const isEnough = verdict !== "empty" || (choice.emptyComparisons += 1) >= ENOUGH_EMPTY;
        const way = verdict === "different" ? "calls" : "entries";
        if (isEnough) {
          decide(kind, choice, way);
          await save(kind, choice, way);
        }
      }
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
      if ((choice.way === "entries" || choice.isUnsaved) && verdicts !== undefined && now() >= choice.nextLoadMs) {
        void load(kind, choice);
      }
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
      if (stored.ledger !== called.ledger || read.isEdge?.(stored.value)) continue;
      if (same(stored.value, called.value)) return read.isEmpty(stored.value) ? "empty" : "same";
    }
    if (differed) return "different";
    differed = true;
  }
  throw new GatewayError("upstream_error", `no two answers were of the same ledger in ${TRIES} tries`);
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
