import { GatewayError } from "../../errors.ts";
import { UnexpectedEntry } from "../decode.ts";
import { type AsOf, TRIES } from "./read_source.ts";

/** What is read, each kind with a layout of its own. */
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
   * Makes the first read of a kind, with this code of the contracts, both ways; resolves when the way is chosen, or
   * could not be chosen now. Never rejects.
   */
  settle<T>(kind: ReadKind, codes: string, read: BothWays<T>): Promise<void>;
}

/** What all gateways on one store found out together. */
export interface KeptVerdicts {
  get(kind: ReadKind, codes: string): Promise<"entries" | "calls" | undefined>;
  /** That the two ways differ is never taken back. */
  put(kind: ReadKind, codes: string, way: "entries" | "calls"): Promise<void>;
}

interface Stand {
  codes: string;
  way: "entries" | "calls" | "not_compared";
  /** When the others are asked whether they found a difference. */
  askOthersMs: number;
  comparing: Promise<void> | undefined;
  notBeforeMs: number;
  emptyComparisons: number;
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
  const stands = new Map<ReadKind, Stand>();

  function standOf(kind: ReadKind, codes: string): Stand {
    const held = stands.get(kind);
    if (held?.codes === codes) return held;
    const fresh: Stand = {
      codes,
      way: "not_compared",
      askOthersMs: 0,
      comparing: undefined,
      notBeforeMs: 0,
      emptyComparisons: 0,
    };
    stands.set(kind, fresh);
    if (held !== undefined) onNewCodes?.();
    return fresh;
  }

  function decide(kind: ReadKind, stand: Stand, way: "entries" | "calls"): void {
    if (way === "calls" && stand.way !== "calls") onProblem?.(`${kind}: ${DIFFERENT}`);
    stand.way = way;
  }

  /** Takes over what another gateway has found; a store that fails keeps nobody from comparing. */
  async function askOthers(kind: ReadKind, stand: Stand): Promise<void> {
    stand.askOthersMs = now() + ASK_OTHERS_MS;
    const way = await verdicts?.get(kind, stand.codes).catch(() => undefined);
    if (way === "calls" || (way === "entries" && stand.way === "not_compared")) decide(kind, stand, way);
  }

  async function compare<T>(kind: ReadKind, stand: Stand, read: BothWays<T>): Promise<void> {
    try {
      if (now() >= stand.askOthersMs) await askOthers(kind, stand);
      if (stand.way === "not_compared") {
        const verdict = await comparison(read);
        const isEnough = verdict !== "empty" || (stand.emptyComparisons += 1) >= ENOUGH_EMPTY;
        const way = verdict === "different" ? "calls" : "entries";
        if (isEnough) {
          decide(kind, stand, way);
          await verdicts?.put(kind, stand.codes, way).catch(() => {});
        }
      }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      onProblem?.(`${kind}: storage and functions of the contracts could not be compared: ${why}`);
      stand.notBeforeMs = now() + PAUSE_MS;
    }
    stand.comparing = undefined;
  }

  return {
    way: (kind) => stands.get(kind)?.way ?? "not_compared",
    async settle(kind, codes, read) {
      const stand = standOf(kind, codes);
      if (stand.way === "entries" && verdicts !== undefined && now() >= stand.askOthersMs) void askOthers(kind, stand);
      if (stand.way !== "not_compared") return;
      if (stand.comparing === undefined && now() >= stand.notBeforeMs) stand.comparing = compare(kind, stand, read);
      await stand.comparing;
    },
  };
}

async function comparison<T>(read: BothWays<T>): Promise<"same" | "different" | "empty"> {
  for (let tried = 0; tried < TRIES; tried += 1) {
    const [stored, called] = await Promise.all([read.byEntries().catch(unreadable), read.byCalls()]);
    if (stored === undefined) return "different";
    if (stored.ledger !== called.ledger || read.isEdge?.(stored.value)) continue;
    if (!same(stored.value, called.value)) return "different";
    return read.isEmpty(stored.value) ? "empty" : "same";
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
