import { GatewayError } from "../../errors.ts";
import { UnexpectedEntry } from "../decode.ts";
import { type AsOf, TRIES } from "./read_source.ts";

/** The kinds of reads, each with a layout of its own. */
export const READ_KINDS = ["device", "policy", "walletDevices", "pending"] as const;
export type ReadKind = (typeof READ_KINDS)[number];

/** One read, both ways. */
export interface BothWays<T> {
  byEntries(): Promise<AsOf<T>>;
  byCalls(): Promise<AsOf<T>>;
  /** Nothing found: both ways agree on that whatever the layout is. */
  isEmpty(value: T): boolean;
  /** True where the two may rightly differ, at the edge between two ledgers. */
  isEdge?(value: T): boolean;
}

export interface SourceChoice {
  /** Which way reads of this kind go; by entries as long as the two ways are not compared. */
  way(kind: ReadKind): "entries" | "calls" | "not_compared";
  /**
   * Makes the first read of a kind both ways, with this code of the contracts. Resolves when the way is chosen, or
   * cannot be chosen now. Never rejects.
   */
  choose<T>(kind: ReadKind, codes: string, read: BothWays<T>): Promise<void>;
}

/** The verdicts that all gateways of one store share. */
export interface KeptVerdicts {
  get(kind: ReadKind, codes: string): Promise<"entries" | "calls" | undefined>;
  /** That the two ways differ is never taken back. */
  put(kind: ReadKind, codes: string, way: "entries" | "calls"): Promise<void>;
}

interface Choice {
  codes: string;
  way: "entries" | "calls" | "not_compared";
  /** When the others are asked whether they found a difference. */
  askOthersMs: number;
  comparing: Promise<void> | undefined;
  notBeforeMs: number;
  emptyComparisons: number;
  /** A verdict that the store does not have yet. */
  isUntold: boolean;
}

/** After a comparison that could not be finished the next one waits this long: reads must not fail for it. */
const PAUSE_MS = 1_000;
/** So many comparisons of nothing with nothing count as one of something. */
const ENOUGH_EMPTY = 10;
const ASK_OTHERS_MS = 60_000;
const DIFFERENT = "the contracts' storage and their functions say different things; reads go by calls now";

/** Chooses between ledger entries and calls, kind by kind: entries, unless a comparison showed that they differ. */
export function createSourceChoice({ now, verdicts, onProblem, onNewCodes }: {
  now: () => number;
  /** Absent: this gateway is alone with its store, and compares after each start. */
  verdicts?: KeptVerdicts;
  /** Told when the two ways differ, and when they could not be compared. */
  onProblem?: (message: string) => void;
  /** Told when the contracts run other code than at the last read of a kind. */
  onNewCodes?: () => void;
}): SourceChoice {
  const choices = new Map<ReadKind, Choice>();

  function choiceOf(kind: ReadKind, codes: string): Choice {
    const known = choices.get(kind);
    if (known?.codes === codes) return known;
    const fresh: Choice = {
      codes,
      way: "not_compared",
      askOthersMs: 0,
      comparing: undefined,
      notBeforeMs: 0,
      emptyComparisons: 0,
      isUntold: false,
    };
    choices.set(kind, fresh);
    if (known !== undefined) onNewCodes?.();
    return fresh;
  }

  function decide(kind: ReadKind, choice: Choice, way: "entries" | "calls"): void {
    if (way === "calls" && choice.way !== "calls") onProblem?.(`${kind}: ${DIFFERENT}`);
    choice.way = way;
  }

  /** Takes over the verdict of another gateway. A failing store does not stop the comparison. */
  async function askOthers(kind: ReadKind, choice: Choice): Promise<void> {
    choice.askOthersMs = now() + ASK_OTHERS_MS;
    if (choice.isUntold && choice.way !== "not_compared") await tellOthers(kind, choice, choice.way);
    const way = await verdicts?.get(kind, choice.codes).catch(() => undefined);
    if (way === "calls" || (way === "entries" && choice.way === "not_compared")) decide(kind, choice, way);
  }

  /** A verdict that could not be stored is stored at the next look. */
  async function tellOthers(kind: ReadKind, choice: Choice, way: "entries" | "calls"): Promise<void> {
    choice.isUntold = true;
    await verdicts?.put(kind, choice.codes, way).then(() => choice.isUntold = false, () => {});
  }

  async function compare<T>(kind: ReadKind, choice: Choice, read: BothWays<T>): Promise<void> {
    try {
      if (now() >= choice.askOthersMs) await askOthers(kind, choice);
      if (choice.way === "not_compared") {
        const verdict = await comparison(read);
        const isEnough = verdict !== "empty" || (choice.emptyComparisons += 1) >= ENOUGH_EMPTY;
        const way = verdict === "different" ? "calls" : "entries";
        if (isEnough) {
          decide(kind, choice, way);
          await tellOthers(kind, choice, way);
        }
      }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      onProblem?.(`storage and functions of the contracts could not be compared for ${kind}: ${why}`);
      choice.notBeforeMs = now() + PAUSE_MS;
    }
    choice.comparing = undefined;
  }

  return {
    way: (kind) => choices.get(kind)?.way ?? "not_compared",
    async choose(kind, codes, read) {
      const choice = choiceOf(kind, codes);
      if ((choice.way === "entries" || choice.isUntold) && verdicts !== undefined && now() >= choice.askOthersMs) {
        void askOthers(kind, choice);
      }
      if (choice.way !== "not_compared") return;
      if (choice.comparing === undefined && now() >= choice.notBeforeMs) choice.comparing = compare(kind, choice, read);
      await choice.comparing;
    },
  };
}

/** A difference is checked a second time. One answer may be wrong, or of an earlier ledger than it names. */
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
  throw new GatewayError("upstream_error", `no two answers spoke of the same ledger in ${TRIES} tries`);
}

/** Storage that can't be understood is a difference; a node that fails is none. */
function unreadable(error: unknown): undefined {
  if (error instanceof UnexpectedEntry) return undefined;
  throw error;
}

function same(a: unknown, b: unknown): boolean {
  const text = (value: unknown) => JSON.stringify(value, (_, part) => typeof part === "bigint" ? `${part}n` : part);
  return text(a) === text(b);
}
